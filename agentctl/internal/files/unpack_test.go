package files

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesOfAnArchive(t *testing.T) {
	accepted := map[string]string{"a": "a", "./a": "a", "a/b/": "a/b", "a//b": "a/b", "./": ".", "..a": "..a", "a..": "a.."}
	for name, want := range accepted {
		if got, err := safeName(name); err != nil || got != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	refused := []string{"", "..", "../a", "a/..", "a/../b", "/", "/a", "//a", "a\x00b", ".moorage-put-1", "./.moorage-fill/x", strings.Repeat("a/", 3000)}
	for _, name := range refused {
		if got, err := safeName(name); err == nil {
			t.Errorf("%q was accepted as %q", name, got)
		}
	}
}

func archive(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLinksOfAnArchive(t *testing.T) {
	cases := map[string]bool{
		"target": true, "a/b": true, "./a": true, "": false, "/a": false,
		"../x": true, "../../x": true, "../../../x": false, "a/../b": false, "./../x": true, "..": true,
	}
	for target, accepted := range cases {
		root := t.TempDir()
		data := archive(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "deep/er/link", Linkname: target})
		_, err := unpackInto(root, bytes.NewReader(data), 1000, false)
		if (err == nil) != accepted {
			t.Errorf("a link to %q: %v", target, err)
		}
	}
}

func TestAReadOnlyDirectoryIsFilledBeforeItIsClosed(t *testing.T) {
	root := t.TempDir()
	data := archive(t,
		tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o555},
		tar.Header{Typeflag: tar.TypeReg, Name: "d/f", Mode: 0o444, Size: 3})
	if _, err := unpackInto(root, bytes.NewReader(data), 1000, false); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(root, "d", "f"))
	if err != nil || info.Mode().Perm() != 0o444 || info.Size() != 3 {
		t.Fatalf("%v, %v", info, err)
	}
}

func TestALaterEntryReplacesAnEarlierOneButNeverADirectory(t *testing.T) {
	file := tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: 5}
	shorter := file
	shorter.Size = 2
	root := t.TempDir()
	if _, err := unpackInto(root, bytes.NewReader(archive(t, file, shorter)), 1000, false); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(root, "a")); err != nil || info.Size() != 2 {
		t.Fatalf("%v, %v", info, err)
	}
	dir := tar.Header{Typeflag: tar.TypeDir, Name: "a/", Mode: 0o755}
	var refused *Refused
	if _, err := unpackInto(t.TempDir(), bytes.NewReader(archive(t, dir, file)), 1000, false); !errors.As(err, &refused) {
		t.Fatalf("a file over a directory: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeReg, Name: "a/b", Mode: 0o644, Size: 5}))
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "a"}))
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeDir, Name: "d/", Mode: 0o700}))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		root := filepath.Join(outer, "root")
		if err := os.Mkdir(root, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _ = unpackInto(root, bytes.NewReader(data), 1<<16, false)
		entries, err := os.ReadDir(outer)
		if err != nil || len(entries) != 1 {
			t.Fatalf("something was written outside: %v, %v", entries, err)
		}
	})
}

func TestAWorkspaceTakesLinksAsGitDoesAndWritesThroughNone(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	link := tar.Header{Typeflag: tar.TypeSymlink, Name: "out", Linkname: outside}
	if _, err := unpackInto(root, bytes.NewReader(archive(t, link)), 1000, true); err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(filepath.Join(root, "out")); err != nil || target != outside {
		t.Fatalf("%q, %v", target, err)
	}
	through := archive(t, link, tar.Header{Typeflag: tar.TypeReg, Name: "out/f", Mode: 0o644, Size: 3})
	var refused *Refused
	if _, err := unpackInto(t.TempDir(), bytes.NewReader(through), 1000, true); !errors.As(err, &refused) {
		t.Fatalf("%v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 0 {
		t.Fatalf("%v, %v", entries, err)
	}
}
