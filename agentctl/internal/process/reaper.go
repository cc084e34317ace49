// Package process starts, watches and ends processes: the agent and ad-hoc ones. It is the only owner of
// wait4 in agentctl, adopts every orphan of the container, and is used by internal/server.
package process

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

const (
	prSetDumpable       = 4
	prSetChildSubreaper = 36
)

// Exit is how a process ended: exactly one of Code and Signal, or neither: unknown.
type Exit struct {
	Code   *int   `json:"code"`
	Signal *int   `json:"signal"`
	OOM    bool   `json:"oom"`
	Error  string `json:"error"`
}

// Harden makes this process unreadable to others of the same user and the parent of all orphans.
func Harden() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// Table starts processes and collects what wait4 says of them.
type Table struct {
	spawner *spawner

	mu      sync.Mutex
	running map[int]*Proc
}

// NewTable starts the one reap loop. Call it once in a process.
func NewTable() *Table {
	t := &Table{spawner: newSpawner(), running: map[int]*Proc{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			t.reap()
		}
	}()
	ended <- syscall.SIGCHLD // what was there before us (the entrypoint's sleep) is ours too
	return t
}

func (t *Table) reap() {
	for {
		var status syscall.WaitStatus
		// The lock keeps a child from being reaped before start has noted it.
		t.mu.Lock()
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			t.mu.Unlock()
			continue
		}
		if err != nil || pid <= 0 {
			t.mu.Unlock()
			return
		}
		p := t.running[pid]
		delete(t.running, pid)
		t.mu.Unlock()
		if p != nil {
			p.ended(status)
		}
	}
}

// direct tells whether pid was started by us and has not been reaped.
func (t *Table) direct(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[pid] != nil
}

func exitOf(status syscall.WaitStatus, oomed bool) Exit {
	var exit Exit
	switch {
	case status.Exited():
		code := status.ExitStatus()
		exit.Code = &code
		exit.OOM = oomed && code != 0
	case status.Signaled():
		number := int(status.Signal())
		exit.Signal = &number
		exit.OOM = oomed
	}
	return exit
}
