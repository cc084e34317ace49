package process

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"moorage.dev/agentctl/internal/journal"
)

// The states of the agent, as ports/link.py names them.
const (
	StateNone     = "none"
	StateRunning  = "running"
	StateDraining = "draining"
	StateExited   = "exited"
)

// What an Agent refuses.
var (
	ErrRunning    = errors.New("another start's agent still runs")
	ErrNotRunning = errors.New("no agent runs")
	ErrFenced     = errors.New("a newer owner has commanded this agent")
)

// After the agent's own end its last output is waited for: until it is complete, or nothing came for
// settleQuiet, or settleLimit is over (a child that lives on holds the pipe open).
const (
	settleQuiet = 200 * time.Millisecond
	settleLimit = 2 * time.Second
)

// Status mirrors ports.link.AgentStatus.
type Status struct {
	State     string  `json:"state"`
	Pid       int     `json:"pid"`
	StartedAt float64 `json:"started_at"`
	Exit      *Exit   `json:"exit"`
	Oldest    int64   `json:"oldest"`
	End       int64   `json:"end"`
	StartID   string  `json:"start_id"`
}

// Agent is the one supervised process of the container and its transcript.
type Agent struct {
	table   *Table
	Journal *journal.Journal
	path    string

	mu       sync.Mutex
	rec      record
	proc     *Proc
	leader   int // the session that this agent's processes belong to, also after its own end
	draining int
	leaving  bool          // the container is being ended: how the agent ends says nothing about the agent
	ended    chan struct{} // closed once the current agent's exit is recorded
	lastIn   time.Time
	lastOut  time.Time
	env      map[string]string // of its last start; held in memory only, since it may hold secrets
}

// NewAgent takes up what an earlier agentctl left in dir (the journal's). An agent that ran then is gone with its
// container; nobody saw how it ended, so its exit is unknown.
func NewAgent(table *Table, j *journal.Journal, dir string) (*Agent, error) {
	a := &Agent{table: table, Journal: j, path: filepath.Join(dir, "state.json"), leader: -1, ended: make(chan struct{})}
	var err error
	if a.rec, err = loadRecord(a.path); err != nil {
		return nil, err
	}
	if a.rec.State == StateRunning {
		a.rec.State, a.rec.Exit, a.rec.Pid = StateExited, &Exit{}, 0
		if err := a.rec.store(a.path); err != nil {
			return nil, err
		}
	}
	if a.rec.State == StateExited {
		close(a.ended)
	}
	return a, nil
}

// Status is what is known now.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status()
}

func (a *Agent) status() Status {
	oldest, end := a.Journal.Bounds()
	s := Status{a.rec.State, a.rec.Pid, a.rec.StartedAt, a.rec.Exit, oldest, end, a.rec.StartID}
	if s.State == StateRunning && (a.draining > 0 || a.leaving) {
		s.State = StateDraining
	}
	return s
}

// RaiseFence stores the highest fence seen and returns it.
func (a *Agent) RaiseFence(fence int64) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if fence > a.rec.Fence {
		next := a.rec
		next.Fence = fence
		if err := next.store(a.path); err != nil {
			return 0, err
		}
		a.rec = next
	}
	return a.rec.Fence, nil
}

// Allowed refuses a command under a fence lower than the highest seen.
func (a *Agent) Allowed(fence int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.allowed(fence)
}

func (a *Agent) allowed(fence int64) error {
	if fence < a.rec.Fence {
		return ErrFenced
	}
	return nil
}

// Start runs the agent, once per id. A program that cannot be run is an exit with an error text.
func (a *Agent) Start(fence int64, spec Spec, base int64, id string) (Status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.allowed(fence) != nil:
		return Status{}, ErrFenced
	case a.rec.StartID == id:
		return a.status(), nil
	case a.rec.State == StateRunning:
		return Status{}, ErrRunning
	}
	next := record{StartID: id, State: StateRunning, StartedAt: unix(time.Now()), Fence: a.rec.Fence}
	// The intent is stored first: a crash in between must not start a second process for one id.
	if err := next.store(a.path); err != nil {
		return Status{}, err
	}
	a.rec, a.ended, a.lastIn, a.lastOut = next, make(chan struct{}), time.Time{}, time.Time{}
	a.leader, a.env = -1, spec.Env
	a.Journal.Advance(base)
	spec.OneOutput = true // the transcript is one sequence of bytes
	proc, err := a.table.Start(spec, startTag(id))
	if err != nil {
		text, theirs := StartFailure(err)
		if !theirs {
			text = "not_executable: " + err.Error()
		}
		a.finish(Exit{Error: text})
		return a.status(), nil
	}
	a.proc, a.leader, a.rec.Pid = proc, proc.Pid, proc.Pid
	a.supervise(proc)
	if spec.Input != "" {
		go a.give(proc, spec)
	}
	return a.status(), nil
}

// WithEnv is the spec with the agent's variables, where it asks for them.
func (a *Agent) WithEnv(spec Spec) Spec {
	if !spec.AgentEnv {
		return spec
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	both := maps.Clone(a.env)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, spec.Env)
	spec.Env = both
	return spec
}

func startTag(id string) string { return "MOORAGE_START_ID=" + id }

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

func (a *Agent) supervise(p *Proc) {
	tap := &tap{agent: a}
	complete := make(chan struct{})
	go func() { Pump(p.Out, tap.write); close(complete) }()
	go func() {
		exit := p.Exit()
		tap.settle(complete)
		// What the agent itself wrote is in the pipe by now, however late the pump gets to run: it is taken
		// before the end is told. The deadline ends a pump that still waits, not before it passed on what it read.
		_ = p.Out.SetReadDeadline(time.Now())
		<-complete
		Rest(p.Out, tap.write)
		go func() {
			Pump(p.Out, func([]byte) error { return nil }) // a child that lives on must not die of SIGPIPE
			_ = p.Out.Close()
		}()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.finish(exit)
	}()
}

// finish records the end. Callers hold mu.
func (a *Agent) finish(exit Exit) {
	a.proc = nil
	if a.leaving {
		close(a.ended)
		return // the record still says running, so that the next agentctl calls the exit unknown
	}
	a.rec.State, a.rec.Exit, a.rec.Pid = StateExited, &exit, 0
	_ = a.rec.store(a.path) // a full disk costs the record across a restart: then the exit is unknown
	close(a.ended)
}

// Ended is closed once the current agent's exit is recorded; nil-safe before any start.
func (a *Agent) Ended() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// WaitExit waits for the current agent's exit.
func (a *Agent) WaitExit(ctx context.Context) (Exit, error) {
	select {
	case <-a.Ended():
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
	if exit := a.Status().Exit; exit != nil {
		return *exit, nil
	}
	return Exit{}, nil
}

func (a *Agent) running() (*Proc, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.proc == nil {
		return nil, ErrNotRunning
	}
	return a.proc, nil
}

// Input feeds stdin and blocks while the agent does not read.
func (a *Agent) Input(data []byte) error {
	p, err := a.running()
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.lastIn = time.Now()
	a.mu.Unlock()
	if err := p.Write(data); err != nil {
		return ErrNotRunning
	}
	return nil
}

// CloseInput ends stdin.
func (a *Agent) CloseInput() error {
	p, err := a.running()
	if err == nil {
		p.CloseInput()
	}
	return err
}

// Resize changes the terminal's size.
func (a *Agent) Resize(cols, rows uint16) error {
	p, err := a.running()
	if err != nil {
		return err
	}
	return p.Resize(cols, rows)
}

// Signal goes to the agent's process group.
func (a *Agent) Signal(fence int64, number syscall.Signal) error {
	if err := a.Allowed(fence); err != nil {
		return err
	}
	p, err := a.running()
	if err != nil {
		return err
	}
	return p.Signal(number)
}

// Drain ends the agent and everything that came from it, also what outlived it. It goes on when the
// caller is gone: whoever asked for an end gets it.
func (a *Agent) Drain(ctx context.Context, fence int64, grace time.Duration) (Exit, error) {
	if err := a.Allowed(fence); err != nil {
		return Exit{}, err
	}
	return a.shutdown(ctx, grace)
}

// Leave ends the agent because the container is told to end, which no owner asked for: the end it then
// comes to is not its own and is not recorded.
func (a *Agent) Leave(ctx context.Context, grace time.Duration) {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	_, _ = a.shutdown(ctx, grace)
}

func (a *Agent) shutdown(ctx context.Context, grace time.Duration) (Exit, error) {
	a.mu.Lock()
	if a.rec.State == StateNone {
		a.mu.Unlock()
		return Exit{}, nil
	}
	leader, tag, ended := a.leader, startTag(a.rec.StartID), a.ended
	if a.proc == nil && a.table.direct(leader) {
		leader = -1 // the number serves an ad-hoc process now
	}
	a.draining++
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.table.end(context.Background(), leader, tag, syscall.SIGTERM, grace)
		<-ended
		a.mu.Lock()
		a.draining--
		a.mu.Unlock()
	}()
	select {
	case <-done:
		return a.WaitExit(ctx)
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// tap brings output into the journal, and knows when the last came.
type tap struct {
	agent *Agent
	mu    sync.Mutex
	last  time.Time
}

func (t *tap) write(data []byte) error {
	now := time.Now()
	t.mu.Lock()
	t.last = now
	t.mu.Unlock()
	err := t.agent.Journal.Append(data)
	t.agent.mu.Lock()
	t.agent.lastOut = now
	t.agent.mu.Unlock()
	if err != nil {
		return io.ErrShortWrite
	}
	return nil
}

// settle waits until the output is complete, or nothing came for settleQuiet, or settleLimit is over.
func (t *tap) settle(complete <-chan struct{}) {
	began := time.Now()
	for time.Since(began) < settleLimit {
		select {
		case <-complete:
			return
		case <-time.After(settleQuiet / 4):
		}
		t.mu.Lock()
		last := t.last
		t.mu.Unlock()
		if last.Before(began) {
			last = began
		}
		if time.Since(last) > settleQuiet {
			return
		}
	}
}
