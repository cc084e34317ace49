// Command agentctl is Moorage's helper in the main container: it runs the agent and serves the link.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"moorage.dev/agentctl/internal/boot"
)

// version is set by the build.
var version = "dev"

const usageText = `agentctl: Moorage's helper in a Pod.

  wait | serve    wait for configuration and nonce, then serve the link (main command)
  receive         take configuration and nonce on stdin (run by pods/exec)
  idle            run until TERM and do nothing: the agent of a sandbox, which is there for its commands
  tunnel          join stdin and stdout with the server (the exec transport)
  install DST     copy this program to DST (init container)
  restore DIR     unpack a bundle from a presigned URL (init container; restore --help)
  checksum FILE   print the SHA-256 of FILE
  version         print version and platform as JSON

wait, receive and tunnel take --home DIR, --run DIR and --listen tcp:LOOPBACK:PORT or unix:PATH, for tests.
`

func main() {
	log.SetFlags(0)
	log.SetPrefix("agentctl: ")
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usageText)
		os.Exit(2)
	}
	if err := command(os.Args[1], os.Args[2:]); err != nil {
		log.Print(err)
		os.Exit(1)
	}
}

func command(name string, args []string) error {
	paths, placed := boot.FromFlags(args)
	switch {
	case (name == "wait" || name == "serve") && placed:
		return serve(paths)
	case name == "receive" && placed:
		return boot.Receive(paths, introduction(), os.Stdin, os.Stdout)
	case name == "tunnel" && placed:
		return boot.Tunnel(paths, os.Stdin, os.Stdout)
	case name == "idle" && len(args) == 0:
		return idle()
	case name == "install" && len(args) == 1:
		return install(args[0])
	case name == "restore":
		return restore(args)
	case name == "checksum" && len(args) == 1:
		return checksum(args[0])
	case name == "version" && len(args) == 0:
		return json.NewEncoder(os.Stdout).Encode(introduction())
	}
	fmt.Fprint(os.Stderr, usageText)
	os.Exit(2)
	return nil
}

// idle ends at the first TERM or INT, as an agent that has nothing to finish.
func idle() error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	return nil
}

func introduction() boot.Introduction {
	return boot.Introduction{
		PodUID: os.Getenv("MOORAGE_POD_UID"), Helper: version, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// restore gives way to the program beside this one, which holds TLS and is not sent into every Pod.
func restore(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := self + "-restore"
	err = syscall.Exec(program, append([]string{program}, args...), os.Environ())
	return fmt.Errorf("restore needs %s, which the helper image has: %w", program, err)
}

// install copies the running program, whole or not at all.
func install(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	temp := to + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, from); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	return os.Rename(temp, to)
}
