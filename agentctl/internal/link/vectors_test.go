package link

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

type frameVector struct {
	Name    string
	Type    Type
	Stream  uint32
	Payload string
	Key     string
	Counter uint64
	Wire    string
	Limit   int
	Verdict string
}

func load(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v frameVector) seal(t testing.TB) *Seal {
	if v.Key == "" {
		return nil
	}
	s := NewSeal(unhex(t, v.Key))
	s.counter = v.Counter
	return s
}

func TestAFrameIsTheSameBytesHereAndInPython(t *testing.T) {
	var vectors []frameVector
	load(t, "frames.json", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			frame := Frame{v.Type, v.Stream, unhex(t, v.Payload)}
			wire := unhex(t, v.Wire)
			if got := AppendFrame(nil, frame, v.seal(t)); !bytes.Equal(got, wire) {
				t.Fatalf("encoded %x, want %x", got, wire)
			}
			got, err := ReadFrame(bytes.NewReader(wire), MaxPayload, v.seal(t))
			if err != nil || got.Type != frame.Type || got.Stream != frame.Stream || !bytes.Equal(got.Payload, frame.Payload) {
				t.Fatalf("decoded %+v, %v", got, err)
			}
		})
	}
}

func TestAMalformedFrameGetsItsVerdict(t *testing.T) {
	var vectors []frameVector
	load(t, "malformed.json", &vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			_, err := ReadFrame(bytes.NewReader(unhex(t, v.Wire)), v.Limit, v.seal(t))
			var breach *FrameError
			if !errors.As(err, &breach) || breach.Verdict != v.Verdict {
				t.Fatalf("got %v, want the verdict %s", err, v.Verdict)
			}
		})
	}
}

func TestKeysAndVersionsAreTheSameHereAndInPython(t *testing.T) {
	var vectors struct {
		Keys []struct {
			Name, Nonce, Epoch, Banner, Hello string
			ClientProof                       string `json:"client_proof"`
			ServerProof                       string `json:"server_proof"`
			ClientSeal                        string `json:"client_seal"`
			ServerSeal                        string `json:"server_seal"`
		}
		Negotiation []struct{ Min, Max, Version int }
	}
	load(t, "hello.json", &vectors)
	if len(vectors.Keys) == 0 || len(vectors.Negotiation) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range vectors.Keys {
		keys := DeriveKeys(string(unhex(t, v.Nonce)), v.Epoch, []byte(v.Banner), []byte(v.Hello))
		got := []string{hex.EncodeToString(keys.ClientProof), hex.EncodeToString(keys.ServerProof),
			hex.EncodeToString(keys.ClientSeal), hex.EncodeToString(keys.ServerSeal)}
		for i, want := range []string{v.ClientProof, v.ServerProof, v.ClientSeal, v.ServerSeal} {
			if got[i] != want {
				t.Errorf("%s: key %d is %s, want %s", v.Name, i, got[i], want)
			}
		}
	}
	for _, v := range vectors.Negotiation {
		if got := Negotiate(v.Min, v.Max); got != v.Version {
			t.Errorf("%d to %d: version %d, want %d", v.Min, v.Max, got, v.Version)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, name := range []string{"frames.json", "malformed.json"} {
		var vectors []frameVector
		load(f, name, &vectors)
		for _, v := range vectors {
			f.Add(unhex(f, v.Wire), v.Key != "")
		}
	}
	key := bytes.Repeat([]byte{7}, 32)
	f.Fuzz(func(t *testing.T, wire []byte, sealed bool) {
		var in, out *Seal
		if sealed {
			in, out = NewSeal(key), NewSeal(key)
		}
		reader := bytes.NewReader(wire)
		var again []byte
		for {
			frame, err := ReadFrame(reader, MaxPayload, in)
			if err != nil {
				var breach *FrameError
				if !errors.Is(err, io.EOF) && !errors.As(err, &breach) {
					t.Fatalf("an error of no kind: %v", err)
				}
				break
			}
			again = AppendFrame(again, frame, out)
		}
		if !bytes.HasPrefix(wire, again) {
			t.Fatalf("decoding and encoding changed the bytes")
		}
	})
}
