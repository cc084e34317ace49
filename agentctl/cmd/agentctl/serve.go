package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"moorage.dev/agentctl/internal/boot"
	"moorage.dev/agentctl/internal/journal"
	"moorage.dev/agentctl/internal/link"
	"moorage.dev/agentctl/internal/process"
	"moorage.dev/agentctl/internal/server"
)

const (
	exitTerminated = 143
	// A delivery whose signal was lost (it came before the pid was noted) is found by looking.
	lookPeriod = 2 * time.Second
	// The kubelet kills the container at the end of its own grace; ours only has to be longer.
	terminationGrace = time.Hour
)

// serve waits for a bootstrap and then serves the link until the container is told to end.
func serve(paths boot.Paths) error {
	process.Harden()
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGINT)
	woken := make(chan os.Signal, 1)
	signal.Notify(woken, syscall.SIGUSR1)
	// Heard and not heeded. Ignored, they would be ignored by all that is started here, too: a writer whose reader
	// has gone would never end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	if err := boot.NotePid(paths); err != nil {
		return err
	}
	table := process.NewTable()
	first := await(paths, term, woken)
	s, err := newServer(paths, table, first)
	if err != nil {
		return err
	}
	listeners, err := boot.Listen(paths, first.Config)
	if len(listeners) == 0 {
		return fmt.Errorf("the link cannot listen: %w", err)
	}
	if err != nil {
		log.Printf("one transport is closed: %v", err)
	}
	failed := make(chan error, len(listeners))
	for _, listener := range listeners {
		log.Printf("listening on %s:%s", listener.Addr().Network(), listener.Addr())
		go func() { failed <- s.Accept(listener) }()
	}
	for {
		select {
		case <-woken:
			if next, err := boot.Load(paths); err == nil {
				s.SetNonce(next.Nonce)
			} else {
				log.Print(err)
			}
		case err := <-failed:
			return err
		case <-term:
			terminate(s.Agent)
		}
	}
}

// await returns the bootstrap once one is delivered; on TERM it ends the process.
func await(paths boot.Paths, term, woken <-chan os.Signal) boot.Bootstrap {
	for {
		b, err := boot.Load(paths)
		if err == nil {
			return b
		}
		if !errors.Is(err, os.ErrNotExist) {
			log.Print(err)
		}
		select {
		case <-woken:
		case <-term:
			os.Exit(exitTerminated)
		case <-time.After(lookPeriod):
		}
	}
}

func newServer(paths boot.Paths, table *process.Table, b boot.Bootstrap) (*server.Server, error) {
	j, err := journal.Open(filepath.Join(paths.Home, "journal"), b.Config.JournalBytes)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if j.Torn() {
		log.Print("journal: the end was torn by a crash and is cut off")
	}
	agent, err := process.NewAgent(table, j, filepath.Join(paths.Home, "journal"))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if _, err := agent.RaiseFence(b.Config.Fence); err != nil {
		return nil, err
	}
	intro := introduction()
	s := server.New(agent, table, link.ReadyBody{PodUID: intro.PodUID, Helper: intro.Helper, Platform: intro.Platform})
	if len(paths.Mounts) > 0 {
		s.Real = paths.Real
	}
	s.SetNonce(b.Nonce)
	return s, nil
}

// terminate passes TERM on to the agent and waits for its end: the container is being stopped.
func terminate(agent *process.Agent) {
	agent.Leave(context.Background(), terminationGrace)
	os.Exit(exitTerminated)
}

func checksum(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	fmt.Println(hex.EncodeToString(sum.Sum(nil)))
	return nil
}
