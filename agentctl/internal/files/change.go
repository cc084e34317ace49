package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Look describes path itself, a link as a link; with follow, what it leads to, under that one's own path.
func Look(path string, follow bool) (Entry, error) {
	if follow {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return Entry{}, err
		}
		path = real
	}
	info, err := os.Lstat(path)
	if err != nil {
		return Entry{}, err
	}
	return describe(path, info), nil
}

// MakeDir makes path and what is missing above it; false when it is a directory already.
func MakeDir(path string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return false, nil
	case err == nil:
		return false, otherKind(path)
	case !errors.Is(err, os.ErrNotExist):
		return false, err
	}
	return true, os.MkdirAll(path, 0o777) // less the container's umask, as mkdir would
}

// Remove takes away path and all below it; a link is taken away itself. What is not there is no error.
func Remove(path string) error {
	if path == "/" {
		return &Refused{"usage", "the root of the container is not removed"}
	}
	return os.RemoveAll(path)
}

// Rename moves from to to, which a file may replace; both lie on one file system.
func Rename(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		return &Refused{"usage", from + " and " + to + " lie on different volumes: copy it, then remove it"}
	}
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) || errors.Is(err, syscall.EISDIR) {
		return conflict(to)
	}
	return err
}

// owners of an entry, as numbers: the names are the image's matter.
func owners(info fs.FileInfo) (uid, gid int64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Uid), int64(stat.Gid)
	}
	return -1, -1
}
