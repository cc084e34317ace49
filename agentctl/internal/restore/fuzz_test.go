package restore

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moorage.dev/agentctl/internal/files"
)

// FuzzRestore: a bundle of any content is unpacked inside its directory, or refused and leaves nothing.
func FuzzRestore(f *testing.F) {
	plain := file{"plain", "first", 0o644}
	f.Add(zipOf(f, plain, file{"bin/", "", os.ModeDir | 0o755}, file{"l", "plain", os.ModeSymlink | 0o777}))
	f.Add(zipOf(f, plain, file{"../out", "x", 0o644}))
	f.Add(zipOf(f, file{"zeros", strings.Repeat("0", 100_000), 0o644}))
	f.Add(zipOf(f, file{strings.Repeat("n", 300), "x", 0o644}))
	f.Add(zipOf(f, file{"a\x00b", "x", 0o644}))
	f.Add(zipOf(f, plain, file{"plain/inside", "x", 0o644}))
	f.Add(tarOf(f, tar.Header{Typeflag: tar.TypeReg, Name: "bin/tool", Mode: 0o755, Size: 3},
		tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "bin/tool"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "dir")
		sum := sha256.Sum256(data)
		_, err := files.Restore(dir, files.Bundle{
			SHA256: hex.EncodeToString(sum[:]), MaxBytes: 1 << 16, MaxEntries: 20, Read: read,
			Fetch: func(f *os.File) error { _, err := f.Write(data); return err },
		})
		if around, listErr := os.ReadDir(outer); listErr != nil || len(around) != 1 {
			t.Fatalf("something was written outside: %v, %v", around, listErr)
		}
		if err == nil {
			return
		}
		if left, listErr := os.ReadDir(dir); listErr != nil || len(left) != 0 {
			t.Fatalf("refused (%v), and left %v, %v", err, left, listErr)
		}
		var refused *files.Refused
		if !errors.As(err, &refused) {
			t.Fatalf("an error of no kind: %v", err)
		}
	})
}
