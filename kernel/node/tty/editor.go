// Package tty is a serial console that a person and a machine share: the line editor that turns
// keys into lines, and the screen that draws what is being typed between the lines that the node
// prints. It owns neither the port nor a goroutine and knows no command; package node reads the
// keys, runs the commands and writes everything from one goroutine.
//
// Whoever parses the console must never find a line of the node's broken by an echo. So nothing is
// drawn until somebody types, and a line that is printed while there is something typed comes on a
// line of its own:
//
//	> env se                          typed so far; the cursor stands behind it
//	mesh-fail: suspect node=... at=6000
//	> env se                          drawn again
//
// Keys: printable ASCII is text; backspace and delete take the last character; ^U takes all; ^C
// takes all and begins a new line; return, line feed and both together enter the line. Escape
// sequences, as of the arrow keys, and everything else do nothing. A line has at most LineMax
// characters; one that was longer is refused as a whole, since its beginning may mean something
// else.
package tty

// LineMax is the most characters of a line: every assignment that fits into a node's environment.
const LineMax = 320

// Keys with a meaning.
const (
	keyInterrupt = 0x03 // ^C
	keyBackspace = 0x08
	keyLineFeed  = 0x0a
	keyReturn    = 0x0d
	keyKill      = 0x15 // ^U
	keyEscape    = 0x1b
	keyDelete    = 0x7f
)

// Editor is the line being typed. The zero Editor is an empty one.
type Editor struct {
	line     []byte
	tooLong  bool
	returned bool   // the last key was a return: a line feed belongs to it
	escape   escape // how far an escape sequence has come
}

// escape is the state of an escape sequence: ESC, then '[' or 'O' or anything else, which ends it,
// then parameters up to a final byte from '@' to '~' (ECMA-48 section 5.4).
type escape uint8

const (
	escapeNone escape = iota
	escapeBegun
	escapeOpen
)

// Event is what a key came to.
type Event uint8

const (
	Typed   Event = iota // the text may have changed
	Entered              // Text is complete; Clear follows
	Dropped              // ^C: the line is abandoned; Clear follows
)

// Key takes one key.
func (e *Editor) Key(key byte) Event {
	after := e.returned
	e.returned = key == keyReturn
	switch {
	case e.escape != escapeNone:
		e.sequence(key)
	case key == keyLineFeed && after:
	case key == keyReturn, key == keyLineFeed:
		return Entered
	case key == keyInterrupt:
		return Dropped
	case key == keyKill:
		e.Clear()
	case key == keyEscape:
		e.escape = escapeBegun
	case key == keyBackspace, key == keyDelete:
		e.line = e.line[:max(len(e.line)-1, 0)]
	case key < ' ' || key > '~':
	case len(e.line) == LineMax:
		e.tooLong = true
	default:
		e.line = append(e.line, key)
	}
	return Typed
}

// sequence takes a key of an escape sequence, none of which does anything.
func (e *Editor) sequence(key byte) {
	switch {
	case e.escape == escapeBegun && (key == '[' || key == 'O'):
		e.escape = escapeOpen
	case e.escape == escapeOpen && key >= ' ' && key < '@': // a parameter
	default:
		e.escape = escapeNone
	}
}

// Text is the line so far.
func (e *Editor) Text() string { return string(e.line) }

// TooLong reports whether characters of the line found no room.
func (e *Editor) TooLong() bool { return e.tooLong }

// Clear empties the line.
func (e *Editor) Clear() { e.line, e.tooLong = e.line[:0], false }
