package files

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Change is something that happened below a watched directory: create, write, remove, rename (away) or chmod.
// Name is relative to that directory.
type Change struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

const watched = syscall.IN_CREATE | syscall.IN_MODIFY | syscall.IN_DELETE | syscall.IN_ATTRIB |
	syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_DELETE_SELF | syscall.IN_ONLYDIR

// Watcher sees the changes in one directory, or in all below it too. Close may come at any time.
type Watcher struct {
	root      string
	recursive bool
	fd        int
	events    *os.File
	dirs      map[int]string // watch → directory, relative to root; the root's own is ""
	close     sync.Once
}

// NewWatcher watches dir from its return on. Links below it are not followed.
func NewWatcher(dir string, recursive bool) (*Watcher, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &Watcher{
		root: dir, recursive: recursive, fd: fd, events: os.NewFile(uintptr(fd), "inotify"), dirs: map[int]string{},
	}
	if err := w.add(""); err != nil {
		w.Close()
		return nil, err
	}
	if err := w.addBelow("", nil); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Close ends Each.
func (w *Watcher) Close() { w.close.Do(func() { _ = w.events.Close() }) }

func (w *Watcher) add(dir string) error {
	number, err := syscall.InotifyAddWatch(w.fd, filepath.Join(w.root, dir), watched)
	if errors.Is(err, syscall.ENOSPC) {
		return &Refused{"limit", "this node allows no more watches (fs.inotify.max_user_watches)"}
	}
	if err != nil {
		return &fs.PathError{Op: "watch", Path: filepath.Join(w.root, dir), Err: err}
	}
	w.dirs[number] = dir
	return nil
}

// addBelow watches the directories below dir too, where that was asked for; found is told every entry.
func (w *Watcher) addBelow(dir string, found func(name string) error) error {
	if !w.recursive {
		return nil
	}
	top := filepath.Join(w.root, dir)
	return filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if at == top || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(at[len(w.root):], "/")
		if d.IsDir() {
			if err := w.add(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if found == nil {
			return nil
		}
		return found(name)
	})
}

// forget gives up the watches of a directory that was moved away: they would tell names that are no more.
func (w *Watcher) forget(dir string) {
	for number, known := range w.dirs {
		if known == dir || strings.HasPrefix(known, dir+"/") {
			_, _ = syscall.InotifyRmWatch(w.fd, uint32(number))
			delete(w.dirs, number)
		}
	}
}

// Each hands every change to tell, in order, until Close, an error of tell, or the end of the directory.
func (w *Watcher) Each(tell func(Change) error) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.events.Read(buf)
		if err != nil {
			return err
		}
		for at := 0; at+syscall.SizeofInotifyEvent <= n; {
			number := int(int32(binary.NativeEndian.Uint32(buf[at:])))
			mask := binary.NativeEndian.Uint32(buf[at+4:])
			length := int(binary.NativeEndian.Uint32(buf[at+12:]))
			at += syscall.SizeofInotifyEvent
			name := strings.TrimRight(string(buf[at:at+length]), "\x00")
			at += length
			if err := w.one(number, mask, name, tell); err != nil {
				return err
			}
		}
	}
}

func (w *Watcher) one(number int, mask uint32, name string, tell func(Change) error) error {
	dir, known := w.dirs[number]
	switch {
	case mask&syscall.IN_Q_OVERFLOW != 0:
		return &Refused{"limit", "more changed at once than can be told: list " + w.root + " and watch it again"}
	case mask&syscall.IN_IGNORED != 0:
		delete(w.dirs, number)
		return nil
	case mask&syscall.IN_DELETE_SELF != 0 && known && dir == "":
		return &fs.PathError{Op: "watch", Path: w.root, Err: os.ErrNotExist}
	case !known || name == "" || strings.HasPrefix(name, reserved):
		return nil
	}
	name = filepath.Join(dir, name)
	word := ""
	switch {
	case mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0:
		word = "create"
	case mask&syscall.IN_MODIFY != 0:
		word = "write"
	case mask&syscall.IN_DELETE != 0:
		word = "remove"
	case mask&syscall.IN_MOVED_FROM != 0:
		word = "rename"
		w.forget(name)
	case mask&syscall.IN_ATTRIB != 0:
		word = "chmod"
	default:
		return nil
	}
	if err := tell(Change{strings.ToValidUTF8(name, "\uFFFD"), word}); err != nil {
		return err
	}
	if word != "create" || mask&syscall.IN_ISDIR == 0 || !w.recursive {
		return nil
	}
	if err := w.add(name); err != nil { // what is in it by now came before the watch
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	return w.addBelow(name, func(below string) error {
		return tell(Change{strings.ToValidUTF8(below, "\uFFFD"), "create"})
	})
}
