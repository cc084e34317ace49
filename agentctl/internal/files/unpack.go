// Package files moves trees in and out of the container: tar both ways, listings, hashes, and the one
// filling of a workspace. internal/server calls it. It never follows a name of an archive out of the
// directory it was given, and never leaves a half-written file under its final name.
package files

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// MaxEntries is how many entries an archive may have at most.
const MaxEntries = 500_000

const (
	maxName  = 4096
	modeMask = 0o777
)

// reserved begins the names that are ours wherever we write: temporary directories and the marker.
const reserved = ".moorage-"

// Refused says why an archive or a place is not accepted. Code is stable.
type Refused struct{ Code, Message string }

func (r *Refused) Error() string { return r.Message }

func hostile(name, why string) error {
	return &Refused{"hostile", fmt.Sprintf("archive entry %.200q: %s", name, why)}
}

type unpacker struct {
	root    *os.Root
	limit   int64
	most    int // entries
	bytes   int64
	entries int
	links   map[string]bool // symbolic links made so far: nothing may be written through one
	anyLink bool            // links may point anywhere, as they may in a git repository
	dirs    []*tar.Header   // modes and times are set last: a read-only directory must be filled first
}

// unpack writes a tar stream below root and returns the bytes of file contents.
func unpack(root *os.Root, r io.Reader, limit int64, anyLink bool) (int64, error) {
	u := &unpacker{root: root, limit: limit, most: MaxEntries, links: map[string]bool{}, anyLink: anyLink}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return u.bytes, u.finishDirs()
		}
		if errors.Is(err, tar.ErrHeader) {
			return u.bytes, &Refused{"hostile", "not a tar stream"}
		}
		if err != nil {
			return u.bytes, err
		}
		if err := u.entry(header, archive); err != nil {
			return u.bytes, err
		}
	}
}

func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil // git archive's comment
	}
	if u.entries++; u.entries > u.most {
		return &Refused{"limit", fmt.Sprintf("more than %d entries", u.most)}
	}
	name, err := safeName(h.Name)
	if err != nil || name == "." {
		return err
	}
	return unusable(h.Name, u.make(name, h, content))
}

// unusable tells what the archive's own names make impossible from what the disk does: as files that are
// also directories, or names that no file system takes.
func unusable(name string, err error) error {
	for _, errno := range []error{
		syscall.ENAMETOOLONG, syscall.EEXIST, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.EINVAL,
	} {
		if errors.Is(err, errno) {
			return hostile(name, "its name fits no file beside the others: "+errno.Error())
		}
	}
	return err
}

func (u *unpacker) make(name string, h *tar.Header, content io.Reader) error {
	if err := u.parents(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.dir(name, h)
	case tar.TypeReg:
		return u.file(name, h, content)
	case tar.TypeSymlink:
		return u.symlink(name, h)
	case tar.TypeLink:
		return u.hardlink(name, h)
	}
	return hostile(h.Name, "only files, directories and links are unpacked")
}

// safeName cleans a name of the archive or refuses it.
func safeName(name string) (string, error) {
	switch {
	case name == "" || len(name) > maxName || strings.ContainsRune(name, 0):
		return "", hostile(name, "no usable name")
	case strings.HasPrefix(name, "/"):
		return "", hostile(name, "an absolute name")
	}
	for _, part := range strings.Split(name, "/") {
		if part == ".." {
			return "", hostile(name, "a name with ..")
		}
	}
	clean := path.Clean(name)
	if strings.HasPrefix(clean, reserved) {
		return "", hostile(name, "a reserved name")
	}
	return clean, nil
}

func (u *unpacker) parents(name string) error {
	dir := path.Dir(name)
	for at := dir; at != "."; at = path.Dir(at) {
		if u.links[at] {
			return hostile(name, "it lies behind a symbolic link of the same archive")
		}
	}
	if dir == "." {
		return nil
	}
	return u.root.MkdirAll(dir, 0o755)
}

func (u *unpacker) dir(name string, h *tar.Header) error {
	if u.links[name] {
		return hostile(h.Name, "a directory where the archive has a link")
	}
	if err := u.root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	u.dirs = append(u.dirs, &tar.Header{Name: name, Mode: h.Mode, ModTime: h.ModTime})
	return nil
}

func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	if h.Mode&(syscall.S_ISUID|syscall.S_ISGID) != 0 {
		return hostile(h.Name, "a set-user-ID or set-group-ID file")
	}
	if h.Size < 0 || h.Size > u.limit-u.bytes {
		return &Refused{"limit", fmt.Sprintf("more than %d bytes", u.limit)}
	}
	if err := u.clear(name); err != nil {
		return err
	}
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	u.bytes += n
	err = errors.Join(err, f.Chmod(os.FileMode(h.Mode&modeMask)), f.Close())
	if err != nil {
		return err
	}
	return u.root.Chtimes(name, time.Time{}, h.ModTime)
}

// symlink makes a link; nothing of the archive is ever written through it.
func (u *unpacker) symlink(name string, h *tar.Header) error {
	target := h.Linkname
	if target == "" || len(target) > maxName || strings.ContainsRune(target, 0) {
		return hostile(h.Name, "no usable link")
	}
	if !u.anyLink && !staysInside(name, target) {
		return hostile(h.Name, "a link that points outside")
	}
	if err := u.clear(name); err != nil {
		return err
	}
	u.links[name] = true
	return u.root.Symlink(target, name)
}

// staysInside accepts targets that stay inside wherever they are read from: relative, with .. only in front
// and no more of them than the link lies deep. By induction no chain of such links leads out.
func staysInside(name, target string) bool {
	if strings.HasPrefix(target, "/") {
		return false
	}
	depth, leading := strings.Count(name, "/"), true
	for _, part := range strings.Split(target, "/") {
		if part != ".." {
			leading = leading && (part == "." || part == "")
			continue
		}
		if depth--; depth < 0 || !leading {
			return false
		}
	}
	return true
}

func (u *unpacker) hardlink(name string, h *tar.Header) error {
	target, err := safeName(h.Linkname)
	if err != nil || target == "." {
		return hostile(h.Name, "a link that points outside")
	}
	info, err := u.root.Lstat(target)
	if err != nil || !info.Mode().IsRegular() {
		return hostile(h.Name, "a hard link to nothing that came before it")
	}
	if target == name {
		return nil
	}
	if err := u.clear(name); err != nil {
		return err
	}
	return u.root.Link(target, name)
}

// clear removes what an earlier entry of the same name left, as tar does.
func (u *unpacker) clear(name string) error {
	info, err := u.root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return hostile(name, "a file where the archive has a directory")
	}
	delete(u.links, name)
	return u.root.Remove(name)
}

func (u *unpacker) finishDirs() error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		d := u.dirs[i]
		// Owner bits stay: a directory that its owner cannot enter could never be renamed or removed.
		mode := os.FileMode(d.Mode&modeMask) | 0o700
		if err := errors.Join(u.root.Chmod(d.Name, mode), u.root.Chtimes(d.Name, time.Time{}, d.ModTime)); err != nil {
			return err
		}
	}
	return nil
}
