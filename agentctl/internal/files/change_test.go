package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatAPathIs(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("abc"), 0o640), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	e, err := Look(link, false)
	if err != nil || e.Kind != "link" || e.Target != "file" || e.Path != link {
		t.Errorf("the link itself: %+v, %v", e, err)
	}
	e, err = Look(link, true)
	if err != nil || e.Kind != "file" || e.Size != 3 || e.Mode != 0o640 || e.Path != file || e.UID != int64(os.Getuid()) {
		t.Errorf("what it leads to: %+v, %v", e, err)
	}
	if _, err := Look(file+"2", true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestADirectoryIsMadeOnceWithAllAboveIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/b")
	for _, want := range []bool{true, false} {
		if made, err := MakeDir(dir); made != want || err != nil {
			t.Errorf("made %v, %v; want %v", made, err, want)
		}
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var refused *Refused
	if _, err := MakeDir(dir + "/file"); !errors.As(err, &refused) || refused.Code != "conflict" {
		t.Errorf("over a file: %v", err)
	}
}

func TestRemovalTakesALinkAndNotWhatItLeadsTo(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/kept", 0o755), os.WriteFile(dir+"/kept/file", nil, 0o644),
		os.Symlink("kept", dir+"/link")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is there
		if err := Remove(dir + "/link"); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dir + "/kept/file"); err != nil {
		t.Errorf("what the link led to: %v", err)
	}
	var refused *Refused
	if err := Remove("/"); !errors.As(err, &refused) {
		t.Errorf("the root: %v", err)
	}
}

func TestRenameReplacesAFileAndNoFilledDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(dir+"/a", []byte("a"), 0o644), os.WriteFile(dir+"/b", nil, 0o644),
		os.Mkdir(dir+"/d", 0o755), os.Mkdir(dir+"/e", 0o755), os.WriteFile(dir+"/e/x", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := Rename(dir+"/a", dir+"/b"); err != nil {
		t.Error(err)
	}
	if text, _ := os.ReadFile(dir + "/b"); string(text) != "a" {
		t.Errorf("b is %q", text)
	}
	var refused *Refused
	if err := Rename(dir+"/d", dir+"/e"); !errors.As(err, &refused) || refused.Code != "conflict" {
		t.Errorf("onto a filled directory: %v", err)
	}
	if err := Rename(dir+"/none", dir+"/f"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

var errEnough = errors.New("enough")

// see collects changes until last has come.
func see(t *testing.T, w *Watcher, last Change) []Change {
	t.Helper()
	var seen []Change
	err := w.Each(func(c Change) error {
		if !slices.Contains(seen, c) { // one write may be told as several
			seen = append(seen, c)
		}
		if c == last {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%v, after %v", err, seen)
	}
	return seen
}

func TestAWatchTellsWhatHappens(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(dir+"/old", 0o755), os.WriteFile(dir+"/old/deep", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcher(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(
		os.WriteFile(dir+"/old/deep", []byte("not seen"), 0o644),
		os.WriteFile(dir+"/.moorage-put-1", []byte("ours"), 0o644),
		os.WriteFile(dir+"/a", []byte("x"), 0o644),
		os.Chmod(dir+"/a", 0o600),
		os.Rename(dir+"/a", dir+"/b"),
		os.Remove(dir+"/b"),
	); err != nil {
		t.Fatal(err)
	}
	want := []Change{{"a", "create"}, {"a", "write"}, {"a", "chmod"}, {"a", "rename"}, {"b", "create"}, {"b", "remove"}}
	if seen := see(t, w, want[len(want)-1]); !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}

func TestARecursiveWatchFollowsDirectoriesThatComeAndGo(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/old/deep", 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcher(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.WriteFile(dir+"/old/deep/file", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	see(t, w, Change{"old/deep/file", "write"})
	if err := os.MkdirAll(dir+"/new/er", 0o755); err != nil {
		t.Fatal(err)
	}
	see(t, w, Change{"new/er", "create"})
	if err := errors.Join(os.WriteFile(dir+"/new/er/file", nil, 0o644), os.Rename(dir+"/new", dir+"/moved")); err != nil {
		t.Fatal(err)
	}
	see(t, w, Change{"moved/er", "create"})
	if err := os.WriteFile(dir+"/moved/er/late", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	see(t, w, Change{"moved/er/late", "create"})
}

func TestAWatchEndsWithItsDirectory(t *testing.T) {
	dir := t.TempDir() + "/sub"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := NewWatcher(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := w.Each(func(Change) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := NewWatcher(dir, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("watching what is not there: %v", err)
	}
}
