package boot

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// Listen opens the server's socket and notes its address.
func Listen(paths Paths, config Config) (net.Listener, error) {
	want := env("AGENTCTL_LISTEN", config.Listen)
	if want == "" {
		want = DefaultListen
	}
	network, address, ok := strings.Cut(want, ":")
	if !ok || network != "tcp" && network != "unix" {
		return nil, fmt.Errorf("listen: %q is neither tcp:HOST:PORT nor unix:PATH", want)
	}
	if network == "unix" {
		_ = os.Remove(address) // a leftover of an earlier process; there is one server in a container
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return listener, NoteAddress(paths, network+":"+listener.Addr().String())
}

// Tunnel joins stdio with the server: the exec transport. It ends when either side does.
func Tunnel(paths Paths, in io.Reader, out io.Writer) error {
	network, address, _ := strings.Cut(Address(paths), ":")
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan error, 2)
	copyAll := func(to io.Writer, from io.Reader) {
		_, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 128<<10))
		ended <- err
	}
	go copyAll(conn, in)
	go copyAll(out, conn)
	return <-ended
}
