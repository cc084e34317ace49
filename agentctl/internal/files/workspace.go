package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A workspace is filled once. The stages, each a state that a crash may leave behind:
//
//	.moorage-fill/tree      being unpacked: thrown away and begun anew
//	.moorage-fill/ready     holds the marker: all is unpacked and on disk, entries are being renamed
//	.moorage-workspace      holds the marker: done
//
// From "ready" on the stream is not needed any more; finishing is renaming what is still in tree.
const (
	markerName = reserved + "workspace"
	fillName   = reserved + "fill"
)

// Marker returns the marker of a filled workspace, or "".
func Marker(dir string) (string, error) {
	return readSmall(filepath.Join(dir, markerName))
}

func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(text), err
}

// Materialize fills the empty workspace dir. False: this marker stands already.
func Materialize(dir string, r io.Reader, limit int64, marker string, verify func() error) (bool, error) {
	if marker == "" {
		return false, &Refused{"usage", "an empty marker"}
	}
	have, err := Marker(dir)
	if err != nil {
		return false, err
	}
	if have != "" {
		if have == marker {
			return false, os.RemoveAll(filepath.Join(dir, fillName))
		}
		return false, &Refused{"conflict", "the workspace was filled from another source"}
	}
	fill := filepath.Join(dir, fillName)
	ready, err := readSmall(filepath.Join(fill, "ready"))
	if err != nil {
		return false, err
	}
	switch ready {
	case marker:
		return true, finishFill(dir, fill, marker)
	case "":
	default:
		return false, &Refused{"conflict", "the workspace is half filled from another source"}
	}
	if err := prepareFill(dir, fill, marker, r, limit, verify); err != nil {
		return false, err
	}
	return true, finishFill(dir, fill, marker)
}

func prepareFill(dir, fill, marker string, r io.Reader, limit int64, verify func() error) (err error) {
	if err := os.RemoveAll(fill); err != nil {
		return err
	}
	sweep(dir)
	if err := refuseContent(dir); err != nil {
		return err
	}
	tree := filepath.Join(fill, "tree")
	if err := os.MkdirAll(tree, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(fill) // a full disk must not stay full of what nobody wants
		}
	}()
	if _, err := unpackInto(tree, r, limit, true); err != nil {
		return err
	}
	if err := verify(); err != nil {
		return err
	}
	if err := syncFilesystem(dir); err != nil {
		return err
	}
	return writeDurably(filepath.Join(fill, "ready"), marker)
}

// refuseContent fails unless dir is empty but for what a filesystem and we put there.
func refuseContent(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" && !strings.HasPrefix(e.Name(), reserved) {
			return &Refused{"conflict", "the workspace holds other content: " + e.Name()}
		}
	}
	return nil
}

func finishFill(dir, fill, marker string) error {
	if err := moveAll(filepath.Join(fill, "tree"), dir, false); err != nil {
		return err
	}
	if err := syncFilesystem(dir); err != nil {
		return err
	}
	if err := writeDurably(filepath.Join(dir, markerName), marker); err != nil {
		return err
	}
	return os.RemoveAll(fill)
}

func writeDurably(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), reserved+"new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFilesystem(filepath.Dir(path))
}

func syncFilesystem(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, _, errno := syscall.Syscall(sysSyncfs, f.Fd(), 0, 0); errno != 0 {
		return errno
	}
	return nil
}
