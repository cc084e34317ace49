package restore

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"moorage.dev/agentctl/internal/fetch"
	"moorage.dev/agentctl/internal/files"
)

const usageText = `usage: agentctl restore [flags] DIRECTORY

Fetches a bundle (zip or tar) from a presigned URL, compares its SHA-256 and unpacks it into DIRECTORY.

  --url-file FILE      the URL; else AGENTCTL_RESTORE_URL. It is a credential, never an argument
  --sha256-file FILE   the digest; else AGENTCTL_RESTORE_SHA256
  --max-bytes N        of the bundle, and of its contents (default 1 GiB)
  --max-entries N      default 100000
  --replace            write over files that are there; else DIRECTORY must be empty
`

const (
	defaultBytes   = 1 << 30
	defaultEntries = 100_000
	mostBytes      = 1 << 40
	maxURL         = 16 << 10
)

var errHelp = errors.New("help")

type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func misuse(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// order is what one run shall do.
type order struct {
	dir, sha256 string
	url, proxy  *url.URL
	maxBytes    int64
	maxEntries  int
	replace     bool
}

func (p Program) order() (order, error) {
	o := order{}
	flags := flag.NewFlagSet("restore", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	urlFile := flags.String("url-file", "", "")
	sumFile := flags.String("sha256-file", "", "")
	flags.Int64Var(&o.maxBytes, "max-bytes", defaultBytes, "")
	flags.IntVar(&o.maxEntries, "max-entries", defaultEntries, "")
	flags.BoolVar(&o.replace, "replace", false, "")
	for _, arg := range p.Args {
		if strings.Contains(arg, "://") { // not repeated: it may be the credential
			return o, misuse("a URL in an argument, where every process can read it: use --url-file or AGENTCTL_RESTORE_URL")
		}
	}
	if err := flags.Parse(p.Args); errors.Is(err, flag.ErrHelp) {
		return o, errHelp
	} else if err != nil {
		return o, misuse("%v", err)
	}
	if flags.NArg() != 1 || flags.Arg(0) == "" {
		return o, misuse("one DIRECTORY is needed, after the flags")
	}
	o.dir = flags.Arg(0)
	if o.maxBytes < 1 || o.maxBytes > mostBytes {
		return o, misuse("--max-bytes is 1 to %d", int64(mostBytes))
	}
	if o.maxEntries < 1 || o.maxEntries > files.MaxEntries {
		return o, misuse("--max-entries is 1 to %d", files.MaxEntries)
	}
	err := p.source(&o, *urlFile, *sumFile)
	return o, err
}

func (p Program) source(o *order, urlFile, sumFile string) error {
	text, err := p.value("the URL", urlFile, "--url-file", "AGENTCTL_RESTORE_URL")
	if err != nil {
		return err
	}
	if o.url, err = parsed(text); err != nil {
		return err
	}
	if o.sha256, err = p.value("the digest", sumFile, "--sha256-file", "AGENTCTL_RESTORE_SHA256"); err != nil {
		return err
	}
	o.sha256 = strings.ToLower(strings.TrimPrefix(o.sha256, "sha256:"))
	if len(o.sha256) != 64 || strings.Trim(o.sha256, "0123456789abcdef") != "" {
		return misuse("the digest is not the 64 hexadecimal digits of a SHA-256")
	}
	if proxy := p.Env("AGENTCTL_RESTORE_PROXY"); proxy != "" {
		o.proxy, err = url.Parse(proxy)
		if err != nil || o.proxy.Host == "" || (o.proxy.Scheme != "http" && o.proxy.Scheme != "https") {
			return misuse("AGENTCTL_RESTORE_PROXY is no http or https URL")
		}
	}
	return nil
}

// value reads a file, else the environment. What a file holds is never repeated in a message.
func (p Program) value(what, path, flagName, variable string) (string, error) {
	if path == "" {
		if text := strings.TrimSpace(p.Env(variable)); text != "" {
			return text, nil
		}
		return "", misuse("%s is missing: set %s or %s", what, flagName, variable)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", misuse("%s: %v", flagName, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxURL+1))
	if err != nil {
		return "", misuse("%s: %v", flagName, err)
	}
	if len(text) > maxURL {
		return "", misuse("%s: %s has more than %d bytes", flagName, path, maxURL)
	}
	return strings.TrimSpace(string(text)), nil
}

func parsed(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, misuse("the URL cannot be parsed")
	}
	if err := fetch.Acceptable(u); err != nil {
		return nil, &usageError{err.Error()}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
