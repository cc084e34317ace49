package boot

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReceive: what is stored is exactly what came, can be loaded again, and nothing of it is said aloud.
func FuzzReceive(f *testing.F) {
	v := load(f)
	whole, _ := hex.DecodeString(v.Frame)
	f.Add(whole)
	for _, m := range v.Malformed {
		frame, _ := hex.DecodeString(m.Frame)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		paths := Paths{Home: t.TempDir(), Run: t.TempDir()}
		var out bytes.Buffer
		in := bytes.NewReader(data)
		err := Receive(paths, Introduction{PodUID: "u"}, in, &out)
		stored, readErr := os.ReadFile(filepath.Join(paths.Run, fileName))
		if err != nil {
			if readErr == nil {
				t.Fatalf("refused (%v), and %d bytes were stored", err, len(stored))
			}
			return
		}
		if !bytes.Equal(stored, data[:len(data)-in.Len()]) {
			t.Fatal("what is stored is not what came")
		}
		b, err := Load(paths)
		if err != nil || len(b.Nonce) < minNonce || len(b.Nonce) > maxNonce {
			t.Fatalf("%d bytes of nonce, %v", len(b.Nonce), err)
		}
		if bytes.Contains(out.Bytes(), []byte(b.Nonce)) {
			t.Fatal("the nonce was printed")
		}
	})
}
