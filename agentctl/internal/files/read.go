package files

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Entry is one line of a listing.
type Entry struct {
	Path  string  `json:"path"`
	Kind  string  `json:"kind"`
	Size  int64   `json:"size"`
	Mode  uint32  `json:"mode"`
	MTime float64 `json:"mtime"`
	UID   int64   `json:"uid"`
	GID   int64   `json:"gid"`
	// Target is where a link points, as it is written there.
	Target string `json:"target,omitempty"`
}

func describe(path string, info fs.FileInfo) Entry {
	kind, target := "other", ""
	switch {
	case info.Mode().IsRegular():
		kind = "file"
	case info.IsDir():
		kind = "dir"
	case info.Mode()&fs.ModeSymlink != 0:
		kind = "link"
		target, _ = os.Readlink(path) // it may have vanished meanwhile
	}
	uid, gid := owners(info)
	changed := float64(info.ModTime().UnixMicro()) / 1e6
	return Entry{path, kind, info.Size(), uint32(info.Mode().Perm()), changed, uid, gid, target}
}

// List hands the entries of a directory (or the one file that path is) to each, by name, at most limit.
func List(path string, limit int, each func(Entry) error) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return each(describe(path, info))
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(entries) > limit {
		return &Refused{"limit", fmt.Sprintf("%s has more than %d entries", path, limit)}
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := each(describe(filepath.Join(path, e.Name()), info)); err != nil {
			return err
		}
	}
	return nil
}

// LeftOut is what a tar does not hold because it is neither file nor directory nor link: how many there are, and
// the names of the first.
type LeftOut struct {
	Count int      `json:"left_out"`
	Names []string `json:"left_out_names"`
}

const (
	mostNames = 20
	longest   = 200 // bytes of a name that is only told
)

func (l *LeftOut) add(name string) {
	l.Count++
	if len(l.Names) < mostNames {
		l.Names = append(l.Names, strings.ToValidUTF8(name[:min(len(name), longest)], "\uFFFD"))
	}
}

// Pack writes path (a file, or everything below a directory) to w as tar. Sockets, fifos and devices are left out,
// and told; our own temporary names and special mode bits silently.
func Pack(path string, w io.Writer) (LeftOut, error) {
	left := LeftOut{Names: []string{}}
	archive := tar.NewWriter(w)
	info, err := os.Stat(path)
	if err != nil {
		return left, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return left, &Refused{"usage", path + " is neither file nor directory"}
		}
		if err := packOne(archive, path, filepath.Base(path), info); err != nil {
			return left, err
		}
		return left, archive.Close()
	}
	err = walk(path, func(name string, info fs.FileInfo) error {
		if other := info.Mode().Type() &^ (fs.ModeDir | fs.ModeSymlink); other != 0 {
			left.add(name)
			return nil
		}
		return packOne(archive, filepath.Join(path, name), name, info)
	})
	if err != nil {
		return left, err
	}
	return left, archive.Close()
}

// lostAndFound is what some file systems keep in their top directory for themselves. It is no work of anybody, often
// only root may read it, and a volume that a copy goes to has one of its own.
const lostAndFound = "lost+found"

// isVolume reports whether dir is where a file system begins.
var isVolume = func(dir string) bool {
	var here, above syscall.Stat_t
	if syscall.Stat(dir, &here) != nil || syscall.Stat(filepath.Dir(dir), &above) != nil {
		return false
	}
	return here.Dev != above.Dev
}

// walk visits everything below root in the order of names; a link as root is followed, none below. What a file
// system keeps in a volume for itself is no part of it.
func walk(root string, visit func(name string, info fs.FileInfo) error) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	volume := isVolume(root)
	return filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) && at != root {
			return nil // it vanished while we walked
		}
		if err != nil || at == root {
			return err
		}
		name := strings.TrimPrefix(at[len(root):], "/")
		if strings.HasPrefix(name, reserved) || name == lostAndFound && volume {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return visit(name, info)
	})
}

func packOne(archive *tar.Writer, path, name string, info fs.FileInfo) error {
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime()}
	switch {
	case info.Mode().IsRegular():
		return packFile(archive, path, header)
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	}
	return archive.WriteHeader(header)
}

func packFile(archive *tar.Writer, path string, header *tar.Header) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	n, err := io.Copy(archive, io.LimitReader(f, header.Size))
	if err == nil && n < header.Size {
		return &Refused{"changed", path + " became shorter while it was read"}
	}
	return err
}

// HashTree is SHA-256 over everything below path in the order of names. Each entry counts as
// kind (one byte: d, f, l), permission bits (4 bytes), name, content; name and content with their
// length before them (8 bytes); the content of a file is its SHA-256, of a link its target.
func HashTree(path string) (string, error) {
	total := sha256.New()
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		err = hashOne(total, path, filepath.Base(path), info)
	} else {
		err = walk(path, func(name string, info fs.FileInfo) error {
			return hashOne(total, filepath.Join(path, name), name, info)
		})
	}
	return hex.EncodeToString(total.Sum(nil)), err
}

func hashOne(total hash.Hash, path, name string, info fs.FileInfo) error {
	kind, content := byte('d'), []byte(nil)
	switch {
	case info.Mode().IsRegular():
		sum, err := hashFile(path)
		if err != nil {
			return err
		}
		kind, content = 'f', sum
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		kind, content = 'l', []byte(target)
	case !info.IsDir():
		return nil
	}
	mode := uint32(info.Mode().Perm())
	if kind == 'l' {
		mode = 0 // a link has none of its own
	}
	line := binary.BigEndian.AppendUint32([]byte{kind}, mode)
	for _, part := range [][]byte{[]byte(name), content} {
		line = binary.BigEndian.AppendUint64(line, uint64(len(part)))
		line = append(line, part...)
	}
	total.Write(line)
	return nil
}

func hashFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}
