package link

import (
	"bytes"
	"errors"
	"os"
	"time"

	"holdfast/mesh/wire"
)

// reader takes a session's stream apart into frames. It is the one goroutine that delivers what
// happens on the session, which is what gives the events their order.
type reader struct {
	*session
	buf   [wire.FrameMax]byte
	n     int       // bytes in buf
	since time.Time // when the first byte in buf came
	heard time.Time // when the last byte came, or the session opened
}

func newReader(s *session) *reader { return &reader{session: s, heard: s.clock.Now()} }

// run delivers frames until the session ends, and returns why it does.
func (r *reader) run(deliver func(Event)) Reason {
	for {
		size, err := r.whole()
		switch {
		case err != nil:
			return Malformed
		case size > 0:
			if r.reason() != "" {
				return Local // end has the true reason
			}
			deliver(Arrived{r.id, bytes.Clone(r.buf[wire.PrefixSize:size])})
			r.n = copy(r.buf[:], r.buf[size:r.n])
			r.since = r.heard // what follows a whole frame came with its last byte
			continue
		}
		if reason := r.fill(deliver); reason != "" {
			return reason
		}
	}
}

// whole is the size of the frame at the front of the buffer, prefix included, or 0 while it is not
// whole. A length that no frame has is an error as soon as it can be read.
func (r *reader) whole() (int, error) {
	if r.n < wire.PrefixSize {
		return 0, nil
	}
	n, err := wire.Size([wire.PrefixSize]byte(r.buf[:wire.PrefixSize]))
	if err != nil {
		return 0, err
	}
	if n += wire.PrefixSize; n > r.n {
		return 0, nil
	}
	return n, nil
}

// fill waits for more bytes, or for a time limit, or for the barrier. It returns a reason when the
// session is over.
func (r *reader) fill(deliver func(Event)) Reason {
	r.arm(r.limit())
	n, err := r.conn.Read(r.buf[r.n:])
	now := r.clock.Now()
	if n > 0 {
		if r.n == 0 {
			r.since = now
		}
		r.n += n
		r.heard = now
	}
	switch {
	case err == nil:
		return ""
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return downReason(err)
	case r.reason() != "":
		return Local // end has the true reason
	case r.reached(now):
		deliver(Drained{r.id})
	case r.n > 0 && now.Sub(r.since) >= FrameTime:
		return Deadline
	case now.Sub(r.heard) >= BackstopTime:
		return Backstop
	}
	return ""
}

// limit is when the stream must have gone on.
func (r *reader) limit() time.Time {
	backstop := r.heard.Add(BackstopTime)
	if frame := r.since.Add(FrameTime); r.n > 0 && frame.Before(backstop) {
		return frame
	}
	return backstop
}
