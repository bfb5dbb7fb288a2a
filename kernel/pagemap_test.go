package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

// drawSpan draws a range of pages, often one that starts or ends at a word.
func drawSpan(t *rapid.T) (lo, hi uint32) {
	edge := rapid.OneOf(rapid.Uint32Range(0, 400),
		rapid.Map(rapid.Uint32Range(0, 12), func(w uint32) uint32 { return w * 32 }))
	lo, hi = edge.Draw(t, "lo"), edge.Draw(t, "hi")
	return min(lo, hi), max(lo, hi)
}

func TestAPageMapIsASetOfPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := new(pageMap)
		model := map[uint32]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"fill": func(t *rapid.T) {
				lo, hi := drawSpan(t)
				for p := lo; p < hi; p++ {
					model[p] = true
				}
				m.fill(lo, hi)
			},
			"empty": func(t *rapid.T) {
				lo, hi := drawSpan(t)
				for p := lo; p < hi; p++ {
					delete(model, p)
				}
				m.empty(lo, hi)
			},
			"count": func(t *rapid.T) {
				lo, hi := drawSpan(t)
				want := uint32(0)
				for p := lo; p < hi; p++ {
					if model[p] {
						want++
					}
				}
				if got := m.count(lo, hi); got != want {
					t.Fatalf("count(%d, %d) = %d, want %d", lo, hi, got, want)
				}
			},
			"none": func(t *rapid.T) {
				lo, hi := drawSpan(t)
				want := true
				for p := lo; p < hi; p++ {
					want = want && !model[p]
				}
				if got := m.none(lo, hi); got != want {
					t.Fatalf("none(%d, %d) = %v", lo, hi, got)
				}
			},
			"last gap": func(t *rapid.T) {
				lo, hi := drawSpan(t)
				lo = max(lo, 1) // page 0 is the kernel's: a gap there is no answer
				n := rapid.Uint32Range(1, 130).Draw(t, "n")
				s := gapSearch{at: hi}
				first, over := m.lastGap(&s, lo, n)
				for !over {
					first, over = m.lastGap(&s, lo, n)
				}
				if want := modelGap(model, lo, hi, n); first != want {
					t.Fatalf("lastGap(%d, %d, %d) = %d, want %d", lo, hi, n, first, want)
				}
			},
			"": func(t *rapid.T) {
				for p := range uint32(420) {
					if m.has(p) != model[p] {
						t.Fatalf("has(%d) = %v", p, m.has(p))
					}
				}
			},
		})
	})
}

// modelGap is lastGap, slowly.
func modelGap(model map[uint32]bool, lo, hi, n uint32) uint32 {
	for first := int(hi) - int(n); first >= int(lo); first-- {
		free := true
		for p := uint32(first); p < uint32(first)+n; p++ {
			free = free && !model[p]
		}
		if free {
			return uint32(first)
		}
	}
	return 0
}

// A map without two free pages side by side is searched in pieces.
func TestASearchIsDoneInPieces(t *testing.T) {
	m := new(pageMap)
	for i := range m {
		m[i] = 0x55555555
	}
	m.empty(100, 103)
	s, pieces := gapSearch{at: pagesMax}, 0
	for first, over := uint32(0), false; !over; pieces++ {
		if first, over = m.lastGap(&s, 1, 2); over && first != 102 {
			t.Errorf("gap at %d", first) // page 103 is free as it was
		}
	}
	if want := (pagesMax-100)/gapSteps + 1; pieces != want {
		t.Errorf("%d pieces, want %d", pieces, want)
	}
}
