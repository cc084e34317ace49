// Package boot is how configuration and nonce come into the container: receive writes them, wait and
// serve read them. It is used by cmd/agentctl. The nonce is in no argument, environment or message.
package boot

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"moorage.dev/agentctl/internal/process"
)

// Where things are, unless the command's flags say otherwise. No variable does: the environment of the main
// container is partly its author's and its image's.
const (
	DefaultHome   = "/opt/moorage"
	DefaultRun    = "/run/moorage"
	DefaultListen = "tcp:127.0.0.1:8765"
	fileName      = "bootstrap"
	pidName       = "pid"
	addressName   = "address"
	socketName    = "link.sock"
)

const (
	magic     = "MRG1"
	maxConfig = 256 << 10
	minNonce  = 32
	maxNonce  = 4 << 10
)

// Paths are the two directories agentctl writes to: Home survives a restart of the container, Run is in
// memory. Listen is what --listen says, or "". Mounts tells where mounted paths really are, if elsewhere.
type Paths struct {
	Home, Run, Listen string
	Mounts            map[string]string
}

// FromFlags reads --home, --run and --listen, each with its value as the next argument; false for anything
// else. What they leave open is as the file beside the program says, or as usual.
func FromFlags(args []string) (Paths, bool) {
	paths := Paths{Home: DefaultHome, Run: DefaultRun}
	places := map[string]*string{"--home": &paths.Home, "--run": &paths.Run, "--listen": &paths.Listen}
	for ; len(args) > 0; args = args[2:] {
		place, known := places[args[0]]
		if !known || len(args) < 2 || args[1] == "" {
			return paths, false
		}
		*place = args[1]
	}
	return FromProgram(paths), true
}

// Config is what the controlling side may set; unknown keys are ignored.
type Config struct {
	Listen       string `json:"listen"`
	JournalBytes int64  `json:"journal_bytes"`
	Fence        int64  `json:"fence"`
}

// Bootstrap is a delivered configuration with its nonce.
type Bootstrap struct {
	Config Config
	Nonce  string
}

// Introduction is the first line of receive: who we are, before anything secret is sent to us.
type Introduction struct {
	PodUID   string `json:"pod_uid"`
	Helper   string `json:"helper"`
	Platform string `json:"platform"`
}

type ack struct {
	SHA256 string `json:"sha256"`
	Woke   bool   `json:"woke"`
}

type answering struct {
	Listening bool `json:"listening"`
}

// Receive introduces itself, reads one framed bootstrap, stores it and wakes the waiting process. Where
// there is one, its last line says whether the link can be dialled now, so that nobody has to try.
func Receive(paths Paths, intro Introduction, in io.Reader, out io.Writer) error {
	say := json.NewEncoder(out)
	if err := say.Encode(intro); err != nil {
		return err
	}
	frame, err := readFrame(in)
	if err != nil {
		return err
	}
	if _, err := parse(frame); err != nil {
		return err
	}
	if err := process.WriteAtomic(filepath.Join(paths.Run, fileName), frame, 0o600); err != nil {
		return fmt.Errorf("store the bootstrap: %w", err)
	}
	sum, woke := sha256.Sum256(frame), wake(paths)
	if err := say.Encode(ack{hex.EncodeToString(sum[:]), woke}); err != nil || !woke {
		return err
	}
	return say.Encode(answering{answers(paths, listenPatience)})
}

// readFrame reads magic, two lengths, configuration and nonce. Lengths are checked before memory is taken.
func readFrame(in io.Reader) ([]byte, error) {
	header := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(in, header); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	config := binary.BigEndian.Uint32(header[len(magic):])
	nonce := binary.BigEndian.Uint32(header[len(magic)+4:])
	if string(header[:len(magic)]) != magic {
		return nil, errors.New("bootstrap: not a bootstrap frame")
	}
	if config > maxConfig || nonce < minNonce || nonce > maxNonce {
		return nil, errors.New("bootstrap: a length out of bounds")
	}
	body := make([]byte, config+nonce)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, fmt.Errorf("bootstrap: cut off: %w", err)
	}
	return append(header, body...), nil
}

func parse(frame []byte) (Bootstrap, error) {
	var b Bootstrap
	head := len(magic) + 8
	if len(frame) < head {
		return b, errors.New("bootstrap: cut off")
	}
	config := int(binary.BigEndian.Uint32(frame[len(magic):]))
	if string(frame[:len(magic)]) != magic || config > maxConfig || len(frame) < head+config+minNonce {
		return b, errors.New("bootstrap: not a bootstrap frame")
	}
	if err := json.Unmarshal(frame[head:head+config], &b.Config); err != nil {
		return b, errors.New("bootstrap: the configuration is no JSON object")
	}
	b.Nonce = string(frame[head+config:])
	return b, nil
}

// Load reads what Receive stored; os.ErrNotExist while nothing was delivered.
func Load(paths Paths) (Bootstrap, error) {
	frame, err := os.ReadFile(filepath.Join(paths.Run, fileName))
	if err != nil {
		return Bootstrap{}, err
	}
	return parse(frame)
}

// NotePid lets Receive find the process to wake.
func NotePid(paths Paths) error {
	return process.WriteAtomic(filepath.Join(paths.Run, pidName), []byte(strconv.Itoa(os.Getpid())), 0o600)
}

func wake(paths Paths) bool {
	text, err := os.ReadFile(filepath.Join(paths.Run, pidName))
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && pid > 0 && syscall.Kill(pid, syscall.SIGUSR1) == nil
}

// NoteAddress tells where the port-forward's listener is.
func NoteAddress(paths Paths, address string) error {
	return process.WriteAtomic(filepath.Join(paths.Run, addressName), []byte(address), 0o600)
}

// Address is where the server listens for port-forward, as "tcp:HOST:PORT" or "unix:PATH".
func Address(paths Paths) string {
	text, err := os.ReadFile(filepath.Join(paths.Run, addressName))
	if err != nil {
		return cmp.Or(paths.Listen, DefaultListen)
	}
	return string(text)
}
