package server

import (
	"errors"
	"io"

	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
)

// mark tells where the bytes that follow begin, or that some are missing there.
type mark struct {
	Offset int64 `json:"offset"`
	Gap    int64 `json:"gap,omitempty"`
}

// output streams the transcript from an offset, live. It ends once the agent has exited and all was sent.
func output(s *Server, stream *link.Stream, r request) (any, error) {
	if r.Offset < 0 {
		return nil, usage("an offset is 0 or more")
	}
	reader := s.Agent.Journal.NewReader(r.Offset)
	defer reader.Close()
	if err := stream.Message(mark{Offset: r.Offset}); err != nil {
		return nil, err
	}
	for {
		// Taken before the look: whatever happens after it closes one of them.
		changed, ended := s.Agent.Journal.Changed(), s.Agent.Ended()
		over := s.Agent.Status().State == process.StateExited
		chunk, err := reader.Next()
		switch {
		case err == nil:
			if err := sendChunk(stream, chunk.Offset, chunk.Data, chunk.Gap); err != nil {
				return nil, err
			}
			continue
		case !errors.Is(err, io.EOF):
			return nil, err
		case over:
			return mark{Offset: reader.Offset()}, nil
		}
		select {
		case <-changed:
		case <-ended:
		case <-stream.Context().Done():
			return nil, link.ErrClosed
		}
	}
}

func sendChunk(stream *link.Stream, offset int64, data []byte, gap int64) error {
	if gap > 0 {
		return stream.Message(mark{Offset: offset, Gap: gap})
	}
	return stream.Send(link.ChannelBytes, data)
}

// input feeds the agent's stdin with what the client sends until its END.
func input(s *Server, stream *link.Stream, _ request) (any, error) {
	for {
		_, data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nothing{}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := s.Agent.Input(data); err != nil {
			return nil, err
		}
	}
}
