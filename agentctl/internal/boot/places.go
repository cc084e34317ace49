package boot

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

const placesSuffix = ".places.json"

// places is a file beside the program's directory, /opt/moorage.places.json. A node writes it where our usual
// places are not as usual: the embedded one, where all Pods share the network, and perhaps the file system. It
// is no variable; who may write there may replace the program.
type places struct {
	Home   string            `json:"home"`
	Run    string            `json:"run"`
	Listen string            `json:"listen"`
	Paths  map[string]string `json:"paths"`
}

// FromProgram fills in what the file beside the running program's directory says; flags come before it.
func FromProgram(paths Paths) Paths {
	self, err := os.Executable()
	if err != nil {
		return paths
	}
	return fromFile(paths, filepath.Dir(self)+placesSuffix)
}

func fromFile(paths Paths, name string) Paths {
	text, err := os.ReadFile(name)
	var found places
	if err != nil || json.Unmarshal(text, &found) != nil {
		return paths
	}
	if paths.Home == DefaultHome {
		paths.Home = cmp.Or(found.Home, DefaultHome)
	}
	if paths.Run == DefaultRun {
		paths.Run = cmp.Or(found.Run, DefaultRun)
	}
	paths.Listen = cmp.Or(paths.Listen, found.Listen)
	paths.Mounts = found.Paths
	return paths
}

// Real puts the place of a mounted path for the path, wherever text holds it whole or as a beginning.
func (p Paths) Real(text string) string {
	for at := 0; at < len(text); at++ {
		if text[at] != '/' || at > 0 && inName(text[at-1]) {
			continue
		}
		best := ""
		for mount := range p.Mounts {
			end := at + len(mount)
			if len(mount) > len(best) && strings.HasPrefix(text[at:], mount) &&
				(end == len(text) || text[end] == '/' || !inName(text[end])) {
				best = mount
			}
		}
		if best != "" {
			text = text[:at] + p.Mounts[best] + text[at+len(best):]
			at += len(p.Mounts[best]) - 1
		}
	}
	return text
}

// inName: what stands before or after a path that is part of a longer name.
func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || c == '/' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
