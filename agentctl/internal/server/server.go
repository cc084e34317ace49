// Package server answers the requests of the link: it joins internal/link with processes, journal and
// files. cmd/agentctl runs one Server in a container.
package server

import (
	"errors"
	"log"
	"net"
	"sync"
	"time"

	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
)

// Who has proved nothing yet gets little: time, bytes (see link.MaxHelloPayload) and places.
const (
	helloLimit = 10 * time.Second
	maxUnknown = 32
	maxConns   = 64
)

// Server is the part that lives as long as the process: one epoch.
type Server struct {
	Agent *process.Agent
	Table *process.Table
	Ready link.ReadyBody
	// Real tells where a path that a request names really is; nil: there.
	Real func(string) string

	epoch string
	mu    sync.Mutex
	nonce string

	open chan struct{}
	runs runs
}

// New makes a server with a fresh epoch.
func New(agent *process.Agent, table *process.Table, ready link.ReadyBody) *Server {
	return &Server{
		Agent: agent, Table: table, Ready: ready, epoch: link.RandomHex(16),
		open: make(chan struct{}, maxConns),
	}
}

// SetNonce takes a delivered nonce for the hellos to come; open connections stay.
func (s *Server) SetNonce(nonce string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce = nonce
}

func (s *Server) currentNonce() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonce
}

// Accept serves a listener until it is closed. Each has its own places for those not yet known.
func (s *Server) Accept(listener net.Listener) error {
	unknown := make(chan struct{}, maxUnknown)
	for {
		conn, err := listener.Accept()
		if err != nil {
			if temporary, ok := err.(interface{ Temporary() bool }); ok && temporary.Temporary() {
				time.Sleep(50 * time.Millisecond) // out of descriptors: those who hold them go on
				continue
			}
			return err
		}
		select {
		case unknown <- struct{}{}:
			go s.connection(conn, func() { <-unknown })
		default:
			_ = conn.Close()
		}
	}
}

func (s *Server) connection(conn net.Conn, known func()) {
	defer conn.Close()
	peer, err := s.hello(conn)
	known()
	var refusal *link.Refusal
	if errors.As(err, &refusal) {
		log.Print(refusal) // who only looked whether somebody listens is not worth a line
	}
	if err != nil {
		return
	}
	select {
	case s.open <- struct{}{}:
		defer func() { <-s.open }()
	default:
		return
	}
	_ = peer.Serve(s.handle)
}

func (s *Server) hello(conn net.Conn) (*link.Conn, error) {
	if err := conn.SetDeadline(time.Now().Add(helloLimit)); err != nil {
		return nil, err
	}
	peer, err := link.Accept(conn, s.currentNonce(), s.epoch, s.Ready, s.Agent.RaiseFence)
	if err != nil {
		return nil, err
	}
	return peer, conn.SetDeadline(time.Time{})
}
