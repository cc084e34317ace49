package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A workspace is filled once, and a bundle is restored likewise. The stages, each a state that a crash may leave
// behind:
//
//	.moorage-fill-*/tree    being unpacked: thrown away and begun anew
//	.moorage-fill/tree      unpacked and on disk, not yet marked: likewise
//	.moorage-fill/ready     holds the marker: entries are being renamed
//	.moorage-workspace      holds the marker: done
//
// From "ready" on the stream is not needed any more; finishing is renaming what is still in tree.
const (
	markerName = reserved + "workspace"
	fillName   = reserved + "fill"
	treeName   = "tree"
	readyName  = "ready"
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

// Materialize fills the empty workspace dir. False: this marker stands already. It waits, as long as ctx lasts,
// for whoever fills dir now. still is asked before each step that others can see: its error ends the filling.
func Materialize(
	ctx context.Context, dir string, r io.Reader, limit int64, marker string, verify, still func() error,
) (bool, error) {
	if marker == "" {
		return false, &Refused{"usage", "an empty marker"}
	}
	done, err := takeTurn(ctx, dir)
	if err != nil {
		return false, err
	}
	defer done()
	unpack := func(fill string) error {
		if _, err := unpackInto(filepath.Join(fill, treeName), r, limit, true); err != nil {
			return err
		}
		return verify()
	}
	return filling{
		called: "workspace", dir: dir, fill: fillName, done: markerName, marker: marker, unpack: unpack, still: still,
	}.run()
}

// filling takes an archive to final names in the stages above. fill and done are names in dir.
type filling struct {
	called                  string // dir, in messages
	dir, fill, done, marker string
	replace                 bool                    // over what is there, also what another marker stands for
	unpack                  func(fill string) error // into treeName; an error undoes the filling
	still                   func() error            // nil while this filling is still wanted
}

func (f filling) run() (bool, error) {
	if err := f.still(); err != nil {
		return false, err
	}
	fill := filepath.Join(f.dir, f.fill)
	have, err := readSmall(filepath.Join(f.dir, f.done))
	if err != nil {
		return false, err
	}
	if have == f.marker {
		return false, os.RemoveAll(fill)
	}
	if have != "" && !f.replace {
		return false, &Refused{"conflict", "the " + f.called + " was filled from another source"}
	}
	ready, err := readSmall(filepath.Join(fill, readyName))
	if err != nil {
		return false, err
	}
	if ready == f.marker {
		return true, f.finish(fill)
	}
	if ready != "" && !f.replace {
		return false, &Refused{"conflict", "the " + f.called + " is half filled from another source"}
	}
	if err := f.prepare(fill); err != nil {
		return false, err
	}
	return true, f.finish(fill)
}

// prepare unpacks under a name of its own, so that no other filling, not even of another process, can change
// what is then taken to fill.
func (f filling) prepare(fill string) (err error) {
	if err := os.RemoveAll(fill); err != nil {
		return err
	}
	sweep(f.dir, putPrefix)
	sweep(f.dir, f.fill+"-")
	if !f.replace {
		if err := f.refuseContent(); err != nil {
			return err
		}
	}
	temp, err := os.MkdirTemp(f.dir, f.fill+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(temp) // a full disk must not stay full of what nobody wants
		}
	}()
	tree := filepath.Join(temp, treeName)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	if err := f.unpack(temp); err != nil {
		return err
	}
	if err := refuseOtherKinds(tree, f.dir); err != nil {
		return err
	}
	if err := syncFilesystem(f.dir); err != nil {
		return err
	}
	if err := f.still(); err != nil {
		return err
	}
	if err := os.Rename(temp, fill); err != nil {
		return err
	}
	temp = fill
	return writeDurably(filepath.Join(fill, readyName), f.marker)
}

// refuseContent fails unless dir is empty but for what a filesystem and we put there.
func (f filling) refuseContent() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lostAndFound && !strings.HasPrefix(e.Name(), reserved) {
			return &Refused{"conflict", "the " + f.called + " holds other content: " + e.Name()}
		}
	}
	return nil
}

func (f filling) finish(fill string) error {
	if err := f.still(); err != nil {
		return err
	}
	if err := moveAll(filepath.Join(fill, treeName), f.dir, f.replace); err != nil {
		return err
	}
	if err := syncFilesystem(f.dir); err != nil {
		return err
	}
	if err := f.still(); err != nil {
		return err
	}
	if err := writeDurably(filepath.Join(f.dir, f.done), f.marker); err != nil {
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
