// Package progress tells a person what a run is waiting for and how long that may take, and how its
// nodes are meanwhile. It owns the form of what stands on standard error while runs go on: a few
// lines that are rewritten on a terminal, plain lines elsewhere. It must never decide anything, and
// never ask a node: whether somebody watches changes nothing in a run.
//
// On a terminal the first line is the wait with its deadline; then comes one for each fault that
// lasts, and one for each node. All that they say is from the journal's records (See).
//
// States of a Reporter: idle, or waiting for one thing: Wait has returned, its function was not yet
// called.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/rig/journal"
)

const (
	// redrawEvery is how often the line on a terminal changes.
	redrawEvery = 100 * time.Millisecond
	// Plain output is silent about what is over at once: it says what it waits for after firstAfter,
	// and from then on every repeatEvery.
	firstAfter  = time.Second
	repeatEvery = 10 * time.Second
	// clearLine goes to the line's start and clears it (ECMA-48, EL); lineUp goes up a line (CUU).
	clearLine = "\r\x1b[K"
	lineUp    = "\x1b[1A"
)

// Reporter reports on one run. Its methods may be called from any goroutine.
type Reporter struct {
	name     string // of the run, before each line
	terminal bool
	width    int // columns of the terminal

	mu      sync.Mutex
	w       io.Writer
	drawn   int // lines on the terminal that are ours
	waiting int // number of the present wait; 0 when idle
	waits   int
	told    bool // plain output has mentioned the present wait

	// boardMu is another lock than mu, which is held while a terminal takes what is written: one
	// that does not must not hold up the journal.
	boardMu sync.Mutex
	board   board
}

// New makes a reporter. On a terminal, whose width is given in columns, it rewrites its lines;
// width 0 means that w is no terminal.
func New(w io.Writer, name string, width int) *Reporter {
	return &Reporter{name: name, terminal: width > 0, width: width, w: w}
}

// See takes a record of the run's journal, in order. It waits for no terminal.
func (r *Reporter) See(record journal.Record) {
	r.boardMu.Lock()
	defer r.boardMu.Unlock()
	r.board.see(record, time.Now())
}

// Say writes a line of its own.
func (r *Reporter) Say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear()
	fmt.Fprintf(r.w, "%s: %s\n", r.name, fmt.Sprintf(format, args...))
}

// Wait says what is waited for and how long it may take, until the returned function is called with
// what came of it: nil is success.
func (r *Reporter) Wait(what string, limit time.Duration) (through func(error)) {
	start := time.Now()
	r.mu.Lock()
	r.waits++
	mine := r.waits
	r.waiting, r.told = mine, false
	if r.terminal {
		r.draw(what, 0, limit)
	}
	r.mu.Unlock()

	done := make(chan struct{})
	go r.tick(mine, what, start, limit, done)
	return func(err error) {
		close(done)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waiting = 0
		r.clear()
		took := time.Since(start).Round(100 * time.Millisecond).Seconds()
		if err != nil {
			fmt.Fprintf(r.w, "%s: %v, after %.1f s\n", r.name, err, took)
			return
		}
		if r.told {
			fmt.Fprintf(r.w, "%s: %s: after %.1f s\n", r.name, what, took)
		}
	}
}

// tick draws until done.
func (r *Reporter) tick(
	mine int, what string, start time.Time, limit time.Duration, done chan struct{},
) {
	first, every := firstAfter, repeatEvery
	if r.terminal {
		first, every = redrawEvery, redrawEvery
	}
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		timer.Reset(every)
		r.mu.Lock()
		if r.waiting == mine {
			r.draw(what, time.Since(start), limit)
		}
		r.mu.Unlock()
	}
}

// draw shows the wait. The lock is held.
func (r *Reporter) draw(what string, elapsed, limit time.Duration) {
	text := fmt.Sprintf("%s: waiting for %s: %.1f of %.4g s",
		r.name, what, elapsed.Seconds(), limit.Seconds())
	if !r.terminal {
		fmt.Fprintln(r.w, text)
		r.told = true
		return
	}
	r.clear()
	lines := []string{cut(text, r.width-1)} // the last column would wrap on some terminals
	r.boardMu.Lock()
	known := r.board.lines(time.Now())
	r.boardMu.Unlock()
	for _, line := range known {
		lines = append(lines, short(line, r.width-1))
	}
	io.WriteString(r.w, strings.Join(lines, "\n"))
	r.drawn = len(lines)
}

// clear takes the rewritten lines away. The lock is held.
func (r *Reporter) clear() {
	if r.drawn > 0 {
		io.WriteString(r.w, strings.Repeat(clearLine+lineUp, r.drawn-1)+clearLine)
		r.drawn = 0
	}
}

// short ends a text before the given column. What a node printed may have anything in it.
func short(text string, columns int) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
	if runes := []rune(text); len(runes) > columns {
		return string(runes[:max(0, columns)])
	}
	return text
}

// cut shortens a text to so many columns, in its middle: both the beginning and the numbers at the
// end are worth having.
func cut(text string, columns int) string {
	const gap = ".."
	if utf8.RuneCountInString(text) <= columns || columns <= len(gap) {
		return text
	}
	runes := []rune(text)
	tail := min(columns/2, columns-len(gap))
	head := columns - len(gap) - tail
	return strings.Join([]string{string(runes[:head]), string(runes[len(runes)-tail:])}, gap)
}
