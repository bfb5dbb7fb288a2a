package relay

import "sync/atomic"

// maxRecords is how many records may wait for the observer: more than a second of the fastest
// traffic that two machines make (about 3,000 frames a second).
const maxRecords = 8192

// recorder is the goroutine that calls Options.Observe. The relay never waits for it.
type recorder struct {
	queue chan Record // nil when there is no observer
	done  chan struct{}
	lost  atomic.Uint64
}

func newRecorder(observe func(Record)) *recorder {
	r := &recorder{done: make(chan struct{})}
	if observe == nil {
		close(r.done)
		return r
	}
	r.queue = make(chan Record, maxRecords)
	go func() {
		defer close(r.done)
		for x := range r.queue {
			observe(x)
		}
	}()
	return r
}

// put never waits. It is called under the relay's lock, so that records are in order, and never
// after close.
func (r *recorder) put(x Record) {
	if r.queue == nil {
		return
	}
	select {
	case r.queue <- x:
	default:
		r.lost.Add(1)
	}
}

// close waits until the observer has got every record.
func (r *recorder) close() {
	if r.queue != nil {
		close(r.queue)
	}
	<-r.done
}
