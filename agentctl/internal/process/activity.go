package process

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Activity is what idleness is judged from. Times are seconds since the epoch, 0: never.
type Activity struct {
	Busy       bool    `json:"busy"`
	LastInput  float64 `json:"last_input"`
	LastOutput float64 `json:"last_output"`
	Children   int     `json:"children"`
}

const busyWindow = 5 * time.Second

// Activity counts the agent's live processes beside itself; busy: output within the last seconds, or
// one of them is on a processor now.
func (a *Agent) Activity() Activity {
	a.mu.Lock()
	leader, running, in, out := a.leader, a.proc != nil, a.lastIn, a.lastOut
	tag := startTag(a.rec.StartID)
	a.mu.Unlock()
	activity := Activity{LastInput: seconds(in), LastOutput: seconds(out)}
	activity.Busy = running && time.Since(out) < busyWindow
	if leader < 0 {
		return activity
	}
	for _, e := range a.table.members(leader, tag) {
		if e.pid != leader {
			activity.Children++
		}
		activity.Busy = activity.Busy || e.running
	}
	return activity
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return unix(t)
}

// Usage is what the container uses; -1 where the cgroup does not say.
type Usage struct {
	MemoryBytes int64 `json:"memory_bytes"`
	MemoryLimit int64 `json:"memory_limit"`
	CPUMicros   int64 `json:"cpu_micros"`
	OOMKills    int64 `json:"oom_kills"`
}

// ReadUsage reads cgroup v2, then v1.
func ReadUsage() Usage {
	return Usage{
		MemoryBytes: firstNumber("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
		MemoryLimit: firstNumber("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
		CPUMicros:   cpuMicros(),
		OOMKills:    oomKills(),
	}
}

func firstNumber(paths ...string) int64 {
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

func cpuMicros() int64 {
	if n, ok := readKey("/sys/fs/cgroup/cpu.stat", "usage_usec"); ok {
		return n
	}
	if nanos := firstNumber("/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"); nanos >= 0 {
		return nanos / 1000
	}
	return -1
}
