package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func open(t testing.TB, dir string, limit int64) *Journal {
	t.Helper()
	j, err := Open(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

func put(t testing.TB, j *Journal, text string) {
	t.Helper()
	if err := j.Append([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// read returns all that is held from an offset and the bytes reported as gaps.
func read(t *testing.T, j *Journal, offset int64) (string, int64) {
	t.Helper()
	r := j.NewReader(offset)
	defer r.Close()
	var text []byte
	gaps := int64(0)
	for {
		chunk, err := r.Next()
		if errors.Is(err, io.EOF) {
			return string(text), gaps
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := offset + gaps + int64(len(text)); chunk.Offset != want {
			t.Fatalf("a chunk at %d, want %d", chunk.Offset, want)
		}
		gaps += chunk.Gap
		text = append(text, chunk.Data...)
	}
}

func TestEveryOffsetReadsTheRest(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 0)
	for _, text := range []string{"one ", "two ", "", "three"} {
		put(t, j, text)
	}
	for _, j := range []*Journal{j, open(t, dir, 0)} {
		whole := "one two three"
		for offset := range len(whole) + 1 {
			if text, gaps := read(t, j, int64(offset)); text != whole[offset:] || gaps != 0 {
				t.Errorf("from %d: %q and a gap of %d", offset, text, gaps)
			}
		}
	}
}

func TestTheDiskIsBoundedAndWhatWasDroppedIsAGap(t *testing.T) {
	dir := t.TempDir()
	const limit = 64 << 10
	j := open(t, dir, limit)
	line := bytes.Repeat([]byte("x"), 999)
	for range 400 {
		put(t, j, string(line))
	}
	oldest, end := j.Bounds()
	text, gaps := read(t, j, 0)
	if end != 400*999 || gaps != oldest || int64(len(text)) != end-oldest || oldest == 0 {
		t.Fatalf("bounds %d to %d, read %d and a gap of %d", oldest, end, len(text), gaps)
	}
	total := int64(0)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > limit {
		t.Fatalf("%d bytes on disk, at most %d", total, limit)
	}
}

func TestATornTailIsCutOffAndTheRestIsKept(t *testing.T) {
	spoil := map[string]func([]byte) []byte{
		"cut off in the data":   func(b []byte) []byte { return b[:len(b)-1] },
		"cut off in the header": func(b []byte) []byte { return b[:len(b)-len("lost")-3] },
		"zeros at the end":      func(b []byte) []byte { return append(b, make([]byte, 100)...) },
		"a changed byte":        func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	}
	for name, change := range spoil {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir, 0)
			put(t, j, "kept ")
			put(t, j, "lost")
			j.Close()
			path := filepath.Join(dir, "00000000000000000000.seg")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, change(data), 0o600); err != nil {
				t.Fatal(err)
			}
			j = open(t, dir, 0)
			if !j.Torn() {
				t.Error("the tear was not noticed")
			}
			put(t, j, "new")
			want := "kept new"
			if name == "zeros at the end" {
				want = "kept lostnew"
			}
			if text, gaps := read(t, j, 0); text != want || gaps != 0 {
				t.Errorf("read %q and a gap of %d, want %q", text, gaps, want)
			}
		})
	}
}

func TestAdvancingLeavesAGapAndNeverGoesBack(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, 0)
	j.Advance(100)
	put(t, j, "a")
	j.Advance(50)
	j.Advance(200)
	put(t, j, "b")
	for _, j := range []*Journal{j, open(t, dir, 0)} {
		if oldest, end := j.Bounds(); oldest != 100 || end != 201 {
			t.Errorf("bounds %d to %d", oldest, end)
		}
		if text, gaps := read(t, j, 0); text != "ab" || gaps != 199 {
			t.Errorf("read %q and a gap of %d", text, gaps)
		}
	}
}

func TestAReaderThatIsBehindGetsAGapWhenItsSegmentGoes(t *testing.T) {
	j := open(t, t.TempDir(), 64<<10)
	put(t, j, "first")
	r := j.NewReader(0)
	defer r.Close()
	for range 100 {
		put(t, j, string(make([]byte, 4000)))
	}
	chunk, err := r.Next()
	if err != nil || chunk.Gap == 0 || chunk.Offset != 0 {
		t.Fatalf("got %+v, %v", chunk, err)
	}
	if next, err := r.Next(); err != nil || next.Offset != chunk.Gap || len(next.Data) == 0 {
		t.Fatalf("after the gap: %d bytes at %d, %v", len(next.Data), next.Offset, err)
	}
}

func TestABoundBeyondTheEndIsAwaited(t *testing.T) {
	j := open(t, t.TempDir(), 0)
	changed := j.Changed()
	if text, gaps := read(t, j, 50); text != "" || gaps != 0 {
		t.Fatalf("read %q and a gap of %d", text, gaps)
	}
	put(t, j, "x")
	<-changed
	if _, end := j.Bounds(); end != 1 {
		t.Fatalf("the end is %d", end)
	}
}
