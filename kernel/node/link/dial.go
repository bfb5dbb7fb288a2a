package link

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"holdfast/kernel/node/clock"
)

// The member's patience (spec/system.md section 3; protocol.md, "Sessions").
const (
	// DialTime is how long a dial may take. TCP's own repetition of a connection request backs off
	// without a useful bound.
	DialTime = 2 * time.Second
	// RedialMin and RedialMax bound the pause before the next dial, which doubles from one to the
	// other.
	RedialMin = 250 * time.Millisecond
	RedialMax = 2 * time.Second
)

// Dialer makes connections: a network's Dial.
type Dialer func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

// Connect keeps a session to the authority until ctx is done, and opens one more whenever Redial
// asks for it. It returns when every goroutine it started has ended.
func (l *Links) Connect(ctx context.Context, dial Dialer, to netip.AddrPort) {
	defer l.group.Wait()
	pause := RedialMin
	silence := false // it has been said that nobody answers
	for {
		began := l.clock.Now()
		s, reason := l.dialOnce(ctx, dial, to)
		switch {
		case ctx.Err() != nil:
			if s != nil {
				l.run(ctx, s)
			}
			return
		case s != nil:
			silence = false
			l.group.Go(func() { l.run(ctx, s) })
		case reason != Timeout && reason != Unreachable:
			silence = false
			l.deliver(Refused{to.String(), reason})
		case !silence:
			silence = true
			l.deliver(Refused{to.String(), reason})
		}
		if !l.satisfied(ctx) {
			return
		}
		if s != nil && l.clock.Now().Sub(began) >= RedialMax {
			pause = RedialMin // the session was of use
		}
		if l.live() == 0 {
			if !clock.Sleep(ctx, l.clock, jitter(pause)) {
				return
			}
			pause = min(2*pause, RedialMax)
		}
	}
}

// satisfied waits until there is a reason to dial: no session, or one more is wanted. It reports
// whether there is one before ctx is done.
func (l *Links) satisfied(ctx context.Context) bool {
	select {
	case <-l.redial: // asked for while the dial was on its way
	default:
	}
	for l.live() > 0 {
		select {
		case <-l.redial:
			return true
		case <-l.lost:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// dialOnce makes one session, or says why not.
func (l *Links) dialOnce(ctx context.Context, dial Dialer, to netip.AddrPort) (*session, Reason) {
	dialling, cancel := clock.WithTimeout(ctx, l.clock, DialTime)
	defer cancel()
	raw, err := dial(dialling, to)
	if err != nil {
		if context.Cause(dialling) == context.DeadlineExceeded || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, Timeout
		}
		return nil, Unreachable
	}
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	conn, err := l.introduce(raw)
	if err != nil {
		l.abandon(raw, err)
		return nil, memberSide.reason(err)
	}
	s, ok := l.register(raw, conn)
	if !ok {
		raw.Close()
		return nil, Full
	}
	return s, ""
}

// introduce is the member's handshake; it ends with the authority's greeting.
func (l *Links) introduce(raw net.Conn) (*tls.Conn, error) {
	_ = raw.SetDeadline(l.clock.Now().Add(HandshakeTime)) // an error comes back from the handshake
	conn := tls.Client(raw, l.client)
	if err := conn.Handshake(); err != nil {
		return nil, err
	}
	got := greeting
	if _, err := io.ReadFull(conn, got[:]); err != nil {
		return nil, err
	}
	if got != greeting {
		return nil, errNoGreeting
	}
	_ = raw.SetDeadline(time.Time{})
	return conn, nil
}

var errNoGreeting = errors.New("link: the authority's first frame is no greeting")

// jitter spreads d by a quarter to either side, so that members that lost their authority together
// do not come back together. Chance comes from the generator that the node has seeded with its own
// secrets: two boards that start together from one image need not differ in anything else.
func jitter(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return d*3/4 + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(d/2))
}
