package journal

import (
	"errors"
	"io"
	"os"
)

// Chunk is what a Reader found: bytes at Offset, or a gap of Gap bytes from Offset.
type Chunk struct {
	Offset int64
	Data   []byte
	Gap    int64
}

// Reader walks the journal from an offset. It is for one goroutine.
type Reader struct {
	j      *Journal
	offset int64
	file   *os.File
	seg    int64 // start of the segment that file is
	at     int64 // transcript offset of the record at pos
	pos    int64
	buf    []byte
}

// NewReader starts at offset, which may lie beyond the end: then it waits for the end to come there.
func (j *Journal) NewReader(offset int64) *Reader {
	return &Reader{j: j, offset: offset, buf: make([]byte, maxRecord)}
}

// Offset is the next byte the reader wants.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next chunk, valid until the following call; io.EOF when there is none yet.
func (r *Reader) Next() (Chunk, error) {
	r.j.mu.Lock()
	found, next := r.locate()
	end := r.j.end
	r.j.mu.Unlock()
	switch {
	case r.offset >= end:
		return Chunk{}, io.EOF
	case found == nil:
		chunk := Chunk{Offset: r.offset, Gap: next - r.offset}
		r.offset = next
		return chunk, nil
	}
	chunk, err := r.read(*found)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, errTorn) {
		chunk = Chunk{Offset: r.offset, Gap: found.end - r.offset} // dropped or damaged meanwhile
		r.offset = found.end
		return chunk, nil
	}
	return chunk, err
}

// locate returns the segment that holds offset, or else where the next held byte lies.
func (r *Reader) locate() (*segment, int64) {
	for _, s := range r.j.segs {
		if r.offset < s.start && s.end > s.start {
			return nil, s.start
		}
		if r.offset < s.end {
			return &s, 0
		}
	}
	return nil, r.j.end
}

func (r *Reader) read(s segment) (Chunk, error) {
	if r.file == nil || r.seg != s.start || r.at > r.offset {
		r.Close()
		f, err := os.Open(s.path(r.j.dir))
		if err != nil {
			return Chunk{}, err
		}
		r.file, r.seg, r.at, r.pos = f, s.start, s.start, 0
	}
	for {
		data, err := readRecord(r.file, r.pos, r.buf)
		if errors.Is(err, io.EOF) {
			return Chunk{}, errTorn // the index says there is more
		}
		if err != nil {
			return Chunk{}, err
		}
		begin := r.at
		r.at += int64(len(data))
		r.pos += recordHeader + int64(len(data))
		if r.at <= r.offset {
			continue
		}
		chunk := Chunk{Offset: r.offset, Data: data[r.offset-begin:]}
		r.offset = r.at
		return chunk, nil
	}
}

// Close releases the reader's file.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}
