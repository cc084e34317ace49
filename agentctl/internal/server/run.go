package server

import (
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"

	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
)

// run starts an ad-hoc process whose life is the stream's: output comes as DATA, its end as the result.
func run(s *Server, stream *link.Stream, r request) (any, error) {
	p, err := s.Table.Start(s.Agent.WithEnv(r.Spec))
	if err != nil {
		if text, theirs := process.StartFailure(err); theirs {
			return process.Exit{Error: text}, nil
		}
		return nil, err
	}
	defer s.runs.add(stream, p)() // before the client is told that there is one
	if err := stream.Message(map[string]int{"pid": p.Pid}); err != nil {
		s.Table.HangUp(p)
		return nil, err
	}
	if err := stream.Widen(); err != nil {
		s.Table.HangUp(p)
		return nil, err
	}
	go feed(p, stream)
	complete := pumpTo(stream, p)
	select {
	case <-p.Done():
	case <-stream.Context().Done():
		s.Table.HangUp(p)
		<-p.Done()
		return nil, link.ErrClosed
	}
	// Output that is still on its way belongs to the result; a child that holds the pipe does not keep
	// the caller: it is hung up on, as a terminal would.
	if !settled(complete, stream) {
		s.Table.HangUp(p)
		<-complete
	}
	return p.Exit(), nil
}

func pumpTo(stream *link.Stream, p *process.Proc) <-chan struct{} {
	var pumps sync.WaitGroup
	for channel, f := range map[byte]*os.File{link.ChannelBytes: p.Out, link.ChannelStderr: p.Err} {
		if f == nil {
			continue
		}
		pumps.Go(func() {
			process.Pump(f, func(data []byte) error {
				if stream.Send(channel, data) != nil {
					return io.ErrClosedPipe
				}
				return nil
			})
			_ = f.Close()
		})
	}
	complete := make(chan struct{})
	go func() { pumps.Wait(); close(complete) }()
	return complete
}

func feed(p *process.Proc, stream *link.Stream) {
	for {
		_, data, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			p.CloseInput()
			return
		}
		if err != nil {
			return
		}
		// A process that does not read its input is not an error of the sender.
		_ = p.Write(data)
	}
}

// dial joins the stream with a port on the container's loopback.
func dial(_ *Server, stream *link.Stream, r request) (any, error) {
	if r.Port < 1 || r.Port > 65535 {
		return nil, usage("a port is 1 to 65535")
	}
	conn, err := dialLoopback(stream, r.Port)
	if err != nil {
		return nil, &link.Failure{Code: "unreachable", Message: err.Error()}
	}
	defer conn.Close()
	if err := stream.Message(nothing{}); err != nil {
		return nil, err
	}
	if err := stream.Widen(); err != nil {
		return nil, err
	}
	go func() {
		<-stream.Context().Done()
		_ = conn.Close()
	}()
	go func() {
		for {
			_, data, err := stream.Recv()
			if err != nil {
				if half, ok := conn.(*net.TCPConn); ok && errors.Is(err, io.EOF) {
					_ = half.CloseWrite()
				}
				return
			}
			if _, err := conn.Write(data); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, link.MaxChunk)
	for {
		n, err := conn.Read(buf)
		if n > 0 && stream.Send(link.ChannelBytes, buf[:n]) != nil {
			return nil, link.ErrClosed
		}
		if errors.Is(err, io.EOF) {
			return nothing{}, nil
		}
		if err != nil {
			return nil, &link.Failure{Code: "broken", Message: err.Error()}
		}
	}
}

func dialLoopback(stream *link.Stream, port int) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(stream.Context(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return conn, nil
	}
	if six, sixErr := dialer.DialContext(stream.Context(), "tcp", net.JoinHostPort("::1", strconv.Itoa(port))); sixErr == nil {
		return six, nil
	}
	return nil, err
}
