package boot

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type vectors struct {
	Nonce, Frame, SHA256 string
	Malformed            []struct{ Name, Frame string }
}

func load(t *testing.T) (v vectors) {
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
	paths := Paths{t.TempDir(), t.TempDir()}
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
			paths := Paths{t.TempDir(), t.TempDir()}
			if err := Receive(paths, Introduction{}, bytes.NewReader(frame), &bytes.Buffer{}); err == nil {
				t.Fatal("it was accepted")
			}
			if _, err := Load(paths); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("something was stored: %v", err)
			}
		})
	}
}
