package files

import (
	"context"
	"sync"
)

// turns are the directories in which something is filled or put in place now, or waited for.
var turns = struct {
	sync.Mutex
	of map[string]*turn
}{of: map[string]*turn{}}

type turn struct {
	taken chan struct{} // holds one token while somebody has the turn
	users int
}

// takeTurn waits until nobody else works in dir, a cleaned path; the returned function ends the turn. Two
// fillings at once would clear away each other's half, and the later one would call it done.
func takeTurn(ctx context.Context, dir string) (func(), error) {
	turns.Lock()
	t := turns.of[dir]
	if t == nil {
		t = &turn{taken: make(chan struct{}, 1)}
		turns.of[dir] = t
	}
	t.users++
	turns.Unlock()
	leave := func() {
		turns.Lock()
		defer turns.Unlock()
		if t.users--; t.users == 0 {
			delete(turns.of, dir)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
