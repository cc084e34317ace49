// Command agent stands in for an AI agent in the tests: it does one plain thing
// per subcommand, so that a test can say what must be seen outside. Static,
// standard library only; it is /agent in localhost/noshell:test and
// /bin/testagent in localhost/busybox:test.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: agent COMMAND
  lines N FIFO        print "line 1".."line N", wait until FIFO is opened for writing, print N more; exit 0
  count MS            print "line 1", "line 2" ... for ever, one every MS milliseconds
  term FILE [EXIT]    on SIGTERM append "SIGTERM pid" to FILE and exit EXIT (default 0); wait until then
  ignore FILE         on SIGTERM append "SIGTERM pid" to FILE and go on for ever
  alloc MIB           allocate and touch MIB mebibytes, then wait
  fork-alloc MIB      start a child that runs "alloc MIB", print its exit, then wait
  fork COMMAND...     start this program as a child in its own process group, print its pid, then wait
  exit CODE           exit with CODE
  signal NUMBER       die by the signal
  output MIB          print MIB mebibytes of numbered 64-byte lines, then exit
  cat                 copy standard input to standard output
  env NAME            print the value of an environment variable
  sleep SECONDS       sleep, then exit 0
  wait                block until a signal ends the process`

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"wait"}
	}
	if err := run(args[0], args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(64)
	}
}

func run(command string, args []string) error {
	switch command {
	case "lines":
		return lines(number(args, 0), text(args, 1))
	case "count":
		for i := 1; ; i++ {
			fmt.Println("line", i)
			time.Sleep(time.Duration(number(args, 0)) * time.Millisecond)
		}
	case "term":
		return onTerm(text(args, 0), func() { os.Exit(optional(args, 1)) })
	case "ignore":
		return onTerm(text(args, 0), func() {})
	case "alloc":
		alloc(number(args, 0))
		wait()
	case "fork-alloc":
		return forkAlloc(text(args, 0))
	case "fork":
		return fork(args)
	case "exit":
		os.Exit(number(args, 0))
	case "signal":
		return die(syscall.Signal(number(args, 0)))
	case "output":
		return output(number(args, 0))
	case "cat":
		_, err := bufio.NewReader(os.Stdin).WriteTo(os.Stdout)
		return err
	case "env":
		fmt.Println(os.Getenv(text(args, 0)))
	case "sleep":
		time.Sleep(time.Duration(number(args, 0)) * time.Second)
	case "wait":
		wait()
	default:
		return fmt.Errorf("no command %q\n%s", command, usage)
	}
	return nil
}

// lines shows that output is delivered before the program ends: a reader of
// the first half can be sure the second half does not exist yet.
func lines(n int, fifo string) error {
	for i := 1; i <= n; i++ {
		fmt.Println("line", i)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil && err != syscall.EEXIST {
		return err
	}
	file, err := os.Open(fifo) // blocks until somebody opens it for writing
	if err != nil {
		return err
	}
	defer file.Close()
	for i := n + 1; i <= 2*n; i++ {
		fmt.Println("line", i)
	}
	return nil
}

func onTerm(record string, then func()) error {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid())
	for range signals {
		file, err := os.OpenFile(record, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		fmt.Fprintln(file, "SIGTERM", os.Getpid())
		if err := file.Close(); err != nil {
			return err
		}
		then()
	}
	return nil
}

var kept [][]byte

func alloc(mib int) {
	for i := 0; i < mib; i++ {
		block := make([]byte, 1<<20)
		for j := 0; j < len(block); j += 4096 {
			block[j] = 1
		}
		kept = append(kept, block)
	}
	fmt.Println("allocated", mib, "MiB")
}

func forkAlloc(mib string) error {
	child, err := self("alloc", mib)
	if err != nil {
		return err
	}
	fmt.Println("child", child.Process.Pid)
	fmt.Println("child ended:", child.Wait())
	wait()
	return nil
}

func fork(args []string) error {
	child, err := self(args...)
	if err != nil {
		return err
	}
	fmt.Println("child", child.Process.Pid)
	wait()
	return nil
}

func self(args ...string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.Command(program, args...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return child, child.Start()
}

func die(number syscall.Signal) error {
	signal.Reset(number)
	if err := syscall.Kill(os.Getpid(), number); err != nil {
		return err
	}
	wait()
	return nil
}

func output(mib int) error {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	filler := strings.Repeat(".", 50)
	for i := 0; i < mib<<20/64; i++ {
		if _, err := fmt.Fprintf(out, "%012d %s\n", i, filler); err != nil {
			return err
		}
	}
	return out.Flush()
}

// wait sleeps in a loop and not in select{}, which Go reports as a deadlock.
func wait() {
	for {
		time.Sleep(time.Hour)
	}
}

func text(args []string, at int) string {
	if at >= len(args) {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(64)
	}
	return args[at]
}

func number(args []string, at int) int {
	n, err := strconv.Atoi(text(args, at))
	if err != nil || n < 0 {
		fmt.Fprintf(os.Stderr, "agent: not a number: %q\n", args[at])
		os.Exit(64)
	}
	return n
}

func optional(args []string, at int) int {
	if at >= len(args) {
		return 0
	}
	return number(args, at)
}
