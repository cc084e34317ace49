package process

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type entry struct {
	pid, parent, group, session int
	zombie, running             bool
}

// readProcesses lists /proc. What vanishes meanwhile is left out.
func readProcesses() map[int]entry {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	found := make(map[int]entry, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name.Name() + "/stat")
		if err != nil {
			continue
		}
		// The command in parentheses may hold anything, so fields count from the last one.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 4 {
			continue
		}
		e := entry{pid: pid, zombie: fields[0] == "Z" || fields[0] == "X", running: fields[0] == "R"}
		e.parent, _ = strconv.Atoi(fields[1])
		e.group, _ = strconv.Atoi(fields[2])
		e.session, _ = strconv.Atoi(fields[3])
		found[pid] = e
	}
	return found
}

// members (leader -1: only the tagged orphans) are the live processes that came from leader: its session and group, its descendants, and
// orphans that we adopted and whose environment carries tag ("" asks for none).
func (t *Table) members(leader int, tag string) []entry {
	processes := readProcesses()
	self := os.Getpid()
	var out []entry
	for _, e := range processes {
		if e.zombie || e.pid == self {
			continue
		}
		if e.session == leader || e.group == leader || t.descends(e, leader, self, tag, processes) {
			out = append(out, e)
		}
	}
	return out
}

func (t *Table) descends(e entry, leader, self int, tag string, processes map[int]entry) bool {
	for depth := 0; depth < 4096; depth++ {
		if e.pid == leader {
			return true
		}
		if e.parent == self {
			return tag != "" && !t.direct(e.pid) && carries(e.pid, tag)
		}
		parent, known := processes[e.parent]
		if !known {
			return false
		}
		e = parent
	}
	return false
}

// carries tells whether the environment of pid has the entry. One that may not be read (a program with
// other rights) counts as carrying it: an orphan left behind is worse than one stopped.
func carries(pid int, entry string) bool {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return os.IsPermission(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2<<20))
	if err != nil {
		return os.IsPermission(err)
	}
	for _, have := range bytes.Split(text, []byte{0}) {
		if string(have) == entry {
			return true
		}
	}
	return false
}

const pollPeriod = 20 * time.Millisecond

// end sends first to everything that came from leader, SIGKILL once grace is over, and returns when
// nothing is left, or ctx ends.
func (t *Table) end(ctx context.Context, leader int, tag string, first syscall.Signal, grace time.Duration) error {
	deadline := time.Now().Add(grace)
	told := map[int]bool{}
	for {
		left := t.members(leader, tag)
		if len(left) == 0 {
			return nil
		}
		number := first
		if !time.Now().Before(deadline) {
			number, told = syscall.SIGKILL, map[int]bool{}
			if leader > 0 {
				_ = syscall.Kill(-leader, number) // at one stroke: who forks faster than we look is in it
			}
		}
		for _, e := range left {
			if !told[e.pid] { // each once: those forked meanwhile too
				told[e.pid] = true
				_ = syscall.Kill(e.pid, number)
				_ = syscall.Kill(e.pid, syscall.SIGCONT) // a stopped process acts on no signal
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollPeriod):
		}
	}
}

// HangUp ends what an ad-hoc process left: SIGHUP, then SIGKILL.
func (t *Table) HangUp(p *Proc) {
	_ = t.end(context.Background(), p.Pid, "", syscall.SIGHUP, 2*time.Second)
}
