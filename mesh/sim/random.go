package sim

// random is a source of numbers that a seed determines: SplitMix64, whose whole state is one word,
// so that a world is a function of its seed on every machine and with every version of Go.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1. The bias of the remainder does not matter here.
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// one is true once in n times.
func (r *random) one(n int) bool { return r.below(n) == 0 }

// upTo returns a length of time from 0 to d.
func (r *random) upTo(d Time) Time { return Time(r.next() % uint64(d+1)) }

// between returns a length of time from a to b.
func (r *random) between(a, b Time) Time { return a + r.upTo(b-a) }

// scale returns a length of time from a to b such that every doubling is as likely as any other.
func (r *random) scale(a, b Time) Time {
	doublings := 0
	for d := a; d < b; d *= 2 {
		doublings++
	}
	low := a << r.below(max(1, doublings))
	return min(b, r.between(low, 2*low))
}

// ppm returns a rate error of at most limit millionths, to either side.
func (r *random) ppm(limit int) int64 { return int64(r.below(2*limit+1) - limit) }
