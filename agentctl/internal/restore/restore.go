// Package restore is the program agentctl-restore: an init container that unpacks one bundle from a
// presigned URL and ends. It reads what to do, calls internal/files and internal/fetch, and says how it
// ended by an exit code and one line. The URL is in no argument and in no message.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"moorage.dev/agentctl/internal/fetch"
	"moorage.dev/agentctl/internal/files"
)

// exitCodes are the documented ones (docs/agentctl.md), by the word in front of the reason.
var exitCodes = map[string]int{
	"failed": 1, "usage": 2, "unreachable": 10, "denied": 11, "integrity": 12,
	"hostile": 13, "limit": 14, "format": 15, "conflict": 16, "terminated": 143,
}

const maxReason = 1000

// Program is one run. The fields are what a process has from outside.
type Program struct {
	Args           []string
	Env            func(string) string
	Stdout, Stderr io.Writer
	Client         func(order) *fetch.Client // nil: fetch.New
}

// Run restores and returns the exit code.
func (p Program) Run(ctx context.Context) int {
	o, err := p.order()
	if errors.Is(err, errHelp) {
		fmt.Fprint(p.Stdout, usageText)
		return 0
	}
	if err == nil {
		err = p.restore(ctx, o)
	}
	if err == nil {
		return 0
	}
	word := wordOf(ctx, err)
	line := word + ": " + oneLine(err.Error(), o)
	fmt.Fprintln(p.Stderr, "agentctl-restore: "+line)
	tellKubelet(p.Env, line)
	return exitCodes[word]
}

func (p Program) restore(ctx context.Context, o order) error {
	client := p.Client
	if client == nil {
		client = func(o order) *fetch.Client { return fetch.New(o.proxy) }
	}
	done, err := files.Restore(o.dir, files.Bundle{
		SHA256: o.sha256, MaxBytes: o.maxBytes, MaxEntries: o.maxEntries, Replace: o.replace,
		Fetch: func(f *os.File) error { return client(o).File(ctx, o.url, f, o.maxBytes) },
		Read:  read,
	})
	if err != nil {
		return err
	}
	if done {
		fmt.Fprintln(p.Stdout, "restored sha256:"+o.sha256)
	} else {
		fmt.Fprintln(p.Stdout, "unchanged sha256:"+o.sha256)
	}
	return nil
}

func wordOf(ctx context.Context, err error) string {
	var refused *files.Refused
	var fetched *fetch.Error
	var misused *usageError
	switch {
	case ctx.Err() != nil:
		return "terminated"
	case errors.As(err, &misused):
		return "usage"
	case errors.As(err, &fetched):
		return fetched.Code
	case errors.As(err, &refused) && exitCodes[refused.Code] != 0:
		return refused.Code
	}
	return "failed"
}

// oneLine makes a reason fit for a log and a status: one line, no part of the URL that signs.
func oneLine(reason string, o order) string {
	if o.url != nil && o.url.RawQuery != "" {
		reason = strings.ReplaceAll(reason, o.url.RawQuery, "…")
	}
	reason = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, reason)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return reason
}

// tellKubelet writes the container's termination message, where there is a file for it.
func tellKubelet(env func(string) string, line string) {
	path := env("AGENTCTL_TERMINATION_LOG")
	if path == "" {
		path = "/dev/termination-log"
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return // not in a Pod, or not ours to write
	}
	defer f.Close()
	_, _ = f.WriteString(line + "\n")
}
