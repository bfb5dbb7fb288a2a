package tty

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// typed is what came of keys: the lines that were entered, and "^C" for each that was dropped.
func typed(e *Editor, keys string) (lines []string) {
	for _, k := range []byte(keys) {
		switch e.Key(k) {
		case Entered:
			lines = append(lines, e.Text())
			e.Clear()
		case Dropped:
			lines = append(lines, "^C")
			e.Clear()
		}
	}
	return lines
}

func TestKeysMakeLines(t *testing.T) {
	long := strings.Repeat("x", LineMax)
	for keys, want := range map[string]string{
		"help\r":                    "help",
		"help\n":                    "help",
		"help\r\nmesh\r\n":          "help|mesh",
		"\r\r\n\n":                  "||",
		"hexx\b\x7flp\r":            "help",
		"\b\b\x7fa\r":               "a",
		"mistake\x15help\r":         "help",
		"reboot\x03help\r":          "^C|help",
		"a\x1b[Ab\r":                "ab",
		"a\x1b[1;5Cb\r":             "ab",
		"a\x1bOPb\r":                "ab",
		"a\x1bxb\r":                 "ab",
		"a\x00\x07\t\xff\xc3\xa9b":  "",
		"a\x00\x07\t\xff\xc3\xa9\r": "a",
		"env set a=b c\r":           "env set a=b c",
		long + "\r":                 long,
		long + "y\b\r":              long[1:],
	} {
		var e Editor
		if got := strings.Join(typed(&e, keys), "|"); got != want {
			t.Errorf("%q makes %q, want %q", keys, got, want)
		}
	}
}

func TestALineThatWasTooLongIsKnown(t *testing.T) {
	var e Editor
	typed(&e, strings.Repeat("x", LineMax))
	if e.TooLong() {
		t.Error("a line that fits is too long")
	}
	typed(&e, "y\b\b\b")
	if !e.TooLong() {
		t.Error("taking characters away brings back those that found no room")
	}
	typed(&e, "\x15")
	if e.TooLong() || e.Text() != "" {
		t.Errorf("after ^U: %q, %v", e.Text(), e.TooLong())
	}
}

// terminal is what a person sees and a machine reads: the lines, and what stands on the last one.
type terminal struct {
	lines  []string
	line   []byte
	cursor int
}

func (c *terminal) Write(p []byte) (int, error) {
	for _, b := range p {
		switch b {
		case '\n':
			c.lines = append(c.lines, strings.TrimRight(string(c.line), " "))
			c.line, c.cursor = nil, 0
		case '\b':
			c.cursor--
		default:
			c.line = append(c.line[:c.cursor], b)
			c.cursor++
		}
	}
	return len(p), nil
}

// raw keeps what is written.
type raw struct{ strings.Builder }

func TestNothingIsDrawnUntilSomebodyTypes(t *testing.T) {
	var w raw
	s := NewScreen(&w)
	s.Print("one")
	s.Draw("")
	s.Print("two")
	if got := w.String(); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestAPrintedLineStandsAloneAndWhatIsTypedComesAgain(t *testing.T) {
	var w raw
	s := NewScreen(&w)
	s.Draw("h")
	s.Draw("he")
	s.Print("mesh-env: none reason=blank at=0")
	s.Draw("he")
	s.Draw("hel")
	s.Draw("hx")
	s.Enter("hx")
	s.Answer("what?")
	want := "> he\nmesh-env: none reason=blank at=0\n> hel\b \b\b \bx\n  what?\n"
	if got := w.String(); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// Whatever is typed and printed in whatever order: a printed line is a line of its own, and the
// current line shows what is being typed.
func TestTheScreenShowsWhatItShould(t *testing.T) {
	texts := rapid.StringOfN(rapid.RuneFrom([]rune("abc ")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		var c terminal
		s := NewScreen(&c)
		var printed []string
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				line := "mesh-" + strings.TrimRight(texts.Draw(t, "line"), " ") + "."
				printed = append(printed, line)
				s.Print(line)
				if got := c.lines[len(c.lines)-1]; got != line {
					t.Fatalf("step %d: printed %q, want %q", i, got, line)
				}
			case 1:
				text := texts.Draw(t, "typed")
				s.Draw(text)
				want := ""
				if text != "" {
					want = "> " + text
				}
				if got := string(c.line[:c.cursor]); got != want {
					t.Fatalf("step %d: the line shows %q, want %q", i, got, want)
				}
			case 2:
				text := texts.Draw(t, "entered")
				s.Enter(text)
				if got := c.lines[len(c.lines)-1]; got != strings.TrimRight("> "+text, " ") {
					t.Fatalf("step %d: entered %q, want %q", i, got, text)
				}
			}
		}
		var found []string
		for _, line := range c.lines {
			if strings.HasPrefix(line, "mesh-") {
				found = append(found, line)
			}
		}
		if strings.Join(found, "|") != strings.Join(printed, "|") {
			t.Fatalf("the lines are %q, want %q", found, printed)
		}
	})
}

// No key does anything but what it is for: the text stays printable and within its bound.
func FuzzEditor(f *testing.F) {
	f.Add([]byte("help\r\n"))
	f.Add([]byte("\x1b[1;5C\x1b\x1b[\x03\x15\b"))
	f.Add([]byte(strings.Repeat("x", LineMax+1) + "\r"))
	f.Fuzz(func(t *testing.T, keys []byte) {
		var e Editor
		for _, k := range keys {
			if e.Key(k) != Typed {
				e.Clear()
			}
			if len(e.Text()) > LineMax || strings.ContainsFunc(e.Text(), func(r rune) bool {
				return r < ' ' || r > '~'
			}) {
				t.Fatalf("%q", e.Text())
			}
		}
	})
}
