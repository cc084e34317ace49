package boot

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheFileBesideTheProgramsDirectoryTellsItsPlacesAndFlagsComeFirst(t *testing.T) {
	name := filepath.Join(t.TempDir(), "moorage"+placesSuffix)
	usual := Paths{Home: DefaultHome, Run: DefaultRun}
	if got := fromFile(usual, name); got.Home != DefaultHome || got.Listen != "" {
		t.Fatalf("without a file: %+v", got)
	}
	text := `{"home":"/h","run":"/r","listen":"unix:/r/forward.sock","paths":{"/workspace":"/w"}}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := fromFile(usual, name)
	if got.Home != "/h" || got.Run != "/r" || got.Listen != "unix:/r/forward.sock" || got.Real("/workspace/a") != "/w/a" {
		t.Fatalf("with a file: %+v", got)
	}
	got = fromFile(Paths{Home: "/mine", Run: "/mine", Listen: "tcp:127.0.0.1:1"}, name)
	if got.Home != "/mine" || got.Run != "/mine" || got.Listen != "tcp:127.0.0.1:1" {
		t.Fatalf("with flags: %+v", got)
	}
}

func TestAMountedPathIsPutAtItsPlaceWhereItStandsAlone(t *testing.T) {
	paths := Paths{Mounts: map[string]string{"/workspace": "/pods/w", "/workspace/deep": "/pods/d"}}
	for text, want := range map[string]string{
		"/workspace":                      "/pods/w",
		"cd /workspace && ls /workspace/": "cd /pods/w && ls /pods/w/",
		"/workspace/deep/f":               "/pods/d/f",
		"--dir=/workspace":                "--dir=/pods/w",
		"/workspaces":                     "/workspaces",
		"/home/workspace":                 "/home/workspace",
		"/a/workspace":                    "/a/workspace",
		"/workspace.old":                  "/workspace.old",
		"":                                "",
	} {
		if got := paths.Real(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := (Paths{}).Real("/workspace"); got != "/workspace" {
		t.Errorf("without mounts: %q", got)
	}
}
