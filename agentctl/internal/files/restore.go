package files

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The names of a restore in its directory; the stages are those of a workspace.
const (
	restoredName    = reserved + "restored"
	restoreFillName = reserved + "restore"
	bundleName      = "bundle"
)

// Bundle is one archive, zip or tar, known by its digest.
type Bundle struct {
	SHA256     string // 64 lower-case hexadecimal digits
	MaxBytes   int64  // of the archive, and of the contents in it
	MaxEntries int
	Replace    bool                 // files that are there; else the directory must be empty
	Fetch      func(*os.File) error // writes the archive into the empty file
}

// Restore unpacks a bundle into dir. Nothing is fetched where this bundle was restored before: then it
// returns false. Nothing shows under its own name before the digest was compared and all is unpacked.
// *Refused with integrity, hostile, limit, format or conflict, an error of Fetch, or one of the disk.
//
// Assumption: nothing else writes to dir meanwhile.
func Restore(dir string, b Bundle) (bool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	return filling{
		called: "directory", dir: dir, fill: restoreFillName, done: restoredName,
		marker: "sha256:" + b.SHA256, replace: b.Replace, unpack: b.fetchAndUnpack,
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
	if err := b.unpack(root, f, size); err != nil {
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

// unpack tells the two formats apart by their content: names and media types are whatever a store says.
func (b Bundle) unpack(root *os.Root, f *os.File, size int64) error {
	u := &unpacker{root: root, limit: b.MaxBytes, most: b.MaxEntries, links: map[string]bool{}}
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return damaged(u.zip(f, size))
	case n == 512 && (string(head[257:262]) == "ustar" || bytes.Count(head, []byte{0}) == n):
		return damaged(u.tar(io.NewSectionReader(f, 0, size)))
	}
	return &Refused{"format", "the bundle is neither zip nor tar"}
}

func damaged(err error) error {
	for _, known := range []error{
		io.ErrUnexpectedEOF, tar.ErrHeader, zip.ErrFormat, zip.ErrAlgorithm, zip.ErrChecksum,
	} {
		if errors.Is(err, known) {
			return &Refused{"format", "the bundle is damaged: " + err.Error()}
		}
	}
	return err
}

// zip judges the entries of a zip archive as those of a tar stream are judged.
func (u *unpacker) zip(r io.ReaderAt, size int64) error {
	archive, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are judged one by one
		return err
	}
	if len(archive.File) > u.most {
		return &Refused{"limit", fmt.Sprintf("more than %d entries", u.most)}
	}
	for _, f := range archive.File {
		if err := u.zipEntry(f); err != nil {
			return err
		}
	}
	return u.finishDirs()
}

const encrypted = 1

func (u *unpacker) zipEntry(f *zip.File) error {
	if f.Flags&encrypted != 0 {
		return &Refused{"format", fmt.Sprintf("archive entry %.200q is encrypted", f.Name)}
	}
	if f.UncompressedSize64 > uint64(u.limit) {
		return &Refused{"limit", fmt.Sprintf("more than %d bytes", u.limit)}
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	header, err := zipHeader(f, content)
	if err != nil {
		return err
	}
	// One byte more than it may have: the end is then reached, where the checksum is compared.
	return u.entry(header, io.LimitReader(content, header.Size+1))
}

func zipHeader(f *zip.File, content io.Reader) (*tar.Header, error) {
	target := ""
	if f.Mode()&fs.ModeSymlink != 0 {
		text, err := io.ReadAll(io.LimitReader(content, maxName+1))
		if err != nil {
			return nil, err
		}
		target = string(text)
	}
	header, err := tar.FileInfoHeader(f.FileInfo(), target)
	if err != nil {
		return nil, hostile(f.Name, "only files, directories and links are unpacked")
	}
	header.Name = f.Name
	if header.Mode&modeMask == 0 { // its writer said nothing of modes
		header.Mode |= 0o644
		if header.Typeflag == tar.TypeDir {
			header.Mode |= 0o755
		}
	}
	return header, nil
}
