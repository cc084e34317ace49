package process

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// oomKills counts the kernel's OOM kills in our cgroup (v2, then v1), or 0 where neither can be read.
func oomKills() int64 {
	for _, path := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		if n, ok := readKey(path, "oom_kill"); ok {
			return n
		}
	}
	return 0
}

func readKey(path, key string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == key {
			n, err := strconv.ParseInt(fields[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
