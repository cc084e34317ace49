package boot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// A waiting process is found by its signal; one whose signal was lost looks again after two seconds.
	listenPatience = 4 * time.Second
	listenLook     = 2 * time.Millisecond
)

// Listen opens the server's sockets: one for port-forward on the loopback, one for the tunnel in our own
// memory volume, which no other container of the Pod (or, on the host's network, of the node) can take or
// crowd. One of them is enough; failed says what became of the others.
func Listen(paths Paths, config Config) (listeners []net.Listener, failed error) {
	forward, err := listen(cmp.Or(paths.Listen, config.Listen, DefaultListen))
	if err == nil {
		listeners = append(listeners, forward)
		err = NoteAddress(paths, forward.Addr().Network()+":"+forward.Addr().String())
	}
	tunnel, tunnelErr := listen("unix:" + filepath.Join(paths.Run, socketName))
	if tunnelErr == nil {
		listeners = append(listeners, tunnel)
	}
	return listeners, errors.Join(err, tunnelErr)
}

func listen(where string) (net.Listener, error) {
	network, address, ok := strings.Cut(where, ":")
	if !ok || network != "tcp" && network != "unix" {
		return nil, fmt.Errorf("listen: %q is neither tcp:HOST:PORT nor unix:PATH", where)
	}
	if network == "tcp" {
		if place, err := netip.ParseAddrPort(address); err != nil || !place.Addr().IsLoopback() {
			return nil, fmt.Errorf("listen: %q is no loopback address: only this Pod may reach the link", address)
		}
	} else {
		_ = os.Remove(address) // a leftover of an earlier process; there is one server in a container
	}
	if network == "unix" {
		// Private from its first moment. The mask is the whole process's, but nobody else makes a file yet.
		defer syscall.Umask(syscall.Umask(0o177))
	}
	return net.Listen(network, address)
}

// answers waits until the server of this container takes connections. The socket in our own volume is
// the last one it opens, and nobody else can answer there.
func answers(paths Paths, patience time.Duration) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(listenLook) {
		if conn, err := net.Dial("unix", filepath.Join(paths.Run, socketName)); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// Tunnel joins stdio with the server: the exec transport. It ends when either side does.
func Tunnel(paths Paths, in io.Reader, out io.Writer) error {
	conn, err := net.Dial("unix", filepath.Join(paths.Run, socketName))
	if err != nil {
		network, address, _ := strings.Cut(Address(paths), ":")
		if conn, err = net.Dial(network, address); err != nil {
			return err
		}
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
