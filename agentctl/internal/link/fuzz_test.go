package link

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

// wire is a connection whose client has sent everything and reads nothing.
type wire struct {
	io.Reader
	mu   sync.Mutex
	sent bytes.Buffer
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent.Write(p)
}

// ofItsKind fails for an end of a connection that is neither its end nor a breach with a verdict.
func ofItsKind(t *testing.T, err error) {
	t.Helper()
	var breach *FrameError
	var refusal *Refusal
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &breach) && !errors.As(err, &refusal) {
		t.Fatalf("an error of no kind: %v", err)
	}
}

func FuzzHello(f *testing.F) {
	hello, _ := json.Marshal(HelloBody{1, 1, strings.Repeat("ab", 32), 3})
	proof := Frame{Proof, 0, make([]byte, 32)}
	f.Add(AppendFrame(AppendFrame(nil, Frame{Hello, 0, hello}, nil), proof, nil))
	f.Add(AppendFrame(AppendFrame(nil, Frame{Hello, 0, []byte(`{"min":9,"max":9,"random":"` + strings.Repeat("a", 64) + `"}`)}, nil), proof, nil))
	f.Add(AppendFrame(nil, proof, nil))
	f.Add(AppendFrame(nil, Frame{Hello, 0, bytes.Repeat([]byte("["), MaxHelloPayload)}, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := &wire{Reader: bytes.NewReader(data)}
		raised := false
		conn, err := Accept(w, testNonce, "epoch", ReadyBody{PodUID: "the uid"}, func(n int64) (int64, error) {
			raised = true
			return n, nil
		})
		ofItsKind(t, err)
		if conn != nil || err == nil || raised {
			t.Fatal("it was let in without the nonce")
		}
		said := w.sent.Bytes()
		if bytes.Contains(said, []byte("the uid")) || bytes.Contains(said, []byte(testNonce)) {
			t.Fatal("who proved nothing was told something")
		}
	})
}

// FuzzServe is a proved client: its frames are not sealed here, so that every byte of the input counts.
func FuzzServe(f *testing.F) {
	row := func(frames ...Frame) (out []byte) {
		for _, frame := range frames {
			out = AppendFrame(out, frame, nil)
		}
		return out
	}
	request := []byte(`{"op":"status"}`)
	f.Add(row(Frame{Open, 1, request}, Frame{Data, 1, []byte("\x01abc")}, Frame{End, 1, nil}))
	f.Add(row(Frame{Open, 1, request}, Frame{End, 1, nil}, Frame{Data, 1, []byte("\x01abc")}))
	f.Add(row(Frame{Open, 3, request}, Frame{Open, 2, request}))
	f.Add(row(Frame{Open, 1, request}, Frame{Window, 1, []byte{255, 255, 255, 255}}, Frame{Reset, 1, nil}))
	f.Add(row(Frame{Ping, 0, make([]byte, 8)}, Frame{Pong, 0, make([]byte, 8)}, Frame{Goodbye, 0, nil}))
	f.Add(row(Frame{Data, 7, []byte{0}}, Frame{Result, 7, nil}))
	f.Fuzz(func(t *testing.T, data []byte) {
		conn := newConn(&wire{Reader: bytes.NewReader(data)}, Keys{ServerSeal: []byte("key")}, 0, 1)
		conn.in = nil
		err := conn.Serve(func(s *Stream) {
			for {
				channel, data, err := s.Recv()
				if err != nil {
					if errors.Is(err, io.EOF) {
						s.Answer(map[string]bool{"ok": true}, nil)
					}
					return
				}
				if s.Send(channel, data) != nil {
					return
				}
			}
		})
		ofItsKind(t, err)
		conn.mu.Lock()
		defer conn.mu.Unlock()
		for _, s := range conn.streams {
			s.mu.Lock()
			if s.held > BulkWindow || !s.gone {
				t.Errorf("stream %d holds %d bytes, gone: %v", s.id, s.held, s.gone)
			}
			s.mu.Unlock()
		}
	})
}
