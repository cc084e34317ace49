package link

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Bounds of one connection. The client opens streams; each direction of a stream has its own window.
const (
	InitialWindow = 512 << 10
	BulkWindow    = 2 << 20           // for what flows in bulk: the reader grants the difference when it begins
	grantSize     = InitialWindow / 4 // consumed bytes are given back in pieces of this size
	MaxStreams    = 128               // a client keeps to 64; those it has given up may still be ending here
	IdleLimit     = 90 * time.Second
)

// ErrClosed is what every call on a stream returns once its connection or the stream itself is gone.
var ErrClosed = errors.New("link: closed")

// Conn is an open, proved connection. One goroutine runs Serve; streams may be used from any.
type Conn struct {
	Fence   int64
	Version int

	rw      io.ReadWriter
	r       *bufio.Reader
	in, out *Seal

	writeMu  sync.Mutex
	writeBuf []byte

	mu      sync.Mutex
	streams map[uint32]*Stream
	lastID  uint32
	closed  chan struct{}
	once    sync.Once
}

func newConn(rw io.ReadWriter, keys Keys, fence int64, version int) *Conn {
	return &Conn{
		Fence: fence, Version: version, rw: rw, r: bufio.NewReaderSize(rw, MaxPayload),
		in: NewSeal(keys.ClientSeal), out: NewSeal(keys.ServerSeal),
		streams: map[uint32]*Stream{}, closed: make(chan struct{}),
	}
}

// Serve reads frames until the connection ends and hands each opened stream to handle in a goroutine.
func (c *Conn) Serve(handle func(*Stream)) error {
	defer c.shut()
	for {
		c.setDeadline(true)
		f, err := ReadFrame(c.r, MaxPayload, c.in)
		if err != nil {
			return err
		}
		if f.Type == Goodbye {
			return nil
		}
		if err := c.dispatch(f, handle); err != nil {
			text, _ := json.Marshal(map[string]string{"code": "protocol", "message": err.Error()})
			_ = c.write(Frame{Goodbye, 0, text})
			return err
		}
	}
}

func (c *Conn) dispatch(f Frame, handle func(*Stream)) error {
	switch f.Type {
	case Ping:
		return c.write(Frame{Pong, 0, f.Payload})
	case Pong:
		return nil
	case Open:
		return c.open(f, handle)
	case Data, Window, End, Reset:
		c.mu.Lock()
		s, known := c.streams[f.Stream]
		opened := f.Stream <= c.lastID
		c.mu.Unlock()
		if !known {
			if !opened {
				return &FrameError{"bad_stream", "a stream that was never opened"}
			}
			return nil // it just ended here: what was on its way is dropped
		}
		return s.receive(f)
	default:
		return &FrameError{"unknown_type", "a frame the client never sends"}
	}
}

func (c *Conn) open(f Frame, handle func(*Stream)) error {
	c.mu.Lock()
	if f.Stream <= c.lastID {
		c.mu.Unlock()
		return &FrameError{"bad_stream", "stream numbers only rise"}
	}
	c.lastID = f.Stream
	if len(c.streams) >= MaxStreams {
		c.mu.Unlock()
		text, _ := json.Marshal(Failure{Code: "busy", Message: "too many streams on this connection"})
		return c.write(Frame{Error, f.Stream, text})
	}
	s := newStream(c, f.Stream, f.Payload)
	c.streams[f.Stream] = s
	c.mu.Unlock()
	go func() {
		defer s.finish()
		handle(s)
	}()
	return nil
}

func (c *Conn) write(f Frame) error {
	return c.send(func(dst []byte) []byte { return AppendFrame(dst, f, c.out) })
}

func (c *Conn) writeData(id uint32, channel byte, data []byte) error {
	return c.send(func(dst []byte) []byte { return appendData(dst, id, channel, data, c.out) })
}

// send encodes and writes one frame; frames count, so both happen in one turn.
func (c *Conn) send(encode func(dst []byte) []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	select {
	case <-c.closed:
		return ErrClosed
	default:
	}
	c.setDeadline(false)
	c.writeBuf = encode(c.writeBuf[:0])
	if _, err := c.rw.Write(c.writeBuf); err != nil {
		c.shut()
		return ErrClosed
	}
	return nil
}

// setDeadline makes a peer that neither sends nor reads for IdleLimit end the connection.
func (c *Conn) setDeadline(read bool) {
	if conn, ok := c.rw.(net.Conn); ok {
		until := time.Now().Add(IdleLimit)
		if read {
			_ = conn.SetReadDeadline(until)
		} else {
			_ = conn.SetWriteDeadline(until)
		}
	}
}

func (c *Conn) shut() {
	c.once.Do(func() {
		close(c.closed)
		if closer, ok := c.rw.(io.Closer); ok {
			_ = closer.Close()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.streams {
			s.abandon()
		}
	})
}

func (c *Conn) forget(id uint32) {
	c.mu.Lock()
	delete(c.streams, id)
	c.mu.Unlock()
}

func windowPayload(n int) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(n))
}
