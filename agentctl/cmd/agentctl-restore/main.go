// Command agentctl-restore unpacks a bundle from a presigned URL; `agentctl restore` runs it. It is a
// program of its own because TLS alone would make agentctl larger than what is sent into every Pod may be.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"moorage.dev/agentctl/internal/process"
	"moorage.dev/agentctl/internal/restore"
)

func main() {
	process.Harden() // the environment may hold the URL
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := restore.Program{Args: os.Args[1:], Env: os.Getenv, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
	stop()
	os.Exit(code)
}
