package files

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A volume of ext4 has a lost+found of its own: with it, no copy of one could ever fill another.
func TestWhatAVolumeKeepsForItselfIsNeitherCopiedNorHashed(t *testing.T) {
	plain, volume := t.TempDir(), t.TempDir()
	for _, dir := range []string{plain, volume} {
		for _, name := range []string{"work", "deep/lost+found/work"} {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("done"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(volume, "lost+found/#12"), 0o700); err != nil {
		t.Fatal(err)
	}
	seen := func(dir string, mounted bool) (string, string) {
		before := isVolume
		defer func() { isVolume = before }()
		isVolume = func(string) bool { return mounted }
		hash, err := HashTree(dir)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		if _, err := Pack(dir, &packed); err != nil {
			t.Fatal(err)
		}
		into := t.TempDir()
		if _, err := unpackInto(into, &packed, 1<<20, true); err != nil {
			t.Fatal(err)
		}
		isVolume = func(string) bool { return false }
		copied, err := HashTree(into)
		if err != nil {
			t.Fatal(err)
		}
		return hash, copied
	}
	wantHash, wantCopy := seen(plain, false)
	if hash, copied := seen(volume, true); hash != wantHash || copied != wantCopy || hash != copied {
		t.Errorf("a volume is %s and its copy %s, not %s", hash, copied, wantHash)
	}
	if hash, copied := seen(volume, false); hash == wantHash || copied == wantCopy {
		t.Error("elsewhere lost+found is a directory like any other")
	}
}

func TestATemporaryDirectoryIsNoVolume(t *testing.T) {
	dir := t.TempDir()
	if isVolume(dir) {
		t.Errorf("%s is not where a file system begins", dir)
	}
	if _, err := os.Stat("/proc/self"); err == nil && !isVolume("/proc") {
		t.Error("/proc is")
	}
}
