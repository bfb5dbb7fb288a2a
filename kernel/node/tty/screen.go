package tty

import (
	"io"
	"strings"
)

// prompt stands ahead of what is typed. No line that a node prints begins like it.
const prompt = "> "

// indent stands ahead of each line of an answer to a command, for the same reason.
const indent = "  "

// Screen is the terminal at the other end, as far as it has to be known: what stands on its current
// line. A line and everything that has to come with it is one Write. Errors of the writer are
// nobody's: there is no other console to tell.
type Screen struct {
	w     io.Writer
	shown string // on the current line, prompt included; empty: the cursor is at its start
}

// NewScreen is a screen at whose current line nothing stands.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

func (s *Screen) write(text string) { _, _ = io.WriteString(s.w, text) }

// Print prints a line, on a line of its own.
func (s *Screen) Print(line string) {
	text := line + "\n"
	if s.shown != "" {
		text = "\n" + text
		s.shown = ""
	}
	s.write(text)
}

// Answer prints a line of the answer to a command.
func (s *Screen) Answer(line string) { s.Print(indent + line) }

// Draw makes the current line show the text that is being typed; nothing, not even the prompt, when
// there is none.
func (s *Screen) Draw(typed string) {
	if typed != "" {
		typed = prompt + typed
	}
	same := 0
	for same < min(len(s.shown), len(typed)) && s.shown[same] == typed[same] {
		same++
	}
	if same == len(s.shown) && same == len(typed) {
		return
	}
	s.write(strings.Repeat("\b \b", len(s.shown)-same) + typed[same:])
	s.shown = typed
}

// Enter shows the text that was typed and ends its line. An empty one still gets its prompt.
func (s *Screen) Enter(typed string) {
	if typed == "" {
		s.Draw("")
		s.write(prompt)
	} else {
		s.Draw(typed)
	}
	s.write("\n")
	s.shown = ""
}
