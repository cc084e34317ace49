package link

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// The protocol versions this build speaks. Raise Max for a change, keep Min at the release before last.
const (
	MinVersion = 1
	MaxVersion = 1
)

const transcriptLabel = "moorage link hello\x00"

// BannerBody is the server's first word. It holds nothing that is secret or tells of the Pod.
type BannerBody struct {
	Link   string `json:"link"`
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	Random string `json:"random"`
	Epoch  string `json:"epoch"`
}

// HelloBody is the client's answer; its proof follows in a frame of its own.
type HelloBody struct {
	Min    int    `json:"min"`
	Max    int    `json:"max"`
	Random string `json:"random"`
	Fence  int64  `json:"fence"`
}

// ReadyBody is the first sealed frame of the server.
type ReadyBody struct {
	PodUID   string `json:"pod_uid"`
	Helper   string `json:"helper"`
	Platform string `json:"platform"`
	Version  int    `json:"version"`
	Fence    int64  `json:"fence"`
}

// Refusal is why the server ends a hello. Nobody has proved anything yet: it is a hint, no more.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *Refusal) Error() string { return "link: refused: " + r.Code + ": " + r.Message }

// Keys are what both sides derive from the nonce, the epoch and the two hellos.
type Keys struct {
	ClientProof, ServerProof, ClientSeal, ServerSeal []byte
}

// DeriveKeys computes all secrets of one connection. banner and hello are the payloads as sent.
func DeriveKeys(nonce string, epoch string, banner, hello []byte) Keys {
	epochKey := sum([]byte(nonce), []byte("moorage link epoch\x00"), []byte(epoch))
	h := sha256.New()
	h.Write([]byte(transcriptLabel))
	for _, part := range [][]byte{banner, hello} {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	transcript := h.Sum(nil)
	return Keys{
		ClientProof: sum(epochKey, []byte("client proof\x00"), transcript),
		ServerProof: sum(epochKey, []byte("server proof\x00"), transcript),
		ClientSeal:  sum(epochKey, []byte("client frames\x00"), transcript),
		ServerSeal:  sum(epochKey, []byte("server frames\x00"), transcript),
	}
}

func sum(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// Negotiate returns the highest version both ranges hold, or 0.
func Negotiate(min, max int) int {
	version := MaxVersion
	if max < version {
		version = max
	}
	if version < MinVersion || version < min {
		return 0
	}
	return version
}

// RandomHex returns n fresh bytes as hex.
func RandomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails on Linux; Go ends the process if it does
	return hex.EncodeToString(b)
}

// Accept runs the server's side of the hello on rw. ready is completed with the negotiated version.
// raise is called with the client's fence once it is proved and returns the highest one seen.
func Accept(rw io.ReadWriter, nonce, epoch string, ready ReadyBody, raise func(int64) (int64, error)) (*Conn, error) {
	banner, _ := json.Marshal(BannerBody{"moorage", MinVersion, MaxVersion, RandomHex(32), epoch})
	if _, err := rw.Write(AppendFrame(nil, Frame{Banner, 0, banner}, nil)); err != nil {
		return nil, err
	}
	hello, body, err := readHello(rw)
	if err != nil {
		return nil, err
	}
	proof, err := expect(rw, Proof)
	if err != nil {
		return nil, err
	}
	ready.Version = Negotiate(body.Min, body.Max)
	if ready.Version == 0 {
		return nil, refuse(rw, "version", fmt.Sprintf("this side speaks %d to %d", MinVersion, MaxVersion))
	}
	keys := DeriveKeys(nonce, epoch, banner, hello)
	if !hmac.Equal(keys.ClientProof, proof) {
		return nil, refuse(rw, "unproved", "the proof does not fit this connection")
	}
	if ready.Fence, err = raise(body.Fence); err != nil {
		return nil, refuse(rw, "state", "the fence could not be stored")
	}
	conn := newConn(rw, keys, body.Fence, ready.Version)
	text, _ := json.Marshal(ready)
	out := AppendFrame(nil, Frame{Proof, 0, keys.ServerProof}, nil)
	out = AppendFrame(out, Frame{Ready, 0, text}, conn.out)
	if _, err := rw.Write(out); err != nil {
		return nil, err
	}
	return conn, nil
}

func readHello(rw io.ReadWriter) ([]byte, HelloBody, error) {
	var body HelloBody
	hello, err := expect(rw, Hello)
	if err != nil {
		return nil, body, err
	}
	if err := json.Unmarshal(hello, &body); err != nil || len(body.Random) != 64 || body.Fence < 0 {
		return nil, body, refuse(rw, "malformed", "the hello is not one")
	}
	return hello, body, nil
}

func expect(rw io.ReadWriter, want Type) ([]byte, error) {
	f, err := ReadFrame(rw, MaxHelloPayload, nil)
	if err != nil {
		return nil, err
	}
	if f.Type != want {
		return nil, refuse(rw, "malformed", fmt.Sprintf("frame type %d where %d belongs", f.Type, want))
	}
	return f.Payload, nil
}

func refuse(w io.Writer, code, message string) error {
	r := &Refusal{code, message}
	text, _ := json.Marshal(r)
	_, _ = w.Write(AppendFrame(nil, Frame{Refused, 0, text}, nil))
	return r
}
