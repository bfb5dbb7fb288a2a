package node

import (
	"context"
	"errors"
	"os"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/kernel/node/tty"
)

// keyTime is how long a character takes at 115,200 baud, rounded up. The keyboard is read no faster
// than that, so that a flood of keys costs in QEMU, whose wire has no speed, what it costs on
// silicon.
const keyTime = 90 * time.Microsecond

// keysMax is how many keys are taken at a time.
const keysMax = 64

// operate reads the keyboard and runs the commands that are typed, until ctx is done. It is a
// goroutine of its own and waits for the console, for the loop and for the chip; nobody waits for
// it.
func (n *Node) operate(ctx context.Context) {
	keyboard := n.machine.Keyboard
	stop := context.AfterFunc(ctx, func() {
		_ = keyboard.SetReadDeadline(time.Unix(1, 0)) // a keyboard without deadlines is never done
	})
	defer stop()
	var editor tty.Editor
	for keys := make([]byte, keysMax); ; {
		got, err := keyboard.Read(keys)
		for _, key := range keys[:got] {
			n.key(ctx, &editor, key)
		}
		if got != 0 {
			n.typing(&editor)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			n.log.Note("keyboard: " + err.Error())
			return
		}
		if !clock.Sleep(ctx, n.machine.Waits, time.Duration(got)*keyTime) {
			return
		}
	}
}

// typing shows what is typed. That nothing is typed is shown once something was.
func (n *Node) typing(e *tty.Editor) {
	if text := e.Text(); text != "" || n.log.typed.Load() != nil {
		n.log.Typed(text)
	}
}

// key takes one key.
func (n *Node) key(ctx context.Context, e *tty.Editor, key byte) {
	line, tooLong := e.Text(), e.TooLong()
	switch e.Key(key) {
	case tty.Dropped:
		n.log.Entered(ctx, line+"^C")
		e.Clear()
	case tty.Entered:
		n.log.Entered(ctx, line)
		e.Clear()
		if tooLong {
			n.log.Answer(ctx, "too long: a line has at most "+itoa(tty.LineMax)+" characters")
			return
		}
		n.command(ctx, line)
	}
}
