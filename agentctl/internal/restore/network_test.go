package restore

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestTroublesOfTheStoreAreTriedAgainABoundedNumberOfTimes(t *testing.T) {
	bundle := zipOf(t, file{"a", strings.Repeat("content ", 10_000), 0o644})
	cut := func(w http.ResponseWriter) { // a reset in the middle of the body
		w.Header().Set("Content-Length", strconv.Itoa(len(bundle)))
		_, _ = w.Write(bundle[:len(bundle)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	reset := func(w http.ResponseWriter) { // no answer at all
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}
	troubles := map[string]func(http.ResponseWriter){
		"cut": cut, "reset": reset,
		"500": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"503": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "0"); w.WriteHeader(503) },
		"429": func(w http.ResponseWriter) { w.WriteHeader(429) },
	}
	for name, trouble := range troubles {
		var p *place
		good := int32(3)
		p = newPlace(t, func(w http.ResponseWriter, _ *http.Request) {
			if p.asked.Load() < good {
				trouble(w)
				return
			}
			_, _ = w.Write(bundle)
		})
		p.env["AGENTCTL_RESTORE_SHA256"] = digest(bundle)
		p.client.Transport.DisableKeepAlives = true // else the transport repeats a request by itself
		if code, said := p.run(); code != 0 || p.asked.Load() != 3 {
			t.Errorf("%s: %d %s, asked %d times", name, code, said, p.asked.Load())
		}
		p.asked.Store(0)
		p.dir, good = p.dir+"-never", 1000
		if code, said := p.run(); code != 10 || p.asked.Load() != 5 || p.visible() != "" {
			t.Errorf("%s for ever: %d %s, asked %d times", name, code, said, p.asked.Load())
		}
	}
}

func TestARefusalIsNotTriedAgainAndNamesTheStoresWord(t *testing.T) {
	const body = `<Error><Code>AccessDenied</Code><Message>Request has expired</Message><StringToSign>s3cr3t</StringToSign></Error>`
	for _, status := range []int{400, 401, 403, 404, 410, 204, 206} {
		p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status >= 400 {
				_, _ = w.Write([]byte(body))
			}
		})
		p.env["AGENTCTL_RESTORE_SHA256"] = digest(nil)
		code, said := p.run()
		if code != 11 || p.asked.Load() != 1 || (status >= 400 && !strings.Contains(said, "AccessDenied")) {
			t.Errorf("%d: %d %s, asked %d times", status, code, said, p.asked.Load())
		}
	}
}

func TestRedirectsAreFollowedToHTTPOnlyAndNotForEver(t *testing.T) {
	bundle := zipOf(t, file{"a", "x", 0o644})
	cases := []struct {
		name, to string
		code     int
	}{
		{"to the bundle", "/good?" + signature, 0},
		{"round and round", "/bundle?" + signature, 11},
		{"to a file", "file:///etc/passwd?" + signature, 11},
		{"to a password", "http://u:s3cr3t@localhost/", 11},
		{"to nowhere", "", 11},
		{"to no URL", "http://%zz/?" + signature, 11},
	}
	for _, c := range cases {
		p := newPlace(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/good" {
				_, _ = w.Write(bundle)
				return
			}
			if c.to != "" {
				w.Header().Set("Location", c.to)
			}
			w.WriteHeader(http.StatusFound)
		})
		p.env["AGENTCTL_RESTORE_SHA256"] = digest(bundle)
		if code, said := p.run(); code != c.code || p.asked.Load() > 6 {
			t.Errorf("%s: %d %s, asked %d times", c.name, code, said, p.asked.Load())
		}
	}
}

func TestARedirectNeverLeavesTLS(t *testing.T) {
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	plain := p.env["AGENTCTL_RESTORE_URL"]
	secure := httptest.NewUnstartedServer(http.RedirectHandler(plain, http.StatusFound))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	p.env["AGENTCTL_RESTORE_URL"], p.env["AGENTCTL_RESTORE_SHA256"] = secure.URL+"/?"+signature, digest(nil)
	code, said := p.run()
	if code != 10 || !strings.Contains(said, "SSL_CERT_FILE") {
		t.Errorf("an unknown certificate: %d %s", code, said)
	}
	p.client.Transport.TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
	if code, said := p.run(); code != 11 || p.asked.Load() != 0 {
		t.Errorf("%d %s, the plain server was asked %d times", code, said, p.asked.Load())
	}
}

func TestAServerThatFallsSilentIsGivenUp(t *testing.T) {
	p := newPlace(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("PK"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	p.env["AGENTCTL_RESTORE_SHA256"] = digest(nil)
	p.client.Attempts, p.client.Idle = 2, 20*time.Millisecond
	if code, said := p.run(); code != 10 || p.asked.Load() != 2 || !strings.Contains(said, "no byte for") {
		t.Errorf("%d %s, asked %d times", code, said, p.asked.Load())
	}
}

func TestAProxyIsUsedOnlyWhereItIsNamedForThisProgram(t *testing.T) {
	bundle := zipOf(t, file{"a", "x", 0o644})
	p := newPlace(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(bundle) })
	proxy := p.env["AGENTCTL_RESTORE_URL"]
	p.env["AGENTCTL_RESTORE_URL"], p.env["AGENTCTL_RESTORE_SHA256"] = "http://store.invalid/?"+signature, digest(bundle)
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	p.client.Attempts = 1
	if code, said := p.run(); code != 10 || p.asked.Load() != 0 {
		t.Errorf("%d %s, the proxy was asked %d times", code, said, p.asked.Load())
	}
	p.env["AGENTCTL_RESTORE_PROXY"] = proxy
	var said bytes.Buffer
	code := Program{
		Args: []string{p.dir}, Env: func(name string) string { return p.env[name] }, Stdout: &said, Stderr: &said,
	}.Run(context.Background())
	if code != 0 || p.asked.Load() != 1 {
		t.Errorf("%d %s, the proxy was asked %d times", code, said.String(), p.asked.Load())
	}
}

func TestATerminatedRunSaysSo(t *testing.T) {
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	p.env["AGENTCTL_RESTORE_SHA256"] = digest(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var said bytes.Buffer
	code := Program{
		Args: []string{p.dir}, Env: func(name string) string { return p.env[name] }, Stdout: &said, Stderr: &said,
	}.Run(ctx)
	if code != 143 || p.visible() != "" {
		t.Errorf("%d %s", code, said.String())
	}
}
