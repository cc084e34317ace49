package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

const putPrefix = reserved + "put-"

// busy holds the temporary directories of puts under way, so that a sweep leaves them alone.
var busy sync.Map

// Put unpacks r below dir. verify is called when all was read and before anything shows: its error
// undoes the put, and so does the end of ctx before then. Without replace an existing entry is a conflict.
//
// Puts and fillings of one directory put their entries in place one after the other. Assumption: nothing else
// makes the same names meanwhile. Entries appear one by one, each whole.
func Put(
	ctx context.Context, dir string, r io.Reader, limit int64, replace bool, verify func() error,
) (int64, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	sweep(dir, putPrefix)
	temp, err := os.MkdirTemp(dir, putPrefix)
	if err != nil {
		return 0, err
	}
	busy.Store(temp, true)
	defer busy.Delete(temp)
	defer os.RemoveAll(temp)
	n, err := unpackInto(temp, r, limit, false)
	if err != nil {
		return n, err
	}
	if err := verify(); err != nil {
		return n, err
	}
	done, err := takeTurn(ctx, dir)
	if err != nil {
		return n, err
	}
	defer done()
	if err := ctx.Err(); err != nil {
		return n, err
	}
	if !replace {
		if err := refuseExisting(temp, dir); err != nil {
			return n, err
		}
	}
	return n, moveAll(temp, dir, replace)
}

func unpackInto(dir string, r io.Reader, limit int64, anyLink bool) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	return unpack(root, r, limit, anyLink)
}

// sweep removes what killed puts, or fillings, left under names with prefix.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, used := busy.Load(path); !used && strings.HasPrefix(e.Name(), prefix) {
			_ = os.RemoveAll(path)
		}
	}
}

func conflict(path string) error { return &Refused{"conflict", path + " exists"} }

func refuseExisting(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(to, e.Name())
		if _, err := os.Lstat(path); err == nil {
			return conflict(path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// refuseOtherKinds fails if moveAll could not merge from into to because one has a directory where the
// other has something else. Links are looked at, never followed.
func refuseOtherKinds(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(to, e.Name())
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.IsDir() != e.IsDir() {
			return otherKind(path)
		}
		if !e.IsDir() {
			continue
		}
		if err := refuseOtherKinds(filepath.Join(from, e.Name()), path); err != nil {
			return err
		}
	}
	return nil
}

func otherKind(path string) error { return &Refused{"conflict", path + " is of another kind"} }

// moveAll renames every entry of from into to. With replace, directories that both have are merged.
func moveAll(from, to string, replace bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := move(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), e.IsDir(), replace); err != nil {
			return err
		}
	}
	return nil
}

func move(from, to string, dir, replace bool) error {
	if !replace {
		err := renameNew(from, to)
		if errors.Is(err, os.ErrExist) {
			return conflict(to)
		}
		return err
	}
	info, err := os.Lstat(to)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	case info.IsDir() != dir:
		return otherKind(to)
	case dir:
		if err := moveAll(from, to, true); err != nil {
			return err
		}
		return os.Remove(from)
	}
	return os.Rename(from, to)
}

const renameNoReplace = 1

// renameNew renames without ever replacing. Filesystems that cannot promise that get a check before.
func renameNew(from, to string) error {
	a, err := syscall.BytePtrFromString(from)
	if err != nil {
		return err
	}
	b, err := syscall.BytePtrFromString(to)
	if err != nil {
		return err
	}
	cwd := ^uintptr(99) // AT_FDCWD, -100
	_, _, errno := syscall.Syscall6(sysRenameat2, cwd, uintptr(unsafe.Pointer(a)), cwd, uintptr(unsafe.Pointer(b)), renameNoReplace, 0)
	switch errno {
	case 0:
		return nil
	case syscall.EINVAL, syscall.ENOSYS:
		if _, err := os.Lstat(to); err == nil {
			return os.ErrExist
		}
		return os.Rename(from, to)
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: errno}
}
