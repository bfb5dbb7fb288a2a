package search

import (
	"strings"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/wire"
)

// TestAnAnswerForWhatNobodyHoldsIsSeen asks for a commit, and judges as if it had been answered
// before anybody else had it.
func TestAnAnswerForWhatNobodyHoldsIsSeen(t *testing.T) {
	for o := range 2 {
		c := newCast(Scope{Writes: 1})
		w := c.start()
		home := root
		if c.mayCommit(&w, member, o) {
			home = member
		}
		c.must(&w, action{kind: replicate, m: uint8(home), arg: uint8(o)})
		if wrong := c.judge(&w); wrong != "" {
			t.Errorf("under way: %s", wrong)
		}
		d := &doing{c: c, w: w}
		answer := mesh.Answer{Ticket: firstWrite}
		d.answered(home, &answer)
		if d.wrong != "" || d.w.writes.acked != 0 {
			t.Errorf("an answer that promises nothing is judged: %q", d.wrong)
		}
		answer.Reply.Durability = wire.Replicated
		d.answered(home, &answer)
		if !strings.Contains(d.wrong, "does not hold it") {
			t.Errorf("answered too early: %q", d.wrong)
		}
		if wrong := c.judge(&d.w); !strings.Contains(wrong, "is lost") {
			t.Errorf("answered and not published: %q", wrong)
		}
		c.settle(&w)
		if w.writes.acked != 1 || c.judge(&w) != "" {
			t.Errorf("carried out: answered %b, %q", w.writes.acked, c.judge(&w))
		}
	}
}
