package qemu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// quote is how many of the last console lines an error of Run shows.
const quote = 20

// Run starts m, collects its console, and ends it: as soon as until holds for a line, or, when
// until is nil, when the guest powers off. It returns the lines up to then.
//
// Everything else is an error that quotes the last lines: the limit or ctx (ErrLimit or ctx's
// cause, wrapped), QEMU's end before until held, a reset under NoReboot, lost console bytes.
// m.OnLine is called as well.
func Run(ctx context.Context, m Machine, until func(line string) bool) ([]string, error) {
	var (
		mu    sync.Mutex
		lines []string
		found = make(chan struct{})
		over  bool // nothing more is collected
	)
	onLine := m.OnLine
	m.OnLine = func(at time.Time, line string) {
		if onLine != nil {
			onLine(at, line)
		}
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		lines = append(lines, line)
		if until != nil && until(line) {
			over = true
			close(found)
		}
	}
	p, err := Start(ctx, m)
	if err != nil {
		return lines, err // the guest may have run before the start failed; it does no more
	}
	select {
	case <-found:
		p.Quit(ctx)
	case <-p.Done():
	}
	exit := p.Wait()
	if err := verdict(exit, until != nil, over); err != nil {
		return lines, fmt.Errorf("qemu %s: %w; last lines:\n%s", m.name(), err,
			strings.Join(lines[max(0, len(lines)-quote):], "\n"))
	}
	return lines, nil
}

// verdict judges a finished Run: wanted says that a line was waited for, found that it came.
func verdict(exit Exit, wanted, found bool) error {
	switch {
	case exit.Lost > 0:
		return fmt.Errorf("%d console bytes lost", exit.Lost)
	case found:
		return nil
	case exit.Cause != nil:
		return fmt.Errorf("%w (%v)", exit.Cause, exit)
	case wanted:
		return fmt.Errorf("ended before the line that was waited for (%v)", exit)
	case exit.Code != 0 || exit.Shutdown != "guest-shutdown":
		return errors.New("did not power off: " + exit.String())
	}
	return nil
}
