package boot

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

type vectors struct {
	Nonce, Frame, SHA256 string
	Malformed            []struct{ Name, Frame string }
}

func load(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "bootstrap.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestABootstrapIsStoredAcknowledgedAndPrivate(t *testing.T) {
	v := load(t)
	frame, _ := hex.DecodeString(v.Frame)
	paths := Paths{Home: t.TempDir(), Run: t.TempDir()}
	var out bytes.Buffer
	if err := Receive(paths, Introduction{PodUID: "u"}, bytes.NewReader(frame), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"pod_uid":"u"`) || !strings.Contains(lines[1], v.SHA256) {
		t.Fatalf("said %q", lines)
	}
	b, err := Load(paths)
	if err != nil || hex.EncodeToString([]byte(b.Nonce)) != v.Nonce || b.Config.JournalBytes != 1024 {
		t.Fatalf("stored %+v, %v", b.Config, err)
	}
	if info, err := os.Stat(filepath.Join(paths.Run, fileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if strings.Contains(out.String(), v.Nonce) {
		t.Fatal("the nonce was printed")
	}
}

func TestAMalformedBootstrapChangesNothing(t *testing.T) {
	for _, m := range load(t).Malformed {
		t.Run(m.Name, func(t *testing.T) {
			frame, err := hex.DecodeString(m.Frame)
			if err != nil {
				t.Fatal(err)
			}
			paths := Paths{Home: t.TempDir(), Run: t.TempDir()}
			if err := Receive(paths, Introduction{}, bytes.NewReader(frame), &bytes.Buffer{}); err == nil {
				t.Fatal("it was accepted")
			}
			if _, err := Load(paths); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("something was stored: %v", err)
			}
		})
	}
}

func TestOnlyFlagsSayWhereThingsAre(t *testing.T) {
	for _, name := range []string{"AGENTCTL_HOME", "AGENTCTL_RUN", "AGENTCTL_LISTEN"} {
		t.Setenv(name, "/elsewhere")
	}
	for _, c := range []struct {
		args  []string
		want  Paths
		taken bool
	}{
		{nil, Paths{Home: DefaultHome, Run: DefaultRun}, true},
		{[]string{"--run", "/r", "--home", "/h"}, Paths{Home: "/h", Run: "/r"}, true},
		{[]string{"--listen", "unix:/s"}, Paths{Home: DefaultHome, Run: DefaultRun, Listen: "unix:/s"}, true},
		{[]string{"--run"}, Paths{}, false},
		{[]string{"--run", ""}, Paths{}, false},
		{[]string{"--other", "x"}, Paths{}, false},
		{[]string{"x"}, Paths{}, false},
	} {
		got, taken := FromFlags(c.args)
		if taken != c.taken || taken && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, %v", c.args, got, taken)
		}
	}
	paths, _ := FromFlags([]string{"--run", t.TempDir()})
	if got := Address(paths); got != DefaultListen {
		t.Errorf("the tunnel leads to %q", got)
	}
}

func TestTheLinkListensOnTheLoopbackOrASocketOnly(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	for where, allowed := range map[string]bool{
		"tcp:127.0.0.1:0": true, "tcp:127.9.9.9:0": true, socket: true,
		"tcp:0.0.0.0:0": false, "tcp::0": false, "tcp:[::]:0": false, "tcp:192.0.2.1:0": false, "tcp:localhost:0": false,
		"tcp:[::ffff:0.0.0.0]:0": false, "udp:127.0.0.1:0": false, "": false,
	} {
		listener, err := listen(where)
		if (err == nil) != allowed {
			t.Errorf("%q: %v", where, err)
		}
		if err == nil {
			listener.Close()
		}
	}
	// Told to open itself to the network, it leaves that transport closed and keeps its own socket.
	for _, told := range []struct {
		paths  Paths
		config Config
	}{{Paths{Listen: "tcp:0.0.0.0:0"}, Config{}}, {Paths{}, Config{Listen: "tcp:0.0.0.0:0"}}} {
		told.paths.Run = t.TempDir()
		listeners, err := Listen(told.paths, told.config)
		if err == nil || len(listeners) != 1 || listeners[0].Addr().Network() != "unix" {
			t.Errorf("%+v: %v, %v", told, listeners, err)
		}
		for _, listener := range listeners {
			listener.Close()
		}
	}
}
