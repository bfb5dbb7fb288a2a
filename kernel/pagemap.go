package kernel

import "math/bits"

// pageMap is a set of pages, one bit a page, counted from the start of the DRAM. Its methods work
// by whole words: the runtime reserves hundreds of megabytes at a time.
type pageMap [pagesMax / 32]uint32

// span is where pages [lo, hi), which are at least one, are: from word first to word last, of which
// the first counts with the bits of head and the last with those of tail. If they are the same
// word, it counts with the bits of both.
func span(lo, hi uint32) (first, last, head, tail uint32) {
	return lo / 32, (hi - 1) / 32, ^uint32(0) << (lo % 32), ^uint32(0) >> (31 - (hi-1)%32)
}

// has reports whether page p is in the set.
func (m *pageMap) has(p uint32) bool { return m[p/32]>>(p%32)&1 != 0 }

// count is how many of the pages [lo, hi) are in the set.
func (m *pageMap) count(lo, hi uint32) uint32 {
	if lo >= hi {
		return 0
	}
	first, last, head, tail := span(lo, hi)
	if first == last {
		return uint32(bits.OnesCount32(m[first] & head & tail))
	}
	n := bits.OnesCount32(m[first]&head) + bits.OnesCount32(m[last]&tail)
	for _, w := range m[first+1 : last] {
		switch w {
		case 0:
		case ^uint32(0):
			n += 32
		default:
			n += bits.OnesCount32(w)
		}
	}
	return uint32(n)
}

// fill puts pages [lo, hi) into the set.
func (m *pageMap) fill(lo, hi uint32) {
	if lo >= hi {
		return
	}
	first, last, head, tail := span(lo, hi)
	if first == last {
		m[first] |= head & tail
		return
	}
	m[first] |= head
	m[last] |= tail
	between := m[first+1 : last]
	for i := range between {
		between[i] = ^uint32(0)
	}
}

// empty takes pages [lo, hi) out of the set.
func (m *pageMap) empty(lo, hi uint32) {
	if lo >= hi {
		return
	}
	first, last, head, tail := span(lo, hi)
	if first == last {
		m[first] &^= head & tail
		return
	}
	m[first] &^= head
	m[last] &^= tail
	clear(m[first+1 : last])
}

// none reports whether no page of [lo, hi) is in the set.
func (m *pageMap) none(lo, hi uint32) bool {
	if lo >= hi {
		return true
	}
	first, last, head, tail := span(lo, hi)
	if first == last {
		return m[first]&head&tail == 0
	}
	for _, w := range m[first+1 : last] {
		if w != 0 {
			return false
		}
	}
	return m[first]&head == 0 && m[last]&tail == 0
}

// gapSearch is how far a search for consecutive pages that are not in a set has come, from the top
// down: its state, so that it can be done in pieces.
type gapSearch struct {
	at  uint32 // the page above those that are still to be looked at
	run uint32 // pages not in the set, from at upwards
}

// gapSteps bounds what one piece of a search looks at: runs of equal bits within a word.
const gapSteps = 512

// lastGap goes on with a search in [lo, s.at) for the highest n consecutive pages that are not in
// the set. The search is over when it reports so; then first is the gap, 0 when there is none.
func (m *pageMap) lastGap(s *gapSearch, lo, n uint32) (first uint32, over bool) {
	for range gapSteps {
		if s.at <= lo {
			return 0, true
		}
		last := s.at - 1
		w := m[last/32] << (31 - last%32) // bit 31 is the page below at
		length := min(last%32+1, s.at-lo)
		if w>>31 != 0 {
			s.run = 0
			s.at -= min(length, uint32(bits.LeadingZeros32(^w)))
			continue
		}
		length = min(length, uint32(bits.LeadingZeros32(w)))
		if n-s.run <= length {
			return s.at - (n - s.run), true
		}
		s.run += length
		s.at -= length
	}
	return 0, false
}
