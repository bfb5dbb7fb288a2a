package link

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheBarrierComesBehindEverythingThatHadArrived(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		// Deliver blocks, so that frames pile up in the connection behind the reader.
		root.events = make(chan Event)
		conn, up := w.rawSession(memberAddress, memberKeys[0])
		const frames = 50
		for i := range frames {
			write(t, conn, frame(i))
		}
		synctest.Wait()
		root.links.Drain(up.Session)
		for i := range frames {
			if got := nonceOf(t, expect[Arrived](root).Data); got != i {
				t.Fatalf("frame %d, want %d", got, i)
			}
		}
		expect[Drained](root)
	})
}

func TestTheBarrierInterruptsAnIdleReader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, atRoot, atMember := w.pair()
		synctest.Wait()
		began := time.Now()
		root.links.Drain(atRoot.Session)
		root.links.Drain(atRoot.Session) // two that are asked for at once are one
		expect[Drained](root)
		if took := time.Since(began); took != quietTime {
			t.Errorf("the barrier took %v", took)
		}
		root.silent()
		// The session goes on, in both directions, and can be drained again.
		member.links.Send(atMember.Session, true, frame(1))
		expect[Arrived](root)
		root.links.Send(atRoot.Session, true, frame(2))
		expect[Arrived](member)
		root.links.Drain(atRoot.Session)
		expect[Drained](root)
	})
}

func TestTheBarrierDoesNotExtendTheTimeLimits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		conn, up := w.rawSession(memberAddress, memberKeys[0])
		write(t, conn, frame(1)[:5])
		began := time.Now()
		<-time.After(FrameTime / 2)
		root.links.Drain(up.Session)
		expect[Drained](root)
		root.expectDown(up.Session, Deadline)
		if took := time.Since(began); took != FrameTime {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestABarrierOnASessionThatEndsIsAnsweredByDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, _, atRoot, _ := w.pair()
		root.links.Drain(atRoot.Session)
		root.links.Close(atRoot.Session, Local)
		root.expectDown(atRoot.Session, Local)
		root.links.Drain(atRoot.Session) // and nothing happens
		root.links.Send(atRoot.Session, true, frame(1))
	})
}

// The premise of package comment "barrier": what a read does whose deadline is over, and that TLS
// goes on after it. memnet is the connection of the other tests; here is the standard library's.
func TestATimedOutReadTakesNothingAndLosesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, b := net.Pipe()
		defer b.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.Write([]byte("x"))
			a.Close()
		}()
		b.SetReadDeadline(time.Now())
		if n, err := b.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("read %d bytes past the deadline, error %v", n, err)
		}
		b.SetReadDeadline(time.Now().Add(quietTime))
		if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read %d bytes before the deadline, error %v", n, err)
		}
		<-done
	})
}
