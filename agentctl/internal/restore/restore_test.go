package restore

import (
	"archive/tar"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABundleIsRestoredAndNotFetchedAgain(t *testing.T) {
	link := file{"link", "bin/tool", os.ModeSymlink | 0o777}
	bundles := map[string][]byte{
		"zip": zipOf(t, file{"bin/", "", os.ModeDir | 0o755}, file{"bin/tool", "run", 0o755}, link),
		"tar": tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "bin/tool", Mode: 0o755, Size: 3},
			tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "bin/tool"}),
	}
	for format, bundle := range bundles {
		p := serving(t, bundle)
		if code, said := p.run(); code != 0 || !strings.HasPrefix(said, "restored sha256:") {
			t.Fatalf("%s: %d %s", format, code, said)
		}
		info, err := os.Stat(filepath.Join(p.dir, "link"))
		if err != nil || info.Mode().Perm() != 0o755 || info.Size() != 3 {
			t.Errorf("%s: %v, %v", format, info, err)
		}
		p.env["AGENTCTL_RESTORE_URL"] = "https://expired.invalid/"
		if code, said := p.run(); code != 0 || !strings.HasPrefix(said, "unchanged sha256:") || p.asked.Load() != 1 {
			t.Errorf("%s again: %d %s, asked %d times", format, code, said, p.asked.Load())
		}
	}
}

func TestAHostileOrDamagedBundleLeavesNothing(t *testing.T) {
	plain := file{"plain", "first", 0o644}
	whole := zipOf(t, plain)
	spoilt := append([]byte{}, whole...)
	spoilt[40]++ // in the compressed content
	cases := []struct {
		name   string
		code   int
		bundle []byte
	}{
		{"a name that leads out", 13, zipOf(t, plain, file{"../out", "x", 0o644})},
		{"a name that leads out on the way", 13, zipOf(t, plain, file{"a/../../out", "x", 0o644})},
		{"an absolute name", 13, zipOf(t, plain, file{"/etc/x", "x", 0o644})},
		{"our own names", 13, zipOf(t, plain, file{".moorage-restored", "x", 0o644})},
		{"a link out", 13, zipOf(t, plain, file{"l", "../../etc", os.ModeSymlink | 0o777})},
		{"an absolute link", 13, zipOf(t, plain, file{"l", "/etc", os.ModeSymlink | 0o777})},
		{"an entry behind a link", 13, zipOf(t, file{"l", "d", os.ModeSymlink | 0o777}, file{"l/x", "x", 0o644})},
		{"a set-user-ID file", 13, zipOf(t, plain, file{"s", "x", os.ModeSetuid | 0o755})},
		{"a set-group-ID file", 13, zipOf(t, plain, file{"s", "x", os.ModeSetgid | 0o755})},
		{"a device", 13, zipOf(t, plain, file{"d", "", os.ModeDevice | os.ModeCharDevice | 0o644})},
		{"a fifo", 13, zipOf(t, plain, file{"p", "", os.ModeNamedPipe | 0o644})},
		{"a name that leads out, in tar", 13, tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "../out", Size: 1})},
		{"a device in tar", 13, tarOf(t, tar.Header{Typeflag: tar.TypeBlock, Name: "d"})},
		{"a hard link out", 13, tarOf(t, tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "/etc/passwd"})},
		{"too many entries", 14, zipOf(t, plain, file{"b", "", 0o644}, file{"c", "", 0o644}, file{"d", "", 0o644})},
		{"too many entries in tar", 14, tarOf(t, tar.Header{Name: "a"}, tar.Header{Name: "b"}, tar.Header{Name: "c"}, tar.Header{Name: "d"})},
		{"contents that are too large", 14, zipOf(t, file{"zeros", strings.Repeat("0", 100_000), 0o644})},
		{"a bundle that is too large", 14, tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 90_000})},
		{"neither zip nor tar", 15, []byte("<html>sign in</html>")},
		{"nothing at all", 15, nil},
		{"half a zip", 15, whole[:len(whole)-10]},
		{"half a tar", 15, tarOf(t, tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 5000})[:3000]},
		{"a zip with a flipped bit", 15, spoilt},
	}
	for _, c := range cases {
		p := serving(t, c.bundle)
		code, said := p.run("--max-entries", "3", "--max-bytes", "80000")
		if code != c.code {
			t.Errorf("%s: %d instead of %d, %s", c.name, code, c.code, said)
		}
		entries, err := os.ReadDir(p.dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("%s left %v, %v", c.name, entries, err)
		}
		if outside, err := os.ReadDir(filepath.Dir(p.dir)); err != nil || len(outside) != 2 {
			t.Errorf("%s wrote outside: %v, %v", c.name, outside, err)
		}
	}
}

func TestAWrongDigestIsRefusedBeforeAnythingIsUnpacked(t *testing.T) {
	p := serving(t, zipOf(t, file{"a", "x", 0o644}))
	p.env["AGENTCTL_RESTORE_SHA256"] = digest([]byte("another"))
	if code, said := p.run(); code != 12 || p.visible() != "" || p.asked.Load() != 1 {
		t.Errorf("%d %s, asked %d times, left %q", code, said, p.asked.Load(), p.visible())
	}
}

func TestOtherContentIsKeptUnlessReplaceIsGiven(t *testing.T) {
	p := serving(t, zipOf(t, file{"dir/new", "new", 0o644}, file{"both", "new", 0o644}))
	if err := os.MkdirAll(filepath.Join(p.dir, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir/old", "both"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, said := p.run(); code != 16 || p.content("both") != "old" || p.asked.Load() != 0 {
		t.Fatalf("%d %s, asked %d times", code, said, p.asked.Load())
	}
	if code, said := p.run("--replace"); code != 0 || p.content("both") != "new" || p.content("dir/old") != "old" || p.content("dir/new") != "new" {
		t.Fatalf("%d %s", code, said)
	}
}

func TestANewBundleTakesThePlaceOfAnOldOneOnlyWithReplace(t *testing.T) {
	bundles := [][]byte{zipOf(t, file{"a", "1", 0o644}), zipOf(t, file{"a", "2", 0o644})}
	served := bundles[0]
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(served) })
	p.env["AGENTCTL_RESTORE_SHA256"] = digest(bundles[0])
	if code, said := p.run(); code != 0 {
		t.Fatal(code, said)
	}
	served, p.env["AGENTCTL_RESTORE_SHA256"] = bundles[1], digest(bundles[1])
	if code, said := p.run(); code != 16 || p.content("a") != "1" {
		t.Errorf("%d %s", code, said)
	}
	if code, said := p.run("--replace"); code != 0 || p.content("a") != "2" {
		t.Errorf("%d %s", code, said)
	}
}

func TestReplaceWritesThroughNoLinkAndChangesNoKind(t *testing.T) {
	p := serving(t, zipOf(t, file{"a", "new", 0o644}, file{"d/x", "new", 0o644}))
	elsewhere := t.TempDir()
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(p.dir, "d")); err != nil {
		t.Fatal(err)
	}
	if code, said := p.run("--replace"); code != 16 || p.visible() != "d" {
		t.Errorf("%d %s, left %q", code, said, p.visible())
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 0 {
		t.Errorf("written through a link: %v, %v", entries, err)
	}
}

// The states that a kill leaves behind: unpacking, and renaming.
func TestAKilledRestoreIsFinishedByTheNext(t *testing.T) {
	bundle := zipOf(t, file{"a", "whole", 0o644}, file{"b", "whole", 0o644})
	unpacking := serving(t, bundle)
	write := func(p *place, name, text string) {
		t.Helper()
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(unpacking, ".moorage-restore/bundle", "PK")
	write(unpacking, ".moorage-restore/tree/a", "ha")
	if code, said := unpacking.run(); code != 0 || unpacking.content("a") != "whole" {
		t.Errorf("%d %s", code, said)
	}
	renaming := serving(t, bundle)
	write(renaming, "a", "whole")
	write(renaming, ".moorage-restore/tree/b", "whole")
	write(renaming, ".moorage-restore/ready", "sha256:"+digest(bundle))
	if code, said := renaming.run(); code != 0 || renaming.visible() != "a b" || renaming.asked.Load() != 0 {
		t.Errorf("%d %s, asked %d times", code, said, renaming.asked.Load())
	}
}

func TestWrongUseIsToldWithoutTheURL(t *testing.T) {
	urlFile := filepath.Join(t.TempDir(), "url")
	cases := []struct {
		name, url, sum string
		args           []string
	}{
		{"no URL", "", digest(nil), nil},
		{"no digest", "https://h/?" + signature, "", nil},
		{"a short digest", "https://h/?" + signature, "abc", nil},
		{"another scheme", "file:///etc/passwd?" + signature, digest(nil), nil},
		{"no host", "https:///x?" + signature, digest(nil), nil},
		{"a password", "https://u:s3cr3t@h/", digest(nil), nil},
		{"not a URL", "https://h/%zz?" + signature, digest(nil), nil},
		{"a URL as argument", "https://h/", digest(nil), []string{"https://h/?" + signature}},
		{"a URL as value of a flag", "https://h/", digest(nil), []string{"--url=https://h/?" + signature}},
		{"an unknown flag", "https://h/", digest(nil), []string{"--force"}},
		{"no bytes", "https://h/", digest(nil), []string{"--max-bytes", "0"}},
		{"no entries", "https://h/", digest(nil), []string{"--max-entries", "0"}},
		{"two directories", "https://h/", digest(nil), []string{"one"}},
		{"a file that is not there", "", digest(nil), []string{"--url-file", urlFile}},
	}
	for _, c := range cases {
		p := newPlace(t, nil)
		p.env["AGENTCTL_RESTORE_URL"], p.env["AGENTCTL_RESTORE_SHA256"] = c.url, c.sum
		if code, said := p.run(c.args...); code != 2 {
			t.Errorf("%s: %d %s", c.name, code, said)
		}
		if _, err := os.Lstat(p.dir); !os.IsNotExist(err) {
			t.Errorf("%s made the directory", c.name)
		}
	}
}

func TestURLAndDigestAreReadFromTheFilesOfASecret(t *testing.T) {
	bundle := zipOf(t, file{"a", "x", 0o644})
	p := serving(t, bundle)
	secret := t.TempDir()
	for name, text := range map[string]string{"url": p.env["AGENTCTL_RESTORE_URL"], "sha256": "sha256:" + digest(bundle)} {
		if err := os.WriteFile(filepath.Join(secret, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	delete(p.env, "AGENTCTL_RESTORE_URL")
	delete(p.env, "AGENTCTL_RESTORE_SHA256")
	code, said := p.run("--url-file", filepath.Join(secret, "url"), "--sha256-file", filepath.Join(secret, "sha256"))
	if code != 0 || p.visible() != "a" {
		t.Errorf("%d %s", code, said)
	}
}

func TestEveryReasonHasAnExitCodeOfItsOwn(t *testing.T) {
	seen := map[int]string{}
	for word, code := range exitCodes {
		if other, twice := seen[code]; twice {
			t.Errorf("%s and %s share %d", word, other, code)
		}
		seen[code] = word
	}
}
