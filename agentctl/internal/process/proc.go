package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// Proc is one started process: the leader of its own session and process group.
type Proc struct {
	Pid int
	// Out and Err are what to read from it; Err is nil on a PTY and for one output. The reader closes them.
	Out, Err *os.File

	pty      *os.File
	inMu     sync.Mutex
	in       *os.File
	oomStart int64
	done     chan struct{}
	exit     Exit
}

// Start runs spec. The error is a *startError (see StartFailure) when the program is at fault.
func (t *Table) Start(spec Spec, extraEnv ...string) (*Proc, error) {
	env := environment(spec, extraEnv...)
	if len(spec.Argv) == 0 {
		return nil, notFound("an empty command")
	}
	if err := checkDirectory(spec.Cwd); err != nil {
		return nil, err
	}
	path, err := findProgram(spec.Argv[0], spec.Cwd, env)
	if err != nil {
		return nil, err
	}
	ends, err := openEnds(spec)
	if err != nil {
		return nil, err
	}
	defer ends.closeChild()
	attr := &syscall.ProcAttr{
		Dir: spec.Cwd, Env: env, Files: ends.childFiles(),
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: spec.TTY, Ctty: 0, Pdeathsig: syscall.SIGKILL},
	}
	p := &Proc{Out: ends.out, Err: ends.err, in: ends.in, pty: ends.pty, done: make(chan struct{}), oomStart: oomKills()}
	t.mu.Lock()
	p.Pid, err = t.spawner.fork(path, spec.Argv, attr)
	if err == nil {
		t.running[p.Pid] = p
	}
	t.mu.Unlock()
	if err != nil {
		ends.closeParent()
		return nil, explainExec(err, spec.Argv[0])
	}
	return p, nil
}

// StartFailure returns the ExitStatus.error text when err says that the program could not be run.
func StartFailure(err error) (string, bool) {
	var failed *startError
	if errors.As(err, &failed) {
		return failed.text, true
	}
	return "", false
}

func (p *Proc) ended(status syscall.WaitStatus) {
	p.exit = exitOf(status, oomKills() > p.oomStart)
	p.inMu.Lock()
	in := p.in
	p.in = nil
	p.inMu.Unlock()
	if in != nil && p.pty == nil {
		_ = in.Close() // also wakes a writer that waits for a reader
	}
	close(p.done)
}

// Done is closed once the process was reaped; then Exit is known.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Exit waits for the end.
func (p *Proc) Exit() Exit {
	<-p.done
	return p.exit
}

// Write feeds stdin; it blocks while the process does not read.
func (p *Proc) Write(data []byte) error {
	p.inMu.Lock()
	in := p.in
	p.inMu.Unlock()
	if in == nil {
		return os.ErrClosed
	}
	_, err := in.Write(data)
	return err
}

// CloseInput ends stdin. On a PTY, where nothing can be closed, it types the end-of-file character.
func (p *Proc) CloseInput() {
	p.inMu.Lock()
	in := p.in
	p.in = nil
	p.inMu.Unlock()
	switch {
	case in == nil:
	case p.pty != nil:
		_, _ = p.pty.Write([]byte{4})
	default:
		_ = in.Close()
	}
}

// Resize changes the terminal's size; without a PTY it does nothing.
func (p *Proc) Resize(cols, rows uint16) error {
	if p.pty == nil {
		return nil
	}
	return resize(p.pty, cols, rows)
}

// Signal goes to the whole process group.
func (p *Proc) Signal(number syscall.Signal) error {
	err := syscall.Kill(-p.Pid, number)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

type ends struct {
	in, out, err, pty *os.File
	child             []*os.File
}

func openEnds(spec Spec) (*ends, error) {
	if spec.TTY {
		master, slave, err := openPTY(spec.Cols, spec.Rows)
		if err != nil {
			return nil, err
		}
		return &ends{in: master, out: master, pty: master, child: []*os.File{slave, slave, slave}}, nil
	}
	e := &ends{}
	wanted := []**os.File{&e.in, &e.out, &e.err}
	if spec.OneOutput {
		wanted = wanted[:2]
	}
	for i, mine := range wanted {
		r, w, err := os.Pipe()
		if err != nil {
			e.closeChild()
			e.closeParent()
			return nil, err
		}
		widen(r)
		if i == 0 {
			*mine, e.child = w, append(e.child, r)
		} else {
			*mine, e.child = r, append(e.child, w)
		}
	}
	if spec.OneOutput {
		e.child = append(e.child, e.child[1])
	}
	return e, nil
}

func (e *ends) childFiles() []uintptr {
	var fds []uintptr
	for _, f := range e.child {
		fd := f.Fd()
		_ = syscall.SetNonblock(int(fd), false) // Go's poller wants the contrary, programs do not expect it
		fds = append(fds, fd)
	}
	return fds
}

func (e *ends) closeChild() {
	for _, f := range e.child {
		_ = f.Close()
	}
}

func (e *ends) closeParent() {
	for _, f := range []*os.File{e.in, e.out, e.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// A pipe takes this much before its writer waits (the kernel may grant less), and one read of it fills a frame
// of the link.
const (
	pipeSize = 256 << 10
	pumpSize = 64<<10 - 1
)

func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, pipeSize) })
	}
}

// setPipeSize is F_SETPIPE_SZ of Linux, which package syscall does not name.
const setPipeSize = 1031

// Many small writes in a row become few large reads: what was read is passed on at once, and then, in a flood,
// the pipe is given a moment to fill.
const (
	flood  = time.Millisecond
	gather = 250 * time.Microsecond
)

// Pump copies one output to sink until its end; EIO is how a PTY says so.
func Pump(from *os.File, sink func([]byte) error) {
	buf := make([]byte, pumpSize)
	info, err := from.Stat()
	pipe := err == nil && info.Mode()&os.ModeNamedPipe != 0 // a PTY holds too little to wait for
	var last time.Time
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if sinkErr := sink(buf[:n]); sinkErr != nil && errors.Is(sinkErr, io.ErrClosedPipe) {
				return
			}
		}
		if err != nil {
			return
		}
		if pipe && n < pumpSize/2 && time.Since(last) < flood {
			time.Sleep(gather)
		}
		last = time.Now()
	}
}

// Rest passes on what there is to read at this moment, and waits for no more. At most as much as a pipe holds: who
// writes faster than that is read by Pump.
func Rest(from *os.File, sink func([]byte) error) {
	_ = from.SetReadDeadline(time.Time{})
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, pumpSize)
	for taken := 0; taken < restLimit; {
		n, failed := 0, error(nil)
		once := func(fd uintptr) bool { n, failed = syscall.Read(int(fd), buf); return true }
		if raw.Read(once) != nil || failed != nil || n <= 0 || sink(buf[:n]) != nil {
			return
		}
		taken += n
	}
}

// restLimit is what the kernel lets the largest pipe of a program without rights hold.
const restLimit = 1 << 20
