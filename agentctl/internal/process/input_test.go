package process

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"moorage.dev/agentctl/internal/journal"
)

// said is all that an agent with this spec wrote.
func said(t *testing.T, spec Spec) string {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := NewAgent(table, j, dir)
	if err != nil {
		t.Fatal(err)
	}
	spec.Cwd = "/"
	if _, err := agent.Start(1, spec, 0, "s1"); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Start(1, spec, 0, "s1"); err != nil { // said again, it is the same start
		t.Fatal(err)
	}
	if _, err := agent.WaitExit(context.Background()); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	reader := j.NewReader(0)
	defer reader.Close()
	for {
		chunk, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		text.Write(chunk.Data)
	}
}

func TestInputIsAllThatThereIsToReadAndGivenOnce(t *testing.T) {
	long := strings.Repeat("do this\n", 40_000) // more than a pipe holds
	if got := said(t, Spec{Argv: []string{"/bin/cat"}, Input: long}); got != long {
		t.Fatalf("%d bytes of %d arrived", len(got), len(long))
	}
}

func TestAnAgentThatReadsNothingEndsAllTheSame(t *testing.T) {
	if got := said(t, Spec{Argv: []string{"/bin/echo", "done"}, Input: strings.Repeat("x", 1<<20)}); got != "done\n" {
		t.Fatalf("%q", got)
	}
}

// Typed before the agent has set up its terminal, the words would be echoed, or thrown away.
func TestATerminalIsTypedIntoOnceTheAgentHasSpoken(t *testing.T) {
	script := "sleep 0.3; stty -echo; echo ready; read line; echo got $line"
	got := said(t, Spec{Argv: []string{"/bin/sh", "-c", script}, TTY: true, Input: "fix it\r"})
	if want := "ready\r\ngot fix it\r\n"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}
