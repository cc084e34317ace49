package server

import (
	"os"
	"sync"
	"syscall"

	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
)

// runs are the ad-hoc processes under way, by the connection and stream that began them: a client reaches
// only its own. What it says about one comes on streams of their own, so that input which the process does
// not read never holds a signal up, and none is too late because stdin has ended.
type runs struct {
	mu    sync.Mutex
	procs map[runKey]*process.Proc
}

type runKey struct {
	conn   *link.Conn
	stream uint32
}

// add makes p reachable until the returned function is called.
func (r *runs) add(stream *link.Stream, p *process.Proc) (remove func()) {
	key := runKey{stream.Conn(), stream.ID()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.procs == nil {
		r.procs = map[runKey]*process.Proc{}
	}
	r.procs[key] = p
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.procs, key)
	}
}

func (r *runs) find(asking *link.Stream, number uint32) (*process.Proc, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p, ok := r.procs[runKey{asking.Conn(), number}]; ok {
		return p, nil
	}
	return nil, os.ErrProcessDone
}

// runSignal goes to the process group that the client's run on another stream began.
func runSignal(s *Server, stream *link.Stream, r request) (any, error) {
	if r.Signal < 1 || r.Signal > 64 {
		return nil, usage("a signal is 1 to 64")
	}
	p, err := s.runs.find(stream, r.Stream)
	if err != nil {
		return nil, err
	}
	return nothing{}, p.Signal(syscall.Signal(r.Signal))
}

// runResize changes the size of its terminal.
func runResize(s *Server, stream *link.Stream, r request) (any, error) {
	p, err := s.runs.find(stream, r.Stream)
	if err != nil {
		return nil, err
	}
	return nothing{}, p.Resize(r.Cols, r.Rows)
}
