package process

import "time"

// A terminal is typed into when the agent has written something and then nothing for typeQuiet: whatever a program
// finds in its terminal while it still sets it up, it may throw away. One that writes nothing gets it after
// typeLimit.
const (
	typeQuiet = 500 * time.Millisecond
	typeLimit = 10 * time.Second
)

// give hands the agent its first input. It belongs to a start, which happens once an id: so does this.
func (a *Agent) give(p *Proc, spec Spec) {
	if !spec.TTY {
		_ = p.Write([]byte(spec.Input)) // who ends without reading it wanted none
		p.CloseInput()
		return
	}
	if a.atRest(p) {
		_ = p.Write([]byte(spec.Input))
	}
}

// atRest waits for the agent's output to come to rest; false when it ended before.
func (a *Agent) atRest(p *Proc) bool {
	began := time.Now()
	tick := time.NewTicker(typeQuiet / 10)
	defer tick.Stop()
	for {
		select {
		case <-p.Done():
			return false
		case now := <-tick.C:
			a.mu.Lock()
			last := a.lastOut
			a.mu.Unlock()
			if now.Sub(began) > typeLimit || (!last.IsZero() && now.Sub(last) > typeQuiet) {
				return true
			}
		}
	}
}
