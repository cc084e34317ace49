package fetch

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// judge is what an answer other than 200 means: another place to ask, *trouble or *Error.
func judge(at *url.URL, answer *http.Response) (*url.URL, error) {
	status := answer.StatusCode
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		return nil, &trouble{
			why: fmt.Sprintf("%s answers %d", at.Hostname(), status), after: retryAfter(answer),
		}
	case status == 301 || status == 302 || status == 303 || status == 307 || status == 308:
		return redirected(at, answer)
	}
	return nil, &Error{"denied", fmt.Sprintf(
		"%s answers %d%s: the URL may have expired, or name nothing", at.Hostname(), status, storeCode(answer))}
}

func retryAfter(answer *http.Response) time.Duration {
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// redirected never goes from https to http: the new URL is as much a credential as the old one.
func redirected(at *url.URL, answer *http.Response) (*url.URL, error) {
	to, err := at.Parse(answer.Header.Get("Location"))
	if err != nil || answer.Header.Get("Location") == "" {
		return nil, &Error{"denied", at.Hostname() + " redirects to no usable URL"}
	}
	if err := Acceptable(to); err != nil {
		return nil, &Error{"denied", fmt.Sprintf("%s redirects: %v", at.Hostname(), err)}
	}
	if at.Scheme == "https" && to.Scheme != "https" {
		return nil, &Error{"denied", at.Hostname() + " redirects from https to http"}
	}
	return to, nil
}

// Acceptable tells why a URL is not one to fetch from.
func Acceptable(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the scheme is neither http nor https")
	case u.Hostname() == "":
		return fmt.Errorf("the URL has no host")
	case u.User != nil:
		return fmt.Errorf("the URL holds a user or password")
	}
	return nil
}

// storeCode is the one word of an object store's error that is sure to hold no part of a signature.
func storeCode(answer *http.Response) string {
	head, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err != nil {
		return ""
	}
	_, rest, _ := bytes.Cut(head, []byte("<Code>"))
	word, _, found := bytes.Cut(rest, []byte("</Code>"))
	if !found || len(word) > 40 {
		return ""
	}
	for _, c := range word {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	return " " + string(word)
}
