package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A segment is a file named by the transcript offset of its first byte. It holds records:
// length (4 bytes), CRC-32C of the data (4 bytes), data. A record that is cut off or does not fit
// its sum is the torn tail of a crash; nothing behind it is trusted.
const (
	recordHeader = 8
	maxRecord    = 32 << 10
	suffix       = ".seg"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type segment struct {
	start, end int64 // transcript offsets
	size       int64 // bytes of the file
}

func (s segment) path(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%020d%s", s.start, suffix))
}

func segmentStart(name string) (int64, bool) {
	digits, found := strings.CutSuffix(name, suffix)
	if !found || len(digits) != 20 {
		return 0, false
	}
	start, err := strconv.ParseInt(digits, 10, 64)
	return start, err == nil && start >= 0
}

func appendRecord(dst, data []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(data, castagnoli))
	return append(dst, data...)
}

var errTorn = errors.New("journal: torn record")

// readRecord decodes the record at pos into buf (at least maxRecord long).
func readRecord(f io.ReaderAt, pos int64, buf []byte) ([]byte, error) {
	var header [recordHeader]byte
	if n, err := f.ReadAt(header[:], pos); n < recordHeader {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, errTorn
	}
	length := binary.BigEndian.Uint32(header[:4])
	if length == 0 || length > maxRecord {
		return nil, errTorn
	}
	data := buf[:length]
	if n, _ := f.ReadAt(data, pos+recordHeader); n < int(length) {
		return nil, errTorn
	}
	if crc32.Checksum(data, castagnoli) != binary.BigEndian.Uint32(header[4:]) {
		return nil, errTorn
	}
	return data, nil
}

// recoverSegment walks a segment and cuts a torn tail off. torn tells whether there was one.
func recoverSegment(dir string, start int64) (s segment, torn bool, err error) {
	s = segment{start: start, end: start}
	f, err := os.OpenFile(s.path(dir), os.O_RDWR, 0)
	if err != nil {
		return s, false, err
	}
	defer f.Close()
	buf := make([]byte, maxRecord)
	for {
		data, err := readRecord(f, s.size, buf)
		if errors.Is(err, io.EOF) {
			return s, false, nil
		}
		if err != nil {
			return s, true, f.Truncate(s.size)
		}
		s.size += recordHeader + int64(len(data))
		s.end += int64(len(data))
	}
}
