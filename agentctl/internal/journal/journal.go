// Package journal keeps the transcript of the agent: one byte sequence by offset, bounded on disk, the
// oldest bytes dropped first. It is written by internal/process and read by internal/server; it outlives
// a restart of the container. It never blocks the agent: bytes a full disk refuses become a gap.
package journal

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"syscall"
)

// DefaultLimit bounds the journal's files together.
const DefaultLimit = 64 << 20

// Journal is safe for use by several goroutines.
type Journal struct {
	dir   string
	limit int64

	mu      sync.Mutex
	segs    []segment
	active  *os.File // the file of the last segment, or nil before the first append
	end     int64
	acked   int64
	torn    bool
	changed chan struct{}
	record  []byte
}

// Open reads what an earlier process left in dir (made when missing).
func Open(dir string, limit int64) (*Journal, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	j := &Journal{dir: dir, limit: limit, changed: make(chan struct{})}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		start, ok := segmentStart(entry.Name())
		if !ok {
			continue
		}
		s, torn, err := recoverSegment(dir, start)
		if err != nil {
			return nil, err
		}
		j.segs = append(j.segs, s)
		j.torn = j.torn || torn
	}
	sort.Slice(j.segs, func(a, b int) bool { return j.segs[a].start < j.segs[b].start })
	for i, s := range j.segs {
		if i > 0 && s.start < j.segs[i-1].end {
			return nil, fmt.Errorf("journal: segments overlap at offset %d", s.start)
		}
		j.end = s.end
	}
	return j, nil
}

// Torn tells whether Open cut off a record that a crash left half written.
func (j *Journal) Torn() bool { return j.torn }

// Bounds returns the offsets still held: the oldest byte and the one behind the newest.
func (j *Journal) Bounds() (oldest, end int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.oldest(), j.end
}

func (j *Journal) oldest() int64 {
	for _, s := range j.segs {
		if s.end > s.start {
			return s.start
		}
	}
	return j.end
}

// Changed returns a channel that is closed at the next append or advance.
func (j *Journal) Changed() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.changed
}

// Advance moves the end forward to offset: the bytes between are a gap. Lower offsets change nothing.
func (j *Journal) Advance(offset int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if offset > j.end {
		j.closeActive()
		j.end = offset
		j.notify()
	}
}

// Ack notes that all bytes below offset are stored elsewhere: they may go first when space is short.
func (j *Journal) Ack(offset int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.acked = max(j.acked, min(offset, j.end))
}

// Append adds bytes at the end. What the disk refuses even after dropping old bytes is lost as a gap;
// the error says so, the offsets stay right.
func (j *Journal) Append(p []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	defer j.notify()
	for len(p) > 0 {
		n := min(len(p), maxRecord)
		if err := j.appendRecord(p[:n]); err != nil {
			j.closeActive()
			j.end += int64(len(p))
			return err
		}
		p = p[n:]
	}
	return nil
}

func (j *Journal) appendRecord(data []byte) error {
	j.record = appendRecord(j.record[:0], data)
	for {
		err := j.write(j.record, int64(len(data)))
		if err == nil {
			j.trim(j.limit)
			return nil
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) || !j.dropOldest() {
			return err
		}
	}
}

func (j *Journal) write(record []byte, dataLen int64) error {
	if j.active == nil || j.segs[len(j.segs)-1].size >= j.segmentSize() {
		if err := j.roll(); err != nil {
			return err
		}
	}
	last := &j.segs[len(j.segs)-1]
	if _, err := j.active.WriteAt(record, last.size); err != nil {
		_ = j.active.Truncate(last.size)
		return err
	}
	last.size += int64(len(record))
	last.end += dataLen
	j.end = last.end
	return nil
}

// segmentSize is what one drop frees; small beside the limit, so that little is lost at once.
func (j *Journal) segmentSize() int64 { return max(j.limit/16, 4<<10) }

func (j *Journal) roll() error {
	j.closeActive()
	s := segment{start: j.end, end: j.end}
	f, err := os.OpenFile(s.path(j.dir), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if n := len(j.segs); n > 0 && j.segs[n-1].start == s.start {
		j.segs = j.segs[:n-1] // an empty one of the same name
	}
	j.segs = append(j.segs, s)
	j.active = f
	return nil
}

func (j *Journal) trim(limit int64) {
	total := int64(0)
	for _, s := range j.segs {
		total += s.size
	}
	for total > limit {
		size := j.segs[0].size
		if !j.dropOldest() {
			return
		}
		total -= size
	}
}

// dropOldest removes the first segment, never the one being written. Acknowledged bytes are a prefix,
// so the oldest segment is always the right one.
func (j *Journal) dropOldest() bool {
	if len(j.segs) == 0 || len(j.segs) == 1 && j.active != nil {
		return false
	}
	if err := os.Remove(j.segs[0].path(j.dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false
	}
	j.segs = j.segs[1:]
	return true
}

func (j *Journal) closeActive() {
	if j.active != nil {
		_ = j.active.Close()
		j.active = nil
	}
}

func (j *Journal) notify() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Close releases the file being written; the journal can be opened again.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closeActive()
}
