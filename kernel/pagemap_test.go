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
				n := rapid.Uint32Range(0, 130).Draw(t, "n")
				first, ok := m.lastGap(lo, hi, n)
				wantFirst, wantOK := modelGap(model, lo, hi, n)
				if first != wantFirst || ok != wantOK {
					t.Fatalf("lastGap(%d, %d, %d) = %d, %v; want %d, %v", lo, hi, n, first, ok, wantFirst, wantOK)
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
func modelGap(model map[uint32]bool, lo, hi, n uint32) (uint32, bool) {
	if n == 0 || hi < n {
		return 0, false
	}
	for first := int(hi - n); first >= int(lo); first-- {
		free := true
		for p := uint32(first); p < uint32(first)+n; p++ {
			free = free && !model[p]
		}
		if free {
			return uint32(first), true
		}
	}
	return 0, false
}
