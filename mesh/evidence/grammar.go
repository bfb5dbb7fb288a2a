package evidence

import (
	"errors"
	"strconv"
	"strings"
)

// Single is the prefix of the line of a node that is not part of a mesh. It alone is not followed
// by a colon and words.
const Single = "mesh=single"

// panicHead starts the line of a panic; what follows is free text.
const panicHead = "panic: "

// ErrNotEvidence is for a text that does not claim to be evidence, such as boot chatter. Every
// other error of Parse is for a text that claims to be and is not: such a line fails a run.
var ErrNotEvidence = errors.New("evidence: not a line of evidence")

var errValue = errors.New("evidence: malformed value")

// Error says what is wrong with a line.
type Error struct{ Line, Why string }

func (e *Error) Error() string { return "evidence: " + e.Why + ": " + e.Line }

// Parse reads a line of evidence without its line end. What it accepts is exactly what building a
// line and String can produce for a row of Rows, or the line of a panic.
func Parse(s string) (Line, error) {
	if !claims(s) {
		return Line{}, ErrNotEvidence
	}
	return checked(s)
}

// ParseStatus reads a line of GET /mesh, /mesh/homes or /mesh/health: one of the rows of Status.
func ParseStatus(s string) (Line, error) {
	if claims(s) {
		return Line{}, &Error{s, "a line of evidence is no status"}
	}
	return checked(s)
}

func checked(s string) (Line, error) {
	l := Line{s}
	if err := l.Check(); err != nil {
		return Line{}, err
	}
	return l, nil
}

// claims reports whether a text claims to be evidence.
func claims(s string) bool {
	return strings.HasPrefix(s, "mesh-") || strings.HasPrefix(s, "mesh=") ||
		strings.HasPrefix(s, strings.TrimSpace(panicHead))
}

// Check reports why the line matches no row, as an *Error, or nil when it matches one.
func (l Line) Check() error {
	if len(l.text) > Max {
		return &Error{l.text[:Max], "longer than " + strconv.Itoa(Max) + " bytes"}
	}
	if message, ok := strings.CutPrefix(l.text, panicHead); ok {
		return l.checkPanic(message)
	}
	rows := Rows
	if !claims(l.text) {
		rows = Status
	}
	why, best := "no such row", -1
	for _, r := range rows {
		got, err := r.match(l.text)
		if err == "" {
			return nil
		}
		if got > best {
			why, best = err, got
		}
	}
	return &Error{l.text, why}
}

func (l Line) checkPanic(message string) error {
	for i := range len(message) {
		if c := message[i]; c < ' ' || c == 0x7f {
			return &Error{l.text, "control character"}
		}
	}
	if message == "" {
		return &Error{l.text, "panic without a message"}
	}
	return nil
}

// match returns how many fields of the row s has, and what is wrong with the next; "" when s is a
// line of the row. It returns -1 when the head differs.
func (r Row) match(s string) (int, string) {
	rest, ok := strings.CutPrefix(s, r.Head)
	if !ok {
		return -1, "another head"
	}
	if r.Head == "" {
		rest = " " + rest
	}
	fields := r.fields()
	for i, f := range fields {
		if rest == "" {
			return i, "missing " + f.Key + "="
		}
		value, ok := strings.CutPrefix(rest, " "+f.Key+"=")
		if !ok {
			return i, "want " + f.String() + " at '" + rest + "'"
		}
		value, _, _ = strings.Cut(value, " ")
		if !f.allows(value) {
			return i, "want " + f.String() + ", got '" + value + "'"
		}
		rest = rest[len(f.Key)+len(value)+len(" ="):]
	}
	if rest != "" {
		return len(fields), "after the last field '" + rest + "'"
	}
	return len(fields), ""
}
