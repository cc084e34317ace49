// Package link speaks the wire protocol of docs/link-protocol.md: frames, the hello, and streams with
// windows over one byte stream. It is used by internal/server; it starts no process and touches no file.
package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Sizes of the wire format. A frame is a header, a payload and, once the hello is done, a tag.
const (
	HeaderSize      = 9
	TagSize         = 16
	MaxPayload      = 64 << 10
	MaxHelloPayload = 1 << 10
)

// Type says what a frame means.
type Type uint8

// The types below 16 belong to the hello, the others to an open connection.
const (
	Banner  Type = 1
	Hello   Type = 2
	Proof   Type = 3
	Ready   Type = 4
	Refused Type = 5

	Open    Type = 16
	Data    Type = 17
	Window  Type = 18
	End     Type = 19
	Result  Type = 20
	Error   Type = 21
	Reset   Type = 22
	Ping    Type = 23
	Pong    Type = 24
	Goodbye Type = 25
)

// Frame is one decoded frame; Payload is the reader's own copy.
type Frame struct {
	Type    Type
	Stream  uint32
	Payload []byte
}

// FrameError is a breach of the format. Verdict is stable: the shared vectors name it.
type FrameError struct{ Verdict, Detail string }

func (e *FrameError) Error() string { return "link: " + e.Verdict + ": " + e.Detail }

// Seal authenticates the frames of one direction: HMAC over a counter, the header and the payload.
type Seal struct {
	mac     hash.Hash
	counter uint64
}

// NewSeal starts a direction at counter 0 under its key.
func NewSeal(key []byte) *Seal { return &Seal{mac: hmac.New(sha256.New, key)} }

func (s *Seal) tag(header, payload []byte) []byte {
	var counter [8]byte
	binary.BigEndian.PutUint64(counter[:], s.counter)
	s.counter++
	s.mac.Reset()
	s.mac.Write(counter[:])
	s.mac.Write(header)
	s.mac.Write(payload)
	return s.mac.Sum(nil)[:TagSize]
}

// AppendFrame encodes one frame behind dst. A nil seal leaves the tag out (the hello).
func AppendFrame(dst []byte, f Frame, seal *Seal) []byte {
	start := len(dst)
	dst = append(dst, byte(f.Type))
	dst = binary.BigEndian.AppendUint32(dst, f.Stream)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.Payload)))
	dst = append(dst, f.Payload...)
	if seal != nil {
		dst = append(dst, seal.tag(dst[start:start+HeaderSize], f.Payload)...)
	}
	return dst
}

// appendData encodes one DATA frame without a copy of its payload.
func appendData(dst []byte, stream uint32, channel byte, data []byte, seal *Seal) []byte {
	start := len(dst)
	dst = append(dst, byte(Data))
	dst = binary.BigEndian.AppendUint32(dst, stream)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)+1))
	dst = append(append(dst, channel), data...)
	return append(dst, seal.tag(dst[start:start+HeaderSize], dst[start+HeaderSize:])...)
}

// ReadFrame decodes one frame. limit bounds the payload and is checked before any of it is read.
// The error is io.EOF between frames, else a *FrameError or the reader's own.
func ReadFrame(r io.Reader, limit int, seal *Seal) (Frame, error) {
	var header [HeaderSize]byte
	if n, err := io.ReadFull(r, header[:]); err != nil {
		if n == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			return Frame{}, err
		}
		return Frame{}, &FrameError{"truncated", "the stream ended inside a header"}
	}
	f := Frame{Type: Type(header[0]), Stream: binary.BigEndian.Uint32(header[1:5])}
	length := binary.BigEndian.Uint32(header[5:9])
	if err := checkShape(f.Type, f.Stream, length, limit); err != nil {
		return Frame{}, err
	}
	size := int(length)
	if seal != nil {
		size += TagSize
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return Frame{}, &FrameError{"truncated", "the stream ended inside a frame"}
		}
		return Frame{}, err
	}
	f.Payload = body[:length:length]
	if seal != nil && !hmac.Equal(seal.tag(header[:], f.Payload), body[length:]) {
		return Frame{}, &FrameError{"bad_tag", "a frame was altered, dropped or inserted"}
	}
	return f, nil
}

func checkShape(t Type, stream, length uint32, limit int) error {
	onStream := false
	exact := -1
	least := uint32(0)
	switch t {
	case Banner, Hello, Ready, Refused, Goodbye:
	case Proof:
		exact = sha256.Size
	case Ping, Pong:
		exact = 8
	case Open, Result, Error:
		onStream = true
	case Data:
		onStream, least = true, 1
	case Window:
		onStream, exact = true, 4
	case End, Reset:
		onStream, exact = true, 0
	default:
		return &FrameError{"unknown_type", fmt.Sprintf("type %d", t)}
	}
	switch {
	case onStream != (stream != 0):
		return &FrameError{"bad_stream", fmt.Sprintf("type %d on stream %d", t, stream)}
	case int64(length) > int64(limit):
		return &FrameError{"too_long", fmt.Sprintf("%d bytes, at most %d", length, limit)}
	case exact >= 0 && length != uint32(exact), length < least:
		return &FrameError{"bad_length", fmt.Sprintf("type %d with %d bytes", t, length)}
	}
	return nil
}
