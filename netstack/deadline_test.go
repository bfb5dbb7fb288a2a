package netstack

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

func TestADeadlineEndsABlockedRead(t *testing.T) {
	p := newPair(t)
	atA, _ := p.connect(t, 7)
	read := func() error {
		_, err := atA.Read(make([]byte, 1))
		return err
	}
	var err error
	atA.SetReadDeadline(p.clock.Now().Add(3 * time.Second))
	if took := p.within(t, time.Minute, func() { err = read() }); took != 3*time.Second {
		t.Errorf("ended after %v", took)
	}
	var timeout net.Error
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v is no timeout", err)
	}
	if p.within(t, time.Minute, func() { err = read() }) != 0 || err == nil {
		t.Errorf("a read after the deadline: %v", err)
	}

	// Moved while a read is blocked: later, which the timer finds out when it fires early.
	atA.SetReadDeadline(p.clock.Now().Add(time.Second))
	p.clock.AfterFunc(time.Second/2, func() {
		atA.SetReadDeadline(p.clock.Now().Add(5 * time.Second))
	})
	took := p.within(t, time.Hour, func() { err = read() })
	if took != 5*time.Second+time.Second/2 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the deadline moved to later came after %v: %v", took, err)
	}

	// Later, earlier, away, to the past.
	atA.SetReadDeadline(p.clock.Now().Add(time.Second))
	p.clock.AfterFunc(time.Second/2, func() {
		atA.SetReadDeadline(p.clock.Now().Add(5 * time.Second))
	})
	p.clock.AfterFunc(2*time.Second, func() {
		atA.SetReadDeadline(p.clock.Now().Add(2 * time.Second))
	})
	p.clock.AfterFunc(3*time.Second, func() { atA.SetReadDeadline(time.Time{}) })
	p.clock.AfterFunc(60*time.Second, func() { atA.SetReadDeadline(time.Unix(1, 0)) })
	if took := p.within(t, time.Hour, func() { err = read() }); took != 60*time.Second {
		t.Errorf("the moved deadline came after %v: %v", took, err)
	}
}

func TestADeadlineEndsABlockedWrite(t *testing.T) {
	p := newPair(t)
	atA, _ := p.connect(t, 7)
	atA.SetDeadline(p.clock.Now().Add(3 * time.Second))
	var n int
	var err error
	sent := make([]byte, 4*bufferSize)
	took := p.within(t, time.Minute, func() { n, err = atA.Write(sent) })
	if took != 3*time.Second || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("ended after %v: %v", took, err)
	}
	if n == 0 || n >= len(sent) {
		t.Errorf("%d bytes were taken for a peer that does not read", n)
	}
}
