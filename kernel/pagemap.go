package kernel

import "math/bits"

// pageMap is a set of pages, one bit a page, counted from the start of the DRAM. Its methods work
// by whole words: the runtime reserves hundreds of megabytes at a time.
type pageMap [pagesMax / 32]uint32

// spanMask is the part of word w that belongs to pages [lo, hi).
func spanMask(w, lo, hi uint32) uint32 {
	mask := ^uint32(0)
	if first := w * 32; first < lo {
		mask <<= lo - first
	}
	if last := w*32 + 32; last > hi {
		mask &= ^uint32(0) >> (last - hi)
	}
	return mask
}

// has reports whether page p is in the set.
func (m *pageMap) has(p uint32) bool { return m[p/32]>>(p%32)&1 != 0 }

// add puts pages [lo, hi) into the set and counts those that were not in it.
func (m *pageMap) add(lo, hi uint32) (added uint32) {
	for w := lo / 32; w*32 < hi; w++ {
		mask := spanMask(w, lo, hi)
		switch m[w] & mask {
		case mask:
		case 0:
			added += min(hi, w*32+32) - max(lo, w*32)
		default:
			added += uint32(bits.OnesCount32(mask &^ m[w]))
		}
		m[w] |= mask
	}
	return added
}

// remove takes pages [lo, hi) out of the set and counts those that were in it.
func (m *pageMap) remove(lo, hi uint32) (removed uint32) {
	for w := lo / 32; w*32 < hi; w++ {
		mask := spanMask(w, lo, hi)
		switch m[w] & mask {
		case 0:
		case mask:
			removed += min(hi, w*32+32) - max(lo, w*32)
		default:
			removed += uint32(bits.OnesCount32(mask & m[w]))
		}
		m[w] &^= mask
	}
	return removed
}

// none reports whether no page of [lo, hi) is in the set.
func (m *pageMap) none(lo, hi uint32) bool {
	for w := lo / 32; w*32 < hi; w++ {
		if m[w]&spanMask(w, lo, hi) != 0 {
			return false
		}
	}
	return true
}

// lastGap finds the highest n consecutive pages of [lo, hi) that are not in the set.
func (m *pageMap) lastGap(lo, hi, n uint32) (first uint32, ok bool) {
	if n == 0 {
		return 0, false
	}
	run := uint32(0)
	for p := hi; p > lo; {
		switch w := m[(p-1)/32]; {
		case p%32 == 0 && w == ^uint32(0):
			run = 0
			p -= min(32, p-lo)
			continue
		case p%32 == 0 && w == 0 && p-lo >= 32 && run+32 < n:
			run += 32
			p -= 32
			continue
		}
		p--
		if m.has(p) {
			run = 0
		} else if run++; run == n {
			return p, true
		}
	}
	return 0, false
}
