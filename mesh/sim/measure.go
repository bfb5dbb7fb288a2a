package sim

import (
	"math/bits"
	"strconv"

	"holdfast/mesh/evidence"
)

// Measures is what worlds show besides the verdict.
type Measures struct {
	Detection Histogram // from a member's death to its removal
	Rejoin    Histogram // from a member's boot to its first right to commit
	Recovery  Histogram // from the end of all trouble until the mesh is whole
	Slack     Histogram // from the end of one home's right to commit to the beginning of the next's
}

// Add adds other measures.
func (m *Measures) Add(o *Measures) {
	m.Detection.add(&o.Detection)
	m.Rejoin.add(&o.Rejoin)
	m.Recovery.add(&o.Recovery)
	m.Slack.add(&o.Slack)
}

func (m *Measures) slack(d Time) { m.Slack.note(d) }

func (m *Measures) able(x *machine) {
	if !x.root() && x.w.trouble != never {
		m.Rejoin.note(x.w.now - x.booted)
	}
}

// printed takes a removal of a machine that is off.
func (m *Measures) printed(w *world, by *machine, l evidence.Line) {
	if !by.root() || !l.Is("mesh-fail", "failed") {
		return
	}
	n, ok := l.GetNode("node")
	for _, x := range w.machines {
		if ok && x.id == n && !x.on() && x.died > by.booted && x != w.clone && w.clone == nil {
			m.Detection.note(w.now - x.died)
		}
	}
}

// Histogram counts lengths of time, in buckets that double: the first is below a millisecond.
type Histogram struct {
	Buckets    [32]int64
	N          int64
	Least, Max Time
}

func (h *Histogram) note(d Time) {
	d = max(0, d)
	if h.N == 0 || d < h.Least {
		h.Least = d
	}
	h.Max = max(h.Max, d)
	h.N++
	h.Buckets[min(len(h.Buckets)-1, bits.Len64(uint64(d/Millisecond)))]++
}

func (h *Histogram) add(o *Histogram) {
	if o.N == 0 {
		return
	}
	if h.N == 0 || o.Least < h.Least {
		h.Least = o.Least
	}
	h.Max = max(h.Max, o.Max)
	h.N += o.N
	for i := range h.Buckets {
		h.Buckets[i] += o.Buckets[i]
	}
}

// String tells the extremes, and for each bucket that is not empty how many are in it.
func (h *Histogram) String() string {
	if h.N == 0 {
		return "none"
	}
	s := "n=" + strconv.FormatInt(h.N, 10) + " least=" + seconds(h.Least) + " most=" + seconds(h.Max)
	for i, n := range h.Buckets {
		if n > 0 {
			s += " <" + strconv.FormatInt(1<<i, 10) + "ms:" + strconv.FormatInt(n, 10)
		}
	}
	return s
}
