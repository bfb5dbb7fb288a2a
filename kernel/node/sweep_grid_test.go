package node

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

// whole has the tests below play every cell and print what happened: `make sweep`.
var whole = flag.Bool("sweep", false, "play every cell of the sweep and print the tables")

const (
	// Lease requests come every 2 s. Phases exactly 0.5 s apart would repeat themselves after four:
	// each step is a little longer, so that eleven phases are eleven different ones.
	phases    = 11
	phaseStep = 545 * time.Millisecond

	// From before the lease is over to after the removal, by a tenth of a second.
	lengths    = 71
	lengthMin  = 6 * time.Second
	lengthStep = 100 * time.Millisecond
)

// grid is the cells of one trouble: a row for each phase, a column for each length.
type grid struct {
	trouble trouble
	clients bool
	phase   []int // steps
	length  []int
}

// sparse takes n of the steps 0 to all-1, evenly, and the last one always.
func sparse(n, all int) (steps []int) {
	for i := range n {
		steps = append(steps, all-1-(n-1-i)*(all-1)/max(1, n-1))
	}
	return steps
}

// gridOf is rows times columns cells, or all of them.
func gridOf(tr trouble, clients bool, rows, columns int) grid {
	return grid{tr, clients, sparse(rows, phases), sparse(columns, lengths)}
}

// play plays every cell. It prints a table of the fates when it is asked to.
func (g grid) play(t *testing.T) *sum {
	began := time.Now()
	s := &sum{grid: g, fates: map[byte]int{}}
	g.print("\n%s%s\n%8s  %s\n", g.trouble.name, map[bool]string{true: ", with clients"}[g.clients],
		"phase", g.ruler())
	for _, p := range g.phase {
		var row strings.Builder
		for _, n := range g.length {
			c := cell{g.trouble, g.clients, time.Duration(p) * phaseStep,
				lengthMin + time.Duration(n)*lengthStep}
			row.WriteByte(s.add(c, c.run(t)))
		}
		g.print("%6.3f s  %s\n", (time.Duration(p) * phaseStep).Seconds(), row.String())
	}
	g.print("%s\n  %-34s%v\n", s, "took", time.Since(began).Round(100*time.Millisecond))
	if !*whole {
		t.Logf("%d cells\n%v", s.cells, s)
	}
	return s
}

func (g grid) print(format string, args ...any) {
	if *whole {
		fmt.Printf(format, args...)
	}
}

// ruler is the heads of the columns: the full seconds.
func (g grid) ruler() string {
	marks := []byte(strings.Repeat(" ", len(g.length)+4))
	end := 0
	for column, n := range g.length {
		if n%10 == 0 && column >= end {
			end = column + copy(marks[column:], fmt.Sprintf("%d s", (lengthMin+time.Duration(n)*lengthStep)/
				time.Second))
		}
	}
	return strings.TrimRight(string(marks), " ")
}

// The fates of a member.
const (
	kept      = '.' // its session lived, and no view changed
	redialled = 'd' // another session, and no view changed
	rejoined  = 'r' // removed, and joined again on the session that it had
	returned  = 'R' // removed, and joined again on another session
)

func (o *outcome) fate() byte {
	switch {
	case !o.removed && !o.redialled:
		return kept
	case !o.removed:
		return redialled
	case !o.redialled:
		return rejoined
	}
	return returned
}

// worst is the worst of what was seen, and where.
type worst struct {
	value time.Duration
	cell  cell
	seen  bool
}

func (w *worst) String() string {
	if !w.seen {
		return "never"
	}
	return fmt.Sprintf("%v (%v, for %v)", w.value, w.cell.phase, w.cell.length)
}

// note keeps the smallest value, or with sign -1 the largest.
func (w *worst) note(sign time.Duration, value time.Duration, c cell) {
	if !w.seen || cmp.Compare(sign*value, sign*w.value) < 0 {
		*w = worst{value, c, true}
	}
}

// sum is what became of a grid.
type sum struct {
	grid        grid
	cells       int
	fates       map[byte]int
	twoHomes    int
	slack, back worst // the least
	well        worst // the longest
	adrs        int   // cells with two homes by the ADR's rule
	adr         worst // the longest
	commits     [2]int
}

func (s *sum) add(c cell, o outcome) (fate byte) {
	s.cells++
	s.fates[o.fate()]++
	if o.overlap > 0 {
		s.twoHomes++
	}
	if o.removed {
		s.slack.note(1, o.slack, c)
		s.back.note(1, o.back, c)
	}
	s.well.note(-1, o.well, c)
	if o.adr > 0 {
		s.adrs++
		s.adr.note(-1, o.adr, c)
	}
	for i, n := range o.commits {
		s.commits[i] += n
	}
	return o.fate()
}

func (s *sum) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-34s", name)
		fmt.Fprintf(&b, format+"\n", args...)
	}
	line("two homes", "in %d of %d cells", s.twoHomes, s.cells)
	line("fates", "%d kept its session (%c), %d had another (%c), %d removed, joined again (%c %c)",
		s.fates[kept], kept, s.fates[redialled], redialled, s.fates[rejoined]+s.fates[returned],
		rejoined, returned)
	line("least slack, lease to next home", "%v", &s.slack)
	line("least slack, back to the member", "%v", &s.back)
	line("longest until well again", "%v", &s.well)
	line("by the ADR's own lease, two homes", "in %d cells, at worst %v", s.adrs, &s.adr)
	if s.grid.clients {
		line("commits", "%d by the authority, %d by the member", s.commits[0], s.commits[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// By the ADR's own rule for the lease the same runs have two homes in many of their cells: that is
// how we know that this judge can see.
func TestNoCutGivesTwoHomes(t *testing.T) {
	g := gridOf(troubles[0], false, 4, 10)
	if *whole {
		g = gridOf(troubles[0], false, phases, lengths)
	}
	s := g.play(t)
	for _, fate := range []byte{kept, redialled, rejoined, returned} {
		if s.fates[fate] == 0 {
			t.Errorf("no cell has the fate %c: the sweep has lost what it is for", fate)
		}
	}
	if s.adrs == 0 {
		t.Error("no cell has two homes by the ADR's rule: the judge is blind")
	}
}

func TestNoOtherTroubleGivesTwoHomes(t *testing.T) {
	for _, tr := range troubles[1:] {
		t.Run(tr.name, func(t *testing.T) {
			g := gridOf(tr, false, 2, 5)
			if *whole {
				g = gridOf(tr, false, phases, lengths)
			}
			s := g.play(t)
			if s.fates[rejoined]+s.fates[returned] == 0 {
				t.Error("the member was never removed")
			}
		})
	}
}

func TestNoTroubleGivesTwoHomesWhileClientsCommit(t *testing.T) {
	var commits [2]int
	for _, tr := range troubles {
		t.Run(tr.name, func(t *testing.T) {
			g := gridOf(tr, true, 2, 1)
			if *whole {
				g = gridOf(tr, true, 4, 10)
			}
			s := g.play(t)
			for i, n := range s.commits {
				commits[i] += n
			}
		})
	}
	if commits[0] == 0 || commits[1] == 0 {
		t.Errorf("commits by the authority and by the member: %v", commits)
	}
}

func TestOneCellIsTheSameTwice(t *testing.T) {
	c := cell{troubles[0], true, 0, 13 * time.Second}
	once, l := c.play(t)
	again, m := c.play(t)
	if once != again || l.story() != m.story() {
		t.Errorf("once   %+v\n%sagain  %+v\n%s", once, l.story(), again, m.story())
	}
}
