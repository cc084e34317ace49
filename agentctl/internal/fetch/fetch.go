// Package fetch gets one file over HTTP from a presigned URL. internal/restore calls it. The URL is a
// credential: no error says more of it than the host. It does not look at the bytes, and reads no proxy
// from the environment.
package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

const (
	maxRedirects = 5
	maxWait      = 30 * time.Second
)

// Error is a download that failed for good. Code is `unreachable` (nobody answers, or only with troubles
// of its own), `denied` (the store's answer is no) or `limit`.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Message }

// trouble is what another attempt may not meet; after is how long the server asks to wait.
type trouble struct {
	why   string
	after time.Duration
}

func (t *trouble) Error() string { return t.why }

// Client holds how patient a download is; New gives the usual values.
type Client struct {
	Transport *http.Transport
	Attempts  int
	Pause     time.Duration // before the second attempt; doubled before each further one
	Idle      time.Duration // without a byte
}

// New makes a client. proxy may be nil: then connections are direct, whatever HTTP_PROXY says.
func New(proxy *url.URL) *Client {
	transport := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		DisableCompression:    true, // the digest is of the bytes as they are stored
	}
	if proxy != nil {
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &Client{Transport: transport, Attempts: 5, Pause: time.Second, Idle: time.Minute}
}

// File writes what from names into f, at most limit bytes. An attempt that failed leaves nothing in f.
// It returns *Error or an error of the disk.
func (c *Client) File(ctx context.Context, from *url.URL, f *os.File, limit int64) error {
	for attempt := 1; ; attempt++ {
		err := c.once(ctx, from, f, limit)
		var passing *trouble
		if !errors.As(err, &passing) {
			return err
		}
		if attempt >= c.Attempts || ctx.Err() != nil {
			return &Error{"unreachable", fmt.Sprintf("%s, in %d attempts", passing.why, attempt)}
		}
		wait := max(c.Pause<<(attempt-1), passing.after)
		select {
		case <-ctx.Done():
		case <-time.After(min(wait, maxWait)):
		}
	}
}

func (c *Client) once(ctx context.Context, from *url.URL, f *os.File, limit int64) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, err := c.follow(ctx, from)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.ContentLength > limit {
		return tooLong(limit)
	}
	watch := time.AfterFunc(c.Idle, func() { cancel(fmt.Errorf("no byte for %s", c.Idle)) })
	defer watch.Stop()
	body := &reading{from: answer.Body, onBytes: func() { watch.Reset(c.Idle) }}
	n, err := io.Copy(f, io.LimitReader(body, limit+1))
	switch {
	case body.err != nil:
		why := body.err
		if cause := context.Cause(ctx); cause != nil {
			why = cause
		}
		return &trouble{why: fmt.Sprintf("%s broke off after %d bytes: %v", answer.Request.URL.Hostname(), n, why)}
	case err != nil:
		return err
	case n > limit:
		return tooLong(limit)
	}
	return nil
}

func tooLong(limit int64) error {
	return &Error{"limit", fmt.Sprintf("the bundle has more than %d bytes", limit)}
}

// reading remembers errors of the source, which io.Copy mixes with those of the disk.
type reading struct {
	from    io.Reader
	err     error
	onBytes func()
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.onBytes()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// follow asks until there is an answer 200. It uses the transport alone, since the errors of http.Client
// hold whole URLs.
func (c *Client) follow(ctx context.Context, at *url.URL) (*http.Response, error) {
	for range maxRedirects + 1 {
		request := (&http.Request{
			Method: http.MethodGet, URL: at, Host: at.Host,
			Header: http.Header{"User-Agent": {"agentctl-restore"}},
		}).WithContext(ctx)
		answer, err := c.Transport.RoundTrip(request)
		if err != nil {
			return nil, connecting(at, err)
		}
		if answer.StatusCode == http.StatusOK {
			answer.Request = request
			return answer, nil
		}
		next, err := judge(at, answer)
		answer.Body.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return nil, &Error{"denied", fmt.Sprintf("more than %d redirects", maxRedirects)}
}

func connecting(at *url.URL, err error) error {
	var certificate *tls.CertificateVerificationError
	var roots x509.SystemRootsError
	if errors.As(err, &certificate) || errors.As(err, &roots) {
		return &Error{"unreachable", fmt.Sprintf(
			"%s is not trusted: %v (SSL_CERT_FILE names the certificates to trust)", at.Hostname(), err)}
	}
	return &trouble{why: fmt.Sprintf("%s does not answer: %v", at.Hostname(), err)}
}
