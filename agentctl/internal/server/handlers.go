package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"moorage.dev/agentctl/internal/files"
	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
)

// request holds the arguments of every operation; each reads its own.
type request struct {
	Op string `json:"op"`

	Spec       process.Spec `json:"spec"`
	StartID    string       `json:"start_id"`
	BaseOffset int64        `json:"base_offset"`
	Offset     int64        `json:"offset"`
	Grace      float64      `json:"grace"`
	Signal     int          `json:"signal"`
	Cols       uint16       `json:"cols"`
	Rows       uint16       `json:"rows"`
	Path       string       `json:"path"`
	Limit      int64        `json:"limit"`
	Replace    bool         `json:"replace"`
	Marker     string       `json:"marker"`
	Port       int          `json:"port"`
	Stream     uint32       `json:"stream"`
	To         string       `json:"to"`
	Follow     bool         `json:"follow"`
	Recursive  bool         `json:"recursive"`
}

type operation func(*Server, *link.Stream, request) (any, error)

type nothing struct{}

// operations are all words of the protocol; docs/link-protocol.md describes each.
var operations = map[string]operation{
	"status":      func(s *Server, _ *link.Stream, _ request) (any, error) { return s.Agent.Status(), nil },
	"start":       start,
	"output":      output,
	"ack":         acknowledge,
	"input":       input,
	"close_input": func(s *Server, _ *link.Stream, _ request) (any, error) { return nothing{}, s.Agent.CloseInput() },
	"resize": func(s *Server, _ *link.Stream, r request) (any, error) {
		return nothing{}, s.Agent.Resize(r.Cols, r.Rows)
	},
	"signal": func(s *Server, stream *link.Stream, r request) (any, error) {
		return nothing{}, s.Agent.Signal(stream.Conn().Fence, syscall.Signal(r.Signal))
	},
	"wait_exit": func(s *Server, stream *link.Stream, _ request) (any, error) {
		return exitOrError(s.Agent.WaitExit(stream.Context()))
	},
	"drain":      drain,
	"run":        run,
	"run_signal": runSignal,
	"run_resize": runResize,

	"put_tar":     putTar,
	"get_tar":     getTar,
	"list":        list,
	"hash_tree":   hashTree,
	"materialize": materialize,
	"marker":      marker,
	"stat":        stat,
	"mkdir":       makeDir,
	"remove":      remove,
	"rename":      rename,
	"watch":       watch,

	"dial":     dial,
	"activity": func(s *Server, _ *link.Stream, _ request) (any, error) { return s.Agent.Activity(), nil },
	"usage":    func(*Server, *link.Stream, request) (any, error) { return process.ReadUsage(), nil },
}

func (s *Server) handle(stream *link.Stream) {
	var r request
	if err := json.Unmarshal(stream.Request, &r); err != nil {
		stream.Answer(nil, &link.Failure{Code: "usage", Message: "the request is not understood: " + err.Error()})
		return
	}
	if s.Real != nil {
		r = r.at(s.Real)
	}
	op, known := operations[r.Op]
	if !known {
		stream.Answer(nil, &link.Failure{Code: "unknown_operation", Message: fmt.Sprintf("no operation %.40q", r.Op)})
		return
	}
	result, err := op(s, stream, r)
	stream.Answer(result, failure(err))
}

// at is the request with real in place of each path.
func (r request) at(real func(string) string) request {
	argv, env := make([]string, len(r.Spec.Argv)), make(map[string]string, len(r.Spec.Env))
	for i, word := range r.Spec.Argv {
		argv[i] = real(word)
	}
	for name, value := range r.Spec.Env {
		env[name] = real(value)
	}
	r.Spec.Argv, r.Spec.Env, r.Spec.Cwd, r.Path, r.To = argv, env, real(r.Spec.Cwd), real(r.Path), real(r.To)
	r.Spec.Input = real(r.Spec.Input)
	return r
}

// failure gives every error its stable code.
func failure(err error) error {
	var known *link.Failure
	var refused *files.Refused
	code := ""
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		code = refused.Code
	case errors.Is(err, process.ErrFenced):
		code = "fenced"
	case errors.Is(err, process.ErrRunning):
		code = "conflict"
	case errors.Is(err, process.ErrNotRunning), errors.Is(err, os.ErrProcessDone):
		code = "not_running"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		code = "not_found"
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		code = "denied"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = "no_space"
	default:
		code = "failed"
	}
	return &link.Failure{Code: code, Message: err.Error()}
}

func usage(format string, args ...any) error {
	return &link.Failure{Code: "usage", Message: fmt.Sprintf(format, args...)}
}

func start(s *Server, stream *link.Stream, r request) (any, error) {
	if r.StartID == "" || r.BaseOffset < 0 {
		return nil, usage("start needs a start_id and a base_offset of at least 0")
	}
	return s.Agent.Start(stream.Conn().Fence, r.Spec, r.BaseOffset, r.StartID)
}

func acknowledge(s *Server, stream *link.Stream, r request) (any, error) {
	if err := s.Agent.Allowed(stream.Conn().Fence); err != nil {
		return nil, err
	}
	s.Agent.Journal.Ack(r.Offset)
	return nothing{}, nil
}

func drain(s *Server, stream *link.Stream, r request) (any, error) {
	if r.Grace < 0 || r.Grace > 1e6 {
		return nil, usage("grace is seconds, 0 or more")
	}
	grace := time.Duration(r.Grace * float64(time.Second))
	return exitOrError(s.Agent.Drain(stream.Context(), stream.Conn().Fence, grace))
}

func exitOrError(exit process.Exit, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return exit, nil
}
