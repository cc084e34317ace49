package files

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The names of a restore in its directory; the stages are those of a workspace.
const (
	restoredName    = reserved + "restored"
	restoreFillName = reserved + "restore"
	bundleName      = "bundle"
)

// Bundle is one archive, known by its digest.
type Bundle struct {
	SHA256     string // 64 lower-case hexadecimal digits
	MaxBytes   int64  // of the archive, and of the contents in it
	MaxEntries int
	Replace    bool                 // files that are there; else the directory must be empty
	Fetch      func(*os.File) error // writes the archive into the empty file
	Read       func(archive io.ReaderAt, size int64, each Each) error
}

// Each judges one entry of an archive, with the header that it would have in a tar stream, and unpacks it.
type Each func(*tar.Header, io.Reader) error

// Restore unpacks a bundle into dir. Nothing is fetched where this bundle was restored before: then it
// returns false. Nothing shows under its own name before the digest was compared and all is unpacked.
// Errors: *Refused with integrity, hostile, limit or conflict, those of Fetch and Read, and those of the disk.
//
// Assumption: nothing else writes to dir meanwhile.
func Restore(dir string, b Bundle) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	return filling{
		called: "directory", dir: dir, fill: restoreFillName, done: restoredName,
		marker: "sha256:" + b.SHA256, replace: b.Replace, unpack: b.fetchAndUnpack,
		still: func() error { return nil }, // a killed process asks for nothing more
	}.run()
}

func (b Bundle) fetchAndUnpack(fill string) error {
	f, err := os.OpenFile(filepath.Join(fill, bundleName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := b.Fetch(f); err != nil {
		return err
	}
	size, err := b.verify(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(fill, treeName))
	if err != nil {
		return err
	}
	defer root.Close()
	u := &unpacker{root: root, limit: b.MaxBytes, most: b.MaxEntries, links: map[string]bool{}}
	if err := b.Read(f, size, u.entry); err != nil {
		return err
	}
	if err := u.finishDirs(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

func (b Bundle) verify(f *os.File) (int64, error) {
	sum := sha256.New()
	size, err := io.Copy(sum, io.NewSectionReader(f, 0, b.MaxBytes+1))
	if err != nil {
		return 0, err
	}
	if size > b.MaxBytes {
		return 0, &Refused{"limit", fmt.Sprintf("the bundle has more than %d bytes", b.MaxBytes)}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != b.SHA256 {
		return 0, &Refused{"integrity", fmt.Sprintf("the bundle has SHA-256 %s, not %s", got, b.SHA256)}
	}
	return size, nil
}
