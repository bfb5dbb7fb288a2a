package relay

import (
	"container/heap"
	"slices"
	"time"
)

// parcel is a frame that is held or delayed.
type parcel struct {
	path   *Path
	frame  []byte
	change Change
	at     time.Time // when it is due
	number uint64    // breaks ties: first come, first served
	gone   bool      // was discarded
}

// timetable is a heap of delayed frames, the earliest first.
type timetable []*parcel

func (t timetable) Len() int      { return len(t) }
func (t timetable) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t timetable) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].number < t[j].number
}
func (t *timetable) Push(x any) { *t = append(*t, x.(*parcel)) }
func (t *timetable) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = slices.Delete(*t, last, last+1)
	return x
}

// delay puts a frame into the timetable. Rate makes each frame wait until those before it are
// through; Delay and Jitter come on top, and do not add up from frame to frame.
func (r *Relay) delay(p *Path, f fate, now time.Time) {
	through := now
	if p.rule.Rate > 0 {
		if p.busy.After(now) {
			through = p.busy
		}
		through = through.Add(time.Duration(len(f.frame)) * time.Second / time.Duration(p.rule.Rate))
		p.busy = through
	}
	r.number++
	x := &parcel{path: p, frame: f.frame, change: f.change, number: r.number,
		at: through.Add(p.rule.Delay + f.jitter)}
	p.waiting++
	heap.Push(&r.due, x)
	if r.due[0] == x {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// pace is the goroutine that sends delayed frames on when they are due.
func (r *Relay) pace() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if wait, more := r.sendDue(); more {
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
		case <-r.wake:
		case <-r.closing:
			return
		}
	}
}

// sendDue sends what is due and tells how long the next frame has to wait, if there is any.
func (r *Relay) sendDue() (wait time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.due) > 0 && !r.closed {
		now := time.Now()
		if x := r.due[0]; x.at.After(now) {
			return x.at.Sub(now), true
		}
		if x := heap.Pop(&r.due).(*parcel); !x.gone {
			x.path.waiting--
			r.settle(x, x.path.pass(x.frame, x.change), now)
		}
	}
	return 0, false
}

// settle counts and records the second verdict of a held or delayed frame.
func (r *Relay) settle(x *parcel, v Verdict, now time.Time) {
	x.path.counts[v]++
	r.records.put(Record{At: now, From: x.path.from, Frame: x.frame,
		Outcomes: []Outcome{{To: x.path.to, Verdict: v, Change: x.change | Late}}})
}
