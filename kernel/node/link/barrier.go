package link

import "time"

// barrier is how the reader finds out that it has handed in everything that had arrived (rule L12).
//
//	      drain               the reader comes round            a read waits for quietTime
//	none -------> asked --------------------------> quiet ----------------------------------> none
//
// Asking moves the read deadline to now, which makes a waiting read return. That read proves
// nothing: with its deadline over, a connection returns a timeout without looking for data, in
// gVisor, in package net and in net.Pipe alike. So the reader goes on with a short deadline, and
// takes what there is, read by read. What has arrived is in the connection's buffer, or in the
// device's ring and the stack's queues, from where it gets to the buffer within a millisecond or
// two; all of it is read without waiting. A read that waits for quietTime and gets nothing has
// therefore come to the end of what had arrived by then, and the frames of it were delivered by
// this same goroutine before. A part of a frame stays in the buffer: it has not arrived yet.
//
// TLS takes the timeouts well: its Read keeps the part of a record that it has, and goes on with it
// (a timeout is net.Error's Temporary). Only a Write that times out breaks a TLS connection; the
// write deadline moves only at a session's end.
type barrier struct {
	asked bool
	quiet time.Time // when the read in progress counts as quiet; zero: no barrier
}

// quietTime is long against the way from the device to a connection, and short against the 250 ms
// that a verdict waits for its barriers.
const quietTime = 20 * time.Millisecond

// drain asks for the barrier and interrupts the reader.
func (s *session) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" {
		return
	}
	s.barrier.asked = true
	_ = s.raw.SetReadDeadline(s.clock.Now()) // an error comes back from the read, too
}

// arm sets the deadline of the reader's next read: limit, or the barrier's. The lock makes sure
// that it does not take back the one that drain or end has just set.
func (s *session) arm(limit time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != "" {
		return
	}
	if s.barrier.asked || !s.barrier.quiet.IsZero() {
		s.barrier.asked = false
		s.barrier.quiet = s.clock.Now().Add(quietTime)
		if s.barrier.quiet.Before(limit) {
			limit = s.barrier.quiet
		}
	}
	_ = s.raw.SetReadDeadline(limit)
}

// reached reports, when a read has timed out, whether it was the barrier's, and ends that barrier.
func (s *session) reached(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.barrier
	if b.asked || b.quiet.IsZero() || now.Before(b.quiet) {
		return false
	}
	b.quiet = time.Time{}
	return true
}
