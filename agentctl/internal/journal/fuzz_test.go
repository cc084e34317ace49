package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

// FuzzRecover: whatever a crash left of a segment, what comes next is written and read whole behind it.
func FuzzRecover(f *testing.F) {
	whole := appendRecord(appendRecord(nil, []byte("one ")), []byte("two"))
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(append(append([]byte{}, whole...), 0, 0, 0, 0))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(segment{}.path(dir), data, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir, 0)
		put(t, j, "next")
		r := j.NewReader(0)
		defer r.Close()
		var text []byte
		for {
			chunk, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || chunk.Gap != 0 || chunk.Offset != int64(len(text)) {
				t.Fatalf("%+v, %v", chunk, err)
			}
			text = append(text, chunk.Data...)
		}
		if !bytes.HasSuffix(text, []byte("next")) || len(text) > len(data)+4 {
			t.Fatalf("%d bytes of %d, ending in %q", len(text), len(data), text[max(0, len(text)-8):])
		}
	})
}
