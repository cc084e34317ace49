package link

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

const testNonce = "a nonce that is long enough for a test"

// client is the other side of a pipe: it speaks frames and checks nothing.
type client struct {
	t       *testing.T
	conn    net.Conn
	in, out *Seal
}

// dial runs the hello against Accept and returns the client with the served connection's end.
func dial(t *testing.T, handle func(*Stream)) (*client, <-chan error) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close() })
	ended := make(chan error, 1)
	go func() {
		conn, err := Accept(far, testNonce, "epoch", ReadyBody{PodUID: "u"}, func(f int64) (int64, error) { return f, nil })
		if err == nil {
			err = conn.Serve(handle)
		}
		far.Close()
		ended <- err
	}()
	c := &client{t: t, conn: near}
	banner := c.read()
	hello, _ := json.Marshal(HelloBody{1, 1, strings.Repeat("ab", 32), 3})
	keys := DeriveKeys(testNonce, "epoch", banner.Payload, hello)
	c.write(Frame{Hello, 0, hello})
	c.write(Frame{Proof, 0, keys.ClientProof})
	if proof := c.read(); proof.Type != Proof || !bytes.Equal(proof.Payload, keys.ServerProof) {
		t.Fatalf("the server did not prove itself: %+v", proof)
	}
	c.in, c.out = NewSeal(keys.ServerSeal), NewSeal(keys.ClientSeal)
	if ready := c.read(); ready.Type != Ready {
		t.Fatalf("not ready: %+v", ready)
	}
	return c, ended
}

func (c *client) write(f Frame) {
	c.t.Helper()
	if _, err := c.conn.Write(AppendFrame(nil, f, c.out)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) read() Frame {
	c.t.Helper()
	f, err := ReadFrame(c.conn, MaxPayload, c.in)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

func echo(s *Stream) {
	for {
		channel, data, err := s.Recv()
		if errors.Is(err, io.EOF) {
			s.Answer(map[string]bool{"ok": true}, nil)
			return
		}
		if err != nil || s.Send(channel, data) != nil {
			return
		}
	}
}

func TestDataComesBackAndTheStreamIsAnswered(t *testing.T) {
	c, _ := dial(t, echo)
	c.write(Frame{Open, 1, []byte("{}")})
	c.write(Frame{Data, 1, []byte("\x01hello")})
	if f := c.read(); f.Type != Data || string(f.Payload) != "\x01hello" {
		t.Fatalf("not the echo: %+v", f)
	}
	c.write(Frame{End, 1, nil})
	if f := c.read(); f.Type != Result {
		t.Fatalf("no result: %+v", f)
	}
}

func TestConsumedBytesAreGrantedBack(t *testing.T) {
	c, _ := dial(t, func(s *Stream) {
		for {
			if _, _, err := s.Recv(); err != nil {
				return
			}
		}
	})
	c.write(Frame{Open, 1, []byte("{}")})
	full := bytes.Repeat([]byte{1}, MaxPayload)
	const frames = 4 * InitialWindow / MaxPayload
	credits := make(chan int, frames)
	go func() {
		for {
			f, err := ReadFrame(c.conn, MaxPayload, c.in)
			if err != nil || f.Type != Window {
				close(credits)
				return
			}
			credits <- int(binary.BigEndian.Uint32(f.Payload))
		}
	}()
	credit := InitialWindow
	for range frames {
		for credit < MaxPayload {
			more, ok := <-credits
			if !ok {
				t.Fatal("no window came back")
			}
			credit += more
		}
		credit -= MaxPayload
		c.write(Frame{Data, 1, full})
	}
}

func TestAWidenedStreamTakesSoMuchAndNoMore(t *testing.T) {
	c, ended := dial(t, func(s *Stream) {
		if err := s.Widen(); err != nil {
			t.Error(err)
		}
		<-s.Context().Done()
	})
	c.write(Frame{Open, 1, []byte("{}")})
	if f := c.read(); f.Type != Window || binary.BigEndian.Uint32(f.Payload) != BulkWindow-InitialWindow {
		t.Fatalf("not widened: %+v", f)
	}
	full := bytes.Repeat([]byte{1}, MaxPayload)
	for range BulkWindow / MaxPayload {
		c.write(Frame{Data, 1, full})
	}
	go func() { _, _ = c.conn.Write(AppendFrame(nil, Frame{Data, 1, full}, c.out)) }()
	if f := c.read(); f.Type != Goodbye {
		t.Fatalf("no goodbye: %+v", f)
	}
	var breach *FrameError
	if err := <-ended; !errors.As(err, &breach) || breach.Verdict != "window" {
		t.Fatalf("the connection ended with %v", err)
	}
}

func TestDataIsTheSameFrameWithoutACopy(t *testing.T) {
	for _, data := range [][]byte{{}, []byte("hello"), bytes.Repeat([]byte{7}, MaxChunk)} {
		frame := Frame{Data, 9, append([]byte{ChannelStderr}, data...)}
		want := AppendFrame([]byte("before"), frame, NewSeal([]byte("key")))
		if got := appendData([]byte("before"), 9, ChannelStderr, data, NewSeal([]byte("key"))); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes are another frame", len(data))
		}
	}
}

func TestAClientThatBreaksARuleIsToldAndClosed(t *testing.T) {
	full := bytes.Repeat([]byte{1}, MaxPayload)
	over := make([]Frame, 0, InitialWindow/MaxPayload+2)
	over = append(over, Frame{Open, 1, []byte("{}")})
	for range InitialWindow/MaxPayload + 1 {
		over = append(over, Frame{Data, 1, full})
	}
	cases := map[string][]Frame{
		"data on a stream that was never opened": {{Data, 9, []byte("\x01x")}},
		"a stream number twice":                  {{Open, 1, []byte("{}")}, {Open, 1, []byte("{}")}},
		"data after the end":                     {{Open, 1, []byte("{}")}, {End, 1, nil}, {Data, 1, []byte("\x01x")}},
		"a result from a client":                 {{Result, 1, []byte("{}")}},
		"more than the window":                   over,
	}
	for name, frames := range cases {
		t.Run(name, func(t *testing.T) {
			c, ended := dial(t, func(s *Stream) { <-s.Context().Done() })
			go func() {
				for _, f := range frames {
					_, _ = c.conn.Write(AppendFrame(nil, f, c.out))
				}
			}()
			if f := c.read(); f.Type != Goodbye {
				t.Fatalf("no goodbye: %+v", f)
			}
			var breach *FrameError
			if err := <-ended; !errors.As(err, &breach) {
				t.Fatalf("the connection ended with %v", err)
			}
		})
	}
}

func TestOneStreamTooManyIsRefusedAndTheOthersGoOn(t *testing.T) {
	c, _ := dial(t, echo)
	for id := uint32(1); id <= MaxStreams+1; id++ {
		c.write(Frame{Open, id, []byte("{}")})
	}
	if f := c.read(); f.Type != Error || f.Stream != MaxStreams+1 || !strings.Contains(string(f.Payload), "busy") {
		t.Fatalf("not refused: %+v %s", f, f.Payload)
	}
	c.write(Frame{End, 1, nil})
	if f := c.read(); f.Type != Result || f.Stream != 1 {
		t.Fatalf("the first stream suffers: %+v", f)
	}
}

func TestAResetAndAnEndOfTheConnectionReachTheHandler(t *testing.T) {
	reached := make(chan error, 2)
	c, _ := dial(t, func(s *Stream) {
		_, _, err := s.Recv()
		<-s.Context().Done()
		reached <- err
	})
	c.write(Frame{Open, 1, []byte("{}")})
	c.write(Frame{Reset, 1, nil})
	if err := <-reached; !errors.Is(err, ErrClosed) {
		t.Fatalf("after a reset: %v", err)
	}
	c.write(Frame{Open, 2, []byte("{}")})
	c.conn.Close()
	if err := <-reached; !errors.Is(err, ErrClosed) {
		t.Fatalf("after the end: %v", err)
	}
}

func TestASenderWaitsForTheWindowAndNoLonger(t *testing.T) {
	sent := make(chan error, 1)
	c, _ := dial(t, func(s *Stream) { sent <- s.Send(ChannelBytes, make([]byte, 2*InitialWindow)) })
	c.write(Frame{Open, 1, []byte("{}")})
	got := 0
	for got < InitialWindow-1 {
		f := c.read()
		got += len(f.Payload)
	}
	select {
	case err := <-sent:
		t.Fatalf("it went on without a window: %v", err)
	default:
	}
	c.write(Frame{Reset, 1, nil})
	if err := <-sent; !errors.Is(err, ErrClosed) {
		t.Fatalf("a reset did not wake the sender: %v", err)
	}
}
