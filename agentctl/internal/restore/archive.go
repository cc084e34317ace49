package restore

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"moorage.dev/agentctl/internal/files"
)

const (
	block      = 512
	maxTarget  = 4096
	encrypted  = 1
	permission = 0o777
)

// read hands the entries of a zip or tar archive to each. The formats are told apart by content: names and
// media types are whatever a store says.
func read(archive io.ReaderAt, size int64, each files.Each) error {
	head := make([]byte, block)
	n, err := archive.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return damaged(readZip(archive, size, each))
	case n == block && (string(head[257:262]) == "ustar" || bytes.Count(head, []byte{0}) == n):
		return damaged(readTar(io.NewSectionReader(archive, 0, size), each))
	}
	return format("the bundle is neither zip nor tar")
}

func format(message string) error { return &files.Refused{Code: "format", Message: message} }

// damaged words what a reader of archives complains of: all that is neither a verdict of ours nor the disk's.
func damaged(err error) error {
	var refused *files.Refused
	var disk syscall.Errno
	if err == nil || errors.As(err, &refused) || errors.As(err, &disk) {
		return err
	}
	return format("the bundle is damaged: " + err.Error())
}

func readTar(r io.Reader, each files.Each) error {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // names are judged one by one
			return err
		}
		if err := each(header, archive); err != nil {
			return err
		}
	}
}

func readZip(r io.ReaderAt, size int64, each files.Each) error {
	archive, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return err
	}
	for _, f := range archive.File {
		if err := zipEntry(f, each); err != nil {
			return err
		}
	}
	return nil
}

func zipEntry(f *zip.File, each files.Each) error {
	if f.Flags&encrypted != 0 {
		return format(fmt.Sprintf("archive entry %.200q is encrypted", f.Name))
	}
	content, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	header, err := tarHeader(f, content)
	if err != nil {
		return err
	}
	// One byte more than it may have: the end is then reached, where the checksum is compared.
	return each(header, io.LimitReader(content, header.Size+1))
}

func tarHeader(f *zip.File, content io.Reader) (*tar.Header, error) {
	target := ""
	if f.Mode()&fs.ModeSymlink != 0 {
		text, err := io.ReadAll(io.LimitReader(content, maxTarget+1))
		if err != nil {
			return nil, err
		}
		target = string(text)
	}
	header, err := tar.FileInfoHeader(f.FileInfo(), target)
	if err != nil {
		return nil, &files.Refused{
			Code: "hostile", Message: fmt.Sprintf("archive entry %.200q: neither file, directory nor link", f.Name),
		}
	}
	header.Name = f.Name
	if header.Mode&permission == 0 { // its writer said nothing of modes
		header.Mode |= 0o644
		if header.Typeflag == tar.TypeDir {
			header.Mode |= 0o755
		}
	}
	return header, nil
}
