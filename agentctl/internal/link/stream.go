package link

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// MaxChunk is the most that one DATA frame carries beside its channel byte.
const MaxChunk = MaxPayload - 1

// The channels inside a stream's DATA: small JSON messages, bytes, and a second kind of bytes (stderr).
const (
	ChannelMessage byte = 0
	ChannelBytes   byte = 1
	ChannelStderr  byte = 2
)

// Failure is an answer that is no success. Code is stable; Message holds no credential.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Stream is one request of the client and everything that flows on its behalf.
type Stream struct {
	Request json.RawMessage

	conn *Conn
	id   uint32
	ctx  context.Context
	stop context.CancelFunc

	mu       sync.Mutex
	cond     *sync.Cond
	inbox    [][]byte // payloads with their channel byte
	held     int      // bytes received and not yet granted again
	consumed int      // the part of them that was read
	ended    bool     // the client's END came
	limit    int      // how much may be held
	credit   int      // what we may still send
	gone     bool     // reset, or the connection is gone
	answered bool
}

func newStream(c *Conn, id uint32, request []byte) *Stream {
	s := &Stream{Request: request, conn: c, id: id, limit: InitialWindow, credit: InitialWindow}
	s.cond = sync.NewCond(&s.mu)
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Context ends when the client resets the stream or the connection is gone.
func (s *Stream) Context() context.Context { return s.ctx }

// ID is the number that the client gave the stream.
func (s *Stream) ID() uint32 { return s.id }

// Conn is the connection the stream belongs to.
func (s *Stream) Conn() *Conn { return s.conn }

func (s *Stream) receive(f Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Type {
	case Data:
		if s.ended {
			return &FrameError{"after_end", "data after the end of a stream"}
		}
		if s.held += len(f.Payload); s.held > s.limit {
			return &FrameError{"window", "more than the window allows"}
		}
		s.inbox = append(s.inbox, f.Payload)
	case Window:
		s.credit += int(binary.BigEndian.Uint32(f.Payload))
		if s.credit > 1<<30 {
			return &FrameError{"window", "a window beyond reason"}
		}
	case End:
		s.ended = true
	case Reset:
		s.gone = true
		s.inbox = nil
		s.stop()
	}
	s.cond.Broadcast()
	return nil
}

// Widen lets the client send in bulk: it grants the difference to BulkWindow, once.
func (s *Stream) Widen() error {
	s.mu.Lock()
	more := BulkWindow - s.limit
	s.limit = BulkWindow
	s.mu.Unlock()
	if more <= 0 {
		return nil
	}
	return s.conn.write(Frame{Window, s.id, windowPayload(more)})
}

// Recv returns the next payload; io.EOF after the client's END, ErrClosed once the stream is gone.
func (s *Stream) Recv() (byte, []byte, error) {
	s.mu.Lock()
	for len(s.inbox) == 0 && !s.ended && !s.gone {
		s.cond.Wait()
	}
	if s.gone {
		s.mu.Unlock()
		return 0, nil, ErrClosed
	}
	if len(s.inbox) == 0 {
		s.mu.Unlock()
		return 0, nil, io.EOF
	}
	payload := s.inbox[0]
	s.inbox[0] = nil
	s.inbox = s.inbox[1:]
	granted := 0
	if s.consumed += len(payload); s.consumed >= grantSize {
		granted, s.consumed = s.consumed, 0
		s.held -= granted
	}
	s.mu.Unlock()
	if granted > 0 {
		if err := s.conn.write(Frame{Window, s.id, windowPayload(granted)}); err != nil {
			return 0, nil, err
		}
	}
	return payload[0], payload[1:], nil
}

// Send delivers all of data on a channel, waiting for the client's window.
func (s *Stream) Send(channel byte, data []byte) error {
	for len(data) > 0 {
		n, err := s.take(len(data))
		if err != nil {
			return err
		}
		if err := s.conn.writeData(s.id, channel, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// take waits until at least one byte beside the channel byte may be sent and claims up to want.
func (s *Stream) take(want int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.credit < 2 && !s.gone {
		s.cond.Wait()
	}
	if s.gone {
		return 0, ErrClosed
	}
	n := min(want, MaxChunk, s.credit-1)
	s.credit -= n + 1
	return n, nil
}

// Message sends a small JSON value whole: a message is never split over frames.
func (s *Stream) Message(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for s.credit < len(text)+1 && !s.gone {
		s.cond.Wait()
	}
	if s.gone {
		s.mu.Unlock()
		return ErrClosed
	}
	s.credit -= len(text) + 1
	s.mu.Unlock()
	return s.conn.write(Frame{Data, s.id, append([]byte{ChannelMessage}, text...)})
}

// End tells the client that no more DATA follows; an answer still does.
func (s *Stream) End() error { return s.conn.write(Frame{End, s.id, nil}) }

// Answer ends the stream with a result, or with a failure when err is not nil.
func (s *Stream) Answer(result any, err error) {
	s.mu.Lock()
	if s.answered || s.gone {
		s.mu.Unlock()
		return
	}
	s.answered = true
	s.mu.Unlock()
	kind, value := Result, result
	if err != nil {
		var failure *Failure
		if !errors.As(err, &failure) {
			failure = &Failure{"internal", err.Error()}
		}
		if len(failure.Message) > 4096 {
			failure = &Failure{failure.Code, failure.Message[:4096]}
		}
		kind, value = Error, failure
	}
	text, err := json.Marshal(value)
	if err != nil || len(text) > MaxPayload {
		kind = Error
		text, _ = json.Marshal(Failure{"internal", "an answer that fits no frame"})
	}
	s.conn.forget(s.id) // first: who sees the answer may open the next stream
	_ = s.conn.write(Frame{kind, s.id, text})
}

func (s *Stream) finish() {
	s.Answer(nil, &Failure{"internal", "a request without an answer"})
	s.conn.forget(s.id)
	s.abandon()
}

func (s *Stream) abandon() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.stop()
	s.cond.Broadcast()
}
