package restore

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"moorage.dev/agentctl/internal/fetch"
)

const signature = "X-Signature=s3cr3t"

type file struct {
	name, content string
	mode          os.FileMode
}

func zipOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		header.SetMode(f.mode)
		part, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(f.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// place is a target directory and what surrounds one run.
type place struct {
	t           *testing.T
	dir, notice string
	env         map[string]string
	asked       atomic.Int32
	client      *fetch.Client
}

func newPlace(t *testing.T, handler http.HandlerFunc) *place {
	t.Helper()
	outer := t.TempDir()
	p := &place{t: t, dir: filepath.Join(outer, "target"), notice: filepath.Join(outer, "notice")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	if err := os.WriteFile(p.notice, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = map[string]string{
		"AGENTCTL_RESTORE_URL":     server.URL + "/bundle?" + signature,
		"AGENTCTL_TERMINATION_LOG": p.notice,
	}
	p.client = fetch.New(nil)
	p.client.Pause = time.Millisecond
	t.Cleanup(p.client.Transport.CloseIdleConnections)
	return p
}

// serving gives a place whose store holds one bundle, known by its digest.
func serving(t *testing.T, bundle []byte) *place {
	t.Helper()
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bundle) })
	p.env["AGENTCTL_RESTORE_SHA256"] = digest(bundle)
	return p
}

// run returns the exit code and all that was said.
func (p *place) run(args ...string) (int, string) {
	p.t.Helper()
	var said bytes.Buffer
	code := Program{
		Args: append(args, p.dir), Env: func(name string) string { return p.env[name] },
		Stdout: &said, Stderr: &said, Client: func(order) *fetch.Client { return p.client },
	}.Run(context.Background())
	notice, err := os.ReadFile(p.notice)
	if err != nil {
		p.t.Fatal(err)
	}
	text := said.String() + string(notice)
	if strings.Contains(text, "s3cr3t") {
		p.t.Errorf("the signature was told: %s", text)
	}
	if code != 0 && (strings.Count(string(notice), "\n") != 1 || !strings.Contains(said.String(), string(notice))) {
		p.t.Errorf("the termination message is not the one line of the reason: %q beside %q", notice, said.String())
	}
	return code, text
}

// visible lists what stands under its own name in the target.
func (p *place) visible() string {
	p.t.Helper()
	names := []string{}
	entries, err := os.ReadDir(p.dir)
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".moorage-") {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

func (p *place) content(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}
