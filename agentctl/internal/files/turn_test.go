package files

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func wanted() error { return nil }

func treeOf(t *testing.T, names ...string) []byte {
	headers := make([]tar.Header, 0, len(names))
	for _, name := range names {
		headers = append(headers, tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: 3})
	}
	return archive(t, headers...)
}

func holds(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	for i, name := range names {
		if len(have) != len(names) || have[i] != name {
			t.Fatalf("it holds %v, not %v", have, names)
		}
	}
}

// told is a reader that tells when it is read for the first time.
type told struct {
	io.Reader
	begun chan struct{}
}

func (r *told) Read(p []byte) (int, error) {
	select {
	case <-r.begun:
	default:
		close(r.begun)
	}
	return r.Reader.Read(p)
}

// The client reconnects and fills anew while its old stream's archive is still being compared.
func TestOfTwoFillingsTheSecondWaitsAndTheWorkspaceIsWhole(t *testing.T) {
	dir, data := t.TempDir(), treeOf(t, "a", "b", "c")
	verifying, goOn := make(chan struct{}), make(chan struct{})
	results := make(chan error, 2)
	fill := func(r io.Reader, verify func() error) {
		_, err := Materialize(context.Background(), dir, r, 1000, "m", verify, wanted)
		results <- err
	}
	go fill(bytes.NewReader(data), func() error { close(verifying); <-goOn; return nil })
	<-verifying
	second := &told{bytes.NewReader(data), make(chan struct{})}
	go fill(second, wanted)
	for waiting := false; !waiting; runtime.Gosched() {
		turns.Lock()
		waiting = turns.of[dir].users == 2
		turns.Unlock()
	}
	close(goOn)
	for range 2 {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-second.begun:
		t.Fatal("the second one unpacked beside the first")
	default:
	}
	holds(t, dir, ".moorage-workspace", "a", "b", "c")
	if len(turns.of) != 0 {
		t.Fatal("a turn was kept")
	}
}

// Each time still is asked is a point where the owner may turn out to be gone.
func TestAFillingThatIsNoLongerWantedMarksNothingAndTheNextOneCompletesIt(t *testing.T) {
	gone := errors.New("gone")
	for stop := range 4 {
		dir, data, asked := t.TempDir(), treeOf(t, "a", "b"), 0
		still := func() error {
			if asked++; asked > stop {
				return gone
			}
			return nil
		}
		_, err := Materialize(context.Background(), dir, bytes.NewReader(data), 1000, "m", wanted, still)
		if !errors.Is(err, gone) {
			t.Fatalf("stopped at %d: %v", stop, err)
		}
		if text, err := Marker(dir); err != nil || text != "" {
			t.Fatalf("stopped at %d, marked %q, %v", stop, text, err)
		}
		if _, err := Materialize(context.Background(), dir, bytes.NewReader(data), 1000, "m", wanted, wanted); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, ".moorage-workspace", "a", "b")
	}
}

func TestWhatAKilledFillingLeftIsSweptByTheNext(t *testing.T) {
	dir := t.TempDir()
	for _, left := range []string{".moorage-fill-1/tree", ".moorage-fill/tree"} {
		if err := os.MkdirAll(filepath.Join(dir, left), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Materialize(context.Background(), dir, bytes.NewReader(treeOf(t, "a")), 1000, "m", wanted, wanted); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, ".moorage-workspace", "a")
}

func TestWhoWaitsForATurnLeavesWithItsContext(t *testing.T) {
	dir := t.TempDir()
	done, err := takeTurn(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := Materialize(ctx, dir, bytes.NewReader(nil), 1000, "m", wanted, wanted); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	holds(t, dir)
}

// An old handler that ends late must not write over what a newer upload brought.
func TestAPutWhoseStreamIsGoneReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	verify := func() error {
		if _, err := Put(context.Background(), dir, bytes.NewReader(treeOf(t, "new")), 1000, true, wanted); err != nil {
			t.Fatal(err)
		}
		stop()
		return nil
	}
	if _, err := Put(ctx, dir, bytes.NewReader(treeOf(t, "old")), 1000, true, verify); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	holds(t, dir, "new")
}
