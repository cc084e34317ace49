package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"path/filepath"
	"time"

	"moorage.dev/agentctl/internal/files"
	"moorage.dev/agentctl/internal/link"
)

// receipt stands at the end of a transfer in either direction.
type receipt struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// body reads the bytes a client sends and keeps their sum; the client's own comes last, as a message.
type body struct {
	stream  *link.Stream
	rest    []byte
	sum     hash.Hash
	count   int64
	claimed *receipt
}

func newBody(stream *link.Stream) *body {
	_ = stream.Widen() // that the client is gone shows when it is read from
	return &body{stream: stream, sum: sha256.New()}
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		channel, data, err := b.stream.Recv()
		if err != nil {
			return 0, err
		}
		if channel == link.ChannelMessage {
			var claimed receipt
			if err := json.Unmarshal(data, &claimed); err != nil {
				return 0, usage("the receipt is not understood")
			}
			b.claimed = &claimed
			continue
		}
		b.sum.Write(data)
		b.count += int64(len(data))
		b.rest = data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// verify reads what follows the archive and compares the sums.
func (b *body) verify() error {
	if _, err := io.Copy(io.Discard, b); err != nil {
		return err
	}
	mine := receipt{hex.EncodeToString(b.sum.Sum(nil)), b.count}
	if b.claimed == nil || *b.claimed != mine {
		return &link.Failure{Code: "integrity", Message: "the bytes that arrived are not those that were sent"}
	}
	return nil
}

func absolute(path string) error {
	if !filepath.IsAbs(path) {
		return usage("a path must be absolute")
	}
	return nil
}

func putTar(_ *Server, stream *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	b := newBody(stream)
	n, err := files.Put(stream.Context(), filepath.Clean(r.Path), b, r.Limit, r.Replace, b.verify)
	return map[string]int64{"bytes": n}, cutOff(err)
}

// materialize is a command of the owner: one who is gone, or no longer the owner, changes nothing more.
func materialize(s *Server, stream *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	still := func() error {
		if err := stream.Context().Err(); err != nil {
			return err
		}
		return s.Agent.Allowed(stream.Conn().Fence)
	}
	if err := still(); err != nil {
		return nil, err
	}
	b := newBody(stream)
	filled, err := files.Materialize(
		stream.Context(), filepath.Clean(r.Path), b, r.Limit, r.Marker, b.verify, still)
	return map[string]bool{"filled": filled}, cutOff(err)
}

// cutOff words the end of a stream in the middle of an archive.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &link.Failure{Code: "integrity", Message: "the archive ended early"}
	}
	return err
}

func marker(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	text, err := files.Marker(r.Path)
	return map[string]string{"marker": text}, err
}

// sender is the writing side of a download.
type sender struct {
	stream *link.Stream
	sum    hash.Hash
	count  int64
}

func (s *sender) Write(p []byte) (int, error) {
	if err := s.stream.Send(link.ChannelBytes, p); err != nil {
		return 0, err
	}
	s.sum.Write(p)
	s.count += int64(len(p))
	return len(p), nil
}

func getTar(_ *Server, stream *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	out := &sender{stream: stream, sum: sha256.New()}
	left, err := files.Pack(filepath.Clean(r.Path), out)
	if err != nil {
		return nil, err
	}
	return struct {
		receipt
		files.LeftOut
	}{receipt{hex.EncodeToString(out.sum.Sum(nil)), out.count}, left}, nil
}

const listingFrame = 32 << 10

// list sends entries as JSON arrays, several an array, so that no listing is bound by a frame.
func list(_ *Server, stream *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	if r.Limit <= 0 {
		return nil, usage("a limit is 1 or more")
	}
	var batch []json.RawMessage
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := stream.Message(batch)
		batch, size = nil, 0
		return err
	}
	err := files.List(filepath.Clean(r.Path), int(min(r.Limit, 1<<30)), func(e files.Entry) error {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if size += len(line); size > listingFrame {
			if err := flush(); err != nil {
				return err
			}
		}
		batch = append(batch, line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return nothing{}, flush()
}

func hashTree(_ *Server, _ *link.Stream, r request) (any, error) {
	if err := absolute(r.Path); err != nil {
		return nil, err
	}
	sum, err := files.HashTree(filepath.Clean(r.Path))
	return map[string]string{"sha256": sum}, err
}

const settleLimit = 2 * time.Second

// settled waits a little for the rest of the output; false when something still holds it open.
func settled(complete <-chan struct{}, stream *link.Stream) bool {
	select {
	case <-complete:
		return true
	case <-stream.Context().Done():
		return false
	case <-time.After(settleLimit):
		return false
	}
}
