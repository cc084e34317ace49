package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moorage.dev/agentctl/internal/journal"
)

// One table for all tests: a process has one owner of wait4.
var table = NewTable()

func TestManyShortProcessesAreAllReapedWithTheirOwnCode(t *testing.T) {
	var all sync.WaitGroup
	for number := range 200 {
		all.Go(func() {
			code := number % 100
			p, err := table.Start(Spec{Argv: []string{"/bin/sh", "-c", "exit " + string(rune('0'+code%10))}, Cwd: "/"})
			if err != nil {
				t.Error(err)
				return
			}
			if exit := p.Exit(); exit.Code == nil || *exit.Code != code%10 {
				t.Errorf("ended with %+v, want %d", exit, code%10)
			}
			_ = p.Out.Close()
			_ = p.Err.Close()
		})
	}
	all.Wait()
}

func TestATerminalEchoesAndEnds(t *testing.T) {
	p, err := table.Start(Spec{Argv: []string{"/bin/cat"}, Cwd: "/", TTY: true, Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	p.CloseInput()
	var out bytes.Buffer
	Pump(p.Out, func(data []byte) error { out.Write(data); return nil })
	if exit := p.Exit(); exit.Code == nil || *exit.Code != 0 {
		t.Fatalf("ended with %+v", exit)
	}
	if got := out.String(); strings.Count(got, "hello") != 2 {
		t.Fatalf("a terminal shows what is typed and what cat says: %q", got)
	}
}

func TestProgramsAreFoundOnThePathOfTheirEnvironment(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "data": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=/nowhere:" + dir}
	cases := map[string]string{
		"tool": "", "./tool": "", filepath.Join(dir, "tool"): "",
		"data": "not_executable: data: permission denied", "absent": "not_found: absent is not on PATH",
		"": "not_found: an empty program name", "./absent": "not_found: ./absent",
	}
	for name, want := range cases {
		path, err := findProgram(name, dir, env)
		if text, _ := StartFailure(err); text != want {
			t.Errorf("%q: %q (%q), want %q", name, text, path, want)
		}
	}
}

func TestTheEnvironmentLosesWhatIsAgentctlsOwn(t *testing.T) {
	t.Setenv("AGENTCTL_HOME", "/secret")
	t.Setenv("KEPT", "old")
	env := environment(Spec{Env: map[string]string{"KEPT": "new"}, TTY: true}, "EXTRA=1")
	if has(env, "AGENTCTL_HOME") || lookup(env, "KEPT") != "new" || lookup(env, "EXTRA") != "1" || lookup(env, "TERM") == "" {
		t.Fatalf("%v", env)
	}
}

func TestWhatOutlivesItsLeaderIsStillAMember(t *testing.T) {
	Harden()
	script := "sh -c 'echo ready; exec sleep 1000' & exit 0"
	p, err := table.Start(Spec{Argv: []string{"/bin/sh", "-c", script}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := io.ReadFull(p.Out, line); err != nil {
		t.Fatal(err)
	}
	p.Exit()
	if left := table.members(p.Pid, ""); len(left) != 1 {
		t.Fatalf("members: %+v", left)
	}
	table.HangUp(p)
	if left := table.members(p.Pid, ""); len(left) != 0 {
		t.Fatalf("members after the end: %+v", left)
	}
}

func TestAnAgentThatEndsWithItsContainerHasNoExitOfItsOwn(t *testing.T) {
	Harden()
	dir := t.TempDir()
	j, err := journal.Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(table, j, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Start(1, Spec{Argv: []string{"/bin/sleep", "1000"}, Cwd: "/"}, 0, "s1"); err != nil {
		t.Fatal(err)
	}
	agent.Leave(context.Background(), time.Minute)
	if s := agent.Status(); s.State != StateDraining || s.Exit != nil {
		t.Fatalf("while the container ends: %+v", s)
	}
	next, err := NewAgent(table, j, dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := next.Status(); s.State != StateExited || s.StartID != "s1" || s.Exit == nil || s.Exit.Signal != nil || s.Exit.Code != nil {
		t.Fatalf("in the next container: %+v", s)
	}
}

// A pump that did not get to run is played by one whose deadline is over before it begins.
func TestWhatAnAgentWroteBeforeItsEndIsTakenHoweverLateThePumpRuns(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(table, j, dir)
	if err != nil {
		t.Fatal(err)
	}
	out, held, err := os.Pipe() // held: by a child that lives on
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	words := strings.Repeat("last words\n", 5000)
	if _, err := held.WriteString(words); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	code := 0
	gone := &Proc{Out: out, done: make(chan struct{}), exit: Exit{Code: &code}}
	close(gone.done)
	agent.supervise(gone)
	<-agent.Ended()
	if _, end := j.Bounds(); end != int64(len(words)) {
		t.Fatalf("%d bytes of %d are in the journal", end, len(words))
	}
	for range 10 { // and the child does not die of writing on
		if _, err := held.Write(make([]byte, 64<<10)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestManySmallWritesBecomeFewLargeReads(t *testing.T) {
	const size = 4 << 20
	script := fmt.Sprintf("exec dd if=/dev/zero bs=512 count=%d 2>/dev/null", size/512)
	p, err := table.Start(Spec{Argv: []string{"/bin/sh", "-c", script}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	total, reads := 0, 0
	Pump(p.Out, func(data []byte) error { total += len(data); reads++; return nil })
	if p.Exit(); total != size || reads > size/512/2 {
		t.Fatalf("%d bytes in %d reads of %d writes", total, reads, size/512)
	}
}

func TestOneOutputKeepsTheOrderOfBothStreams(t *testing.T) {
	script := "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done"
	p, err := table.Start(Spec{Argv: []string{"/bin/sh", "-c", script}, Cwd: "/", OneOutput: true})
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	Pump(p.Out, func(data []byte) error { got.Write(data); return nil })
	for i := range 500 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	if p.Exit(); got.String() != want.String() {
		t.Fatalf("read %d bytes in another order than written", got.Len())
	}
}
