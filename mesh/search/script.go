package search

import (
	"fmt"
	"strings"

	"holdfast/mesh"
)

// A way through the states is written as a conversation, in the form of the golden ones of package
// mesh: a command, a line of dashes, what came of it. The commands:
//
//	second                   the next second begins
//	tick NAME                a node takes a tick
//	deliver NAME S           what is on its way to it on session S arrives: all, or the first frame
//	drained S                the authority has taken in what had arrived
//	written NAME             its marks are in the chip
//	connect NAME             its adapter opens a session
//	down NAME S              it learns that the other end is gone
//	reset NAME S             it loses its end
//	change S END PASSAGE     what the network does from now on: END is to-root, to-peer or both
//	boot NAME | kill NAME    switches a machine on, or off without a word
//	stop NAME                it takes no steps; its counter goes on
//	freeze NAME              it takes no steps; its counter stands still
//	stop-in-commit NAME OBJECT | freeze-in-commit NAME OBJECT
//	                         the same, between the two checks of a commit
//	cont NAME                it goes on
//	move                     a lab move
//	replicate NAME OBJECT    a client asks a home for a replicated commit
//
// lost=(1,3) behind a command loses the first and the third frame that it sends.

// script writes actions down, from the start on.
func (c *cast) script(as []action) string {
	var b strings.Builder
	c.forget()
	c.speaks = true
	w := c.start()
	for _, a := range as {
		fmt.Fprintf(&b, "%s\n----\n", c.command(&w, a))
		text := c.perform(&w, a)
		if text == "" {
			text = "ok\n"
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// command writes one action down.
func (c *cast) command(w *world, a action) string {
	text := a.kind.String()
	session := func() string { return fmt.Sprint(w.links[a.link].id) }
	switch a.kind {
	case advance, move:
	case drained:
		text += " " + session()
	case change:
		text += fmt.Sprintf(" %s %s %s", session(), endNames[a.end], passageNames[a.arg])
	default:
		text += " " + c.names[a.m]
	}
	switch a.kind {
	case deliver, down, reset:
		text += " " + session()
	case stopInCommit, freezeInCommit, replicate:
		text += " " + c.objects[a.arg].name
	}
	if a.lost != 0 {
		var lost []string
		for i := range 16 {
			if a.lost&(1<<i) != 0 {
				lost = append(lost, fmt.Sprint(i+1))
			}
		}
		text += " lost=(" + strings.Join(lost, ",") + ")"
	}
	return text
}

var (
	endNames     = [...]string{"to-root", "to-peer", "both"}
	passageNames = [...]string{"pass", "hold", "lose"}
)

// perform carries an action out and tells what everybody said and sent.
func (c *cast) perform(w *world, a action) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "%3d | "+format+"\n", append([]any{w.t / 1000}, args...)...)
	}
	d := c.do(w, a, func(m int, text string) { line("%s | %s", c.names[m], c.readable(text)) })
	for i, s := range d.sends {
		what := ""
		if a.lost&(1<<i) != 0 {
			what = ", lost"
		}
		line("%s %v%s", d.route(s), s.frame.kind, what)
	}
	*w = d.outcome(a.lost)
	for _, wrong := range []string{d.wrong, c.judge(w)} {
		if wrong != "" {
			line("VIOLATION: %s", wrong)
		}
	}
	return b.String()
}

// route tells between whom a frame goes.
func (d *doing) route(s sent) string {
	peer := "?"
	if i := d.w.find(s.session); i >= 0 {
		peer = d.c.names[d.w.links[i].peer]
	}
	if s.end == atRoot {
		return fmt.Sprintf("%s -> %s on %d", peer, d.c.names[root], s.session)
	}
	return fmt.Sprintf("%s -> %s on %d", d.c.names[root], peer, s.session)
}

// readable puts names in the place of ids.
func (c *cast) readable(text string) string {
	for i := range c.names {
		text = strings.ReplaceAll(text, c.ids[i].String(), c.names[i])
	}
	for _, o := range c.objects {
		text = strings.ReplaceAll(text, o.id.String(), o.name)
	}
	return text
}

// parse reads a command, given as its words and its lost frames.
func (c *cast) parse(w *world, words []string, lost []int) (action, error) {
	a, ok := action{}, false
	for k, name := range kindNames {
		if name == words[0] {
			a.kind, ok = kind(k), true
		}
	}
	for _, i := range lost {
		a.lost |= 1 << (i - 1)
	}
	for _, word := range words[1:] {
		ok = ok && c.argument(w, &a, word)
	}
	if !ok {
		return action{}, fmt.Errorf("search: no such command: %s", strings.Join(words, " "))
	}
	if a.kind == deliver || a.kind == down || a.kind == reset {
		a.end = uint8(endOf(int(a.m)))
	}
	for _, possible := range c.actions(w, nil) {
		if possible.lost = a.lost; possible == a {
			return a, nil
		}
	}
	return action{}, fmt.Errorf("search: %s cannot happen now", strings.Join(words, " "))
}

// argument reads one word of a command: what it is follows from the word.
func (c *cast) argument(w *world, a *action, word string) bool {
	for i := range c.names {
		if c.names[i] == word {
			a.m = uint8(i)
			return true
		}
	}
	for i := range c.objects {
		if c.objects[i].name == word {
			a.arg = uint8(i)
			return true
		}
	}
	for i, name := range endNames {
		if name == word {
			a.end = uint8(i)
			return true
		}
	}
	for i, name := range passageNames {
		if name == word {
			a.arg = uint8(i)
			return true
		}
	}
	var session mesh.Session
	if _, err := fmt.Sscan(word, &session); err != nil {
		return false
	}
	i := w.find(session)
	a.link = uint8(max(0, i))
	return i >= 0
}
