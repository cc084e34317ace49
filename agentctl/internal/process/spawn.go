package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Spec is what to run, as ports/link.py says it.
type Spec struct {
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env"`
	Cwd  string            `json:"cwd"`
	TTY  bool              `json:"tty"`
	Cols uint16            `json:"cols"`
	Rows uint16            `json:"rows"`
	// Input is what the agent is given first: all of its stdin, which then ends; on a TTY it is typed, once the
	// agent's first output has come to rest. Only the agent has one.
	Input string `json:"input"`
	// OneOutput joins stderr with stdout in one pipe: what is read is in the order it was written.
	OneOutput bool `json:"-"`
	// AgentEnv adds the variables that the agent was last started with; Env comes before them.
	AgentEnv bool `json:"agent_env"`
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// spawner owns the one thread that forks: children get PDEATHSIG, which fires when that thread ends,
// so it never does.
type spawner struct{ jobs chan func() }

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawner) fork(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	done := make(chan struct{})
	s.jobs <- func() {
		pid, err = syscall.ForkExec(path, argv, attr)
		close(done)
	}
	<-done
	return pid, err
}

// environment is the container's own, without what concerns agentctl only, plus the spec's.
func environment(spec Spec, extra ...string) []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := spec.Env[name]; replaced || strings.HasPrefix(name, "AGENTCTL_") {
			continue
		}
		env = append(env, entry)
	}
	for name, value := range spec.Env {
		env = append(env, name+"="+value)
	}
	if spec.TTY && !has(env, "TERM") {
		env = append(env, "TERM=xterm-256color")
	}
	return append(env, extra...)
}

func has(env []string, name string) bool {
	for _, entry := range env {
		if strings.HasPrefix(entry, name+"=") {
			return true
		}
	}
	return false
}

func lookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// startError words why a process could not be started the way ExitStatus.error does.
type startError struct{ text string }

func (e *startError) Error() string { return e.text }

func notFound(what string) error { return &startError{"not_found: " + what} }
func notExecutable(why string) error {
	return &startError{"not_executable: " + why}
}

// findProgram resolves argv[0] on the PATH of env, relative to cwd.
func findProgram(name, cwd string, env []string) (string, error) {
	if name == "" {
		return "", notFound("an empty program name")
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		return path, executable(path, name)
	}
	search := lookup(env, "PATH")
	if search == "" {
		search = defaultPath
	}
	var denied error
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		path := filepath.Join(dir, name)
		err := executable(path, name)
		if err == nil {
			return path, nil
		}
		if _, statErr := os.Stat(path); statErr == nil && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", notFound(name + " is not on PATH")
}

func executable(path, name string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return notFound(name)
	case err != nil:
		return notExecutable(err.Error())
	case info.IsDir():
		return notExecutable(name + " is a directory")
	case syscall.Access(path, 1) != nil:
		return notExecutable(name + ": permission denied")
	}
	return nil
}

func explainExec(err error, name string) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return notExecutable(name + ": its interpreter is missing")
	case errors.Is(err, syscall.ENOEXEC):
		return notExecutable(name + ": not a program of this platform, or a script without #!")
	case errors.Is(err, syscall.EACCES):
		return notExecutable(name + ": permission denied (is the volume mounted noexec?)")
	}
	return notExecutable(fmt.Sprintf("%s: %v", name, err))
}

func checkDirectory(cwd string) error {
	info, err := os.Stat(cwd)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return notFound("working directory " + cwd + " does not exist")
	case err != nil:
		return notExecutable("working directory " + cwd + ": " + err.Error())
	case !info.IsDir():
		return notFound("working directory " + cwd + " is no directory")
	case syscall.Access(cwd, 1) != nil:
		return notExecutable("working directory " + cwd + ": permission denied")
	}
	return nil
}
