package link

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/id"
	"holdfast/mesh/wire"
)

func TestASessionOpensOnBothSidesAndCarriesFramesInOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, atRoot, atMember := w.pair()
		if id.NodeOf(atRoot.Key) != nodeOf(memberKeys[0]) ||
			id.NodeOf(atMember.Key) != nodeOf(rootKey) {
			t.Fatal("the keys of the sessions are not the peers'")
		}
		if atRoot.Slot != 0 || atMember.Remote != rootPort.String() {
			t.Fatalf("at the authority %+v, at the member %+v", atRoot, atMember)
		}
		const frames = 20
		for i := range frames {
			member.links.Send(atMember.Session, true, frame(i))
			root.links.Send(atRoot.Session, true, frame(100+i))
		}
		for i := range frames {
			if got := nonceOf(t, expect[Arrived](root).Data); got != i {
				t.Fatalf("the authority got frame %d, want %d", got, i)
			}
			if got := nonceOf(t, expect[Arrived](member).Data); got != 100+i {
				t.Fatalf("the member got frame %d, want %d", got, 100+i)
			}
		}
	})
}

func TestTheHandshakeRefusesWithTheReasonOnBothSides(t *testing.T) {
	tests := []struct {
		name             string
		key, trusts      int
		atRoot, atMember Reason
	}{
		{"the member trusts another authority", 11, 99, WrongKey, WrongKey},
		{"the authority does not allow the member", 99, 1, NotAllowed, NotAllowed},
		{"neither trusts the other", 99, 98, WrongKey, WrongKey},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				root := w.authority(memberKeys[0])
				key, trusts := keyOf(byte(test.key)), keyOf(byte(test.trusts))
				member := w.member(memberAddress, key, trusts)
				root.expectRefused(test.atRoot)
				member.expectRefused(test.atMember)
			})
		})
	}
}

func TestTheAuthorityRefusesWhatIsNoMember(t *testing.T) {
	tests := []struct {
		name  string
		speak func(t *testing.T, w *world)
		want  Reason
	}{
		{"a TLS client without a certificate", func(t *testing.T, w *world) {
			_, c := w.rawClient(memberAddress, nil)
			go c.Handshake()
		}, NoCertificate},
		{"bytes that are not TLS", func(t *testing.T, w *world) {
			raw, _ := w.rawClient(memberAddress, nil)
			write(t, raw, []byte("GET / HTTP/1.1\r\n\r\n"))
		}, TLS},
		{"TLS 1.2", func(t *testing.T, w *world) {
			raw, _ := w.rawClient(memberAddress, nil)
			go tls.Client(raw, &tls.Config{
				InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12,
			}).Handshake()
		}, TLS},
		{"a client that leaves", func(t *testing.T, w *world) {
			raw, _ := w.rawClient(memberAddress, nil)
			raw.Close()
		}, TLS},
		{"a client that says nothing", func(t *testing.T, w *world) {
			w.rawClient(memberAddress, nil)
		}, Timeout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				root := w.authority(memberKeys[0])
				began := time.Now()
				test.speak(t, w)
				root.expectRefused(test.want)
				if took := time.Since(began); took > HandshakeTime {
					t.Errorf("refused after %v", took)
				}
			})
		})
	}
}

func TestTheMemberRefusesAnAuthorityThatIsNone(t *testing.T) {
	own, err := selfSigned(rootKey)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		answer func(c net.Conn)
		want   Reason
	}{
		{"closed at once, as by an authority without room", func(c net.Conn) {}, Full},
		{"something else than TLS", func(c net.Conn) {
			io.WriteString(c, "220 mail\r\n")
			io.Copy(io.Discard, c)
		}, TLS},
		{"no answer", func(c net.Conn) { io.Copy(io.Discard, c) }, Timeout},
		{"a handshake, but no greeting", func(c net.Conn) {
			s := tls.Server(c, serverConfig(own, []id.Node{nodeOf(memberKeys[0])}))
			io.Copy(io.Discard, s)
		}, Timeout},
		{"another first frame", func(c net.Conn) {
			s := tls.Server(c, serverConfig(own, []id.Node{nodeOf(memberKeys[0])}))
			s.Write(frame(1))
			io.Copy(io.Discard, s)
		}, TLS},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				l, err := w.net.Host(rootAddress).Listen(rootPort.Port())
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				go func() {
					for {
						c, err := l.Accept()
						if err != nil {
							return
						}
						go func() {
							defer c.Close()
							test.answer(c)
						}()
					}
				}()
				member := w.member(memberAddress, memberKeys[0], rootKey)
				member.expectRefused(test.want)
				member.stop()
			})
		})
	}
}

func TestASessionThatBreaksTheRulesEnds(t *testing.T) {
	oversize := binary.BigEndian.AppendUint16(nil, wire.FrameMax-wire.PrefixSize+1)
	tests := []struct {
		name  string
		send  []byte
		want  Reason
		after time.Duration
	}{
		{"a frame longer than any", oversize, Malformed, 0},
		{"a frame shorter than any", []byte{0, 1, 9}, Malformed, 0},
		{"half a frame", frame(1)[:7], Deadline, FrameTime},
		{"one byte", []byte{0}, Deadline, FrameTime},
		{"silence", nil, Backstop, BackstopTime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				root := w.authority(memberKeys[0])
				conn, up := w.rawSession(memberAddress, memberKeys[0])
				began := time.Now()
				if len(test.send) > 0 {
					write(t, conn, test.send)
				}
				root.expectDown(up.Session, test.want)
				if took := time.Since(began); took != test.after {
					t.Errorf("ended after %v, want %v", took, test.after)
				}
			})
		})
	}
}

func TestAFrameMayTakeItsTimeButNotMore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		conn, up := w.rawSession(memberAddress, memberKeys[0])
		f := frame(1)
		for i := range f { // each frame byte by byte, whole 1 ms before its time is over
			write(t, conn, f[i:i+1])
			if i == 0 {
				<-time.After(FrameTime - time.Millisecond)
			}
		}
		expect[Arrived](root)
		// The time of one that begins behind another's last byte counts from there.
		write(t, conn, frame(2)[:3])
		<-time.After(FrameTime - time.Millisecond)
		write(t, conn, append(frame(2)[3:], frame(3)[:5]...))
		began := time.Now()
		expect[Arrived](root)
		root.expectDown(up.Session, Deadline)
		if took := time.Since(began); took != FrameTime {
			t.Errorf("ended after %v", took)
		}
	})
}

func TestRubbishInsideASessionIsMalformed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		raw, conn := w.rawClient(memberAddress, memberKeys[0])
		if err := conn.Handshake(); err != nil {
			t.Fatal(err)
		}
		up := expect[Up](root)
		write(t, raw, []byte{23, 3, 3, 0, 17, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17})
		root.expectDown(up.Session, Malformed)
	})
}

func TestHandshakesOverTheRateAreClosedUnheard(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		const flood = 40
		for i := range flood {
			w.rawClient("10.7.0."+strconv.Itoa(100+i), nil)
		}
		synctest.Wait()
		if got := root.links.Overrate(); got != flood-HandshakeRate {
			t.Errorf("%d closed unheard, want %d", got, flood-HandshakeRate)
		}
		reasons := make(map[Reason]int)
		for range HandshakeRate + 1 {
			reasons[expect[Refused](root).Reason]++
		}
		// The newest four run into their time limit; the others were pushed out; one row stands for
		// the rest.
		if reasons[Timeout] != HandshakesMax || reasons[Full] != HandshakeRate-HandshakesMax+1 {
			t.Errorf("refused %v", reasons)
		}
		root.silent()
		// A second later a member gets in although four strangers say nothing again.
		<-time.After(time.Second)
		for i := range HandshakesMax {
			w.rawClient("10.7.0."+strconv.Itoa(200+i), nil)
		}
		_, c := w.rawClient(memberAddress, memberKeys[0])
		go c.Handshake()
		var full, up int
		for range 2 { // in either order: they are about two connections
			switch e := root.event().(type) {
			case Refused: // the oldest stranger
				if e.Reason == Full {
					full++
				}
			case Up:
				up++
			default:
				t.Errorf("%+v", e)
			}
		}
		if full != 1 || up != 1 {
			t.Errorf("%d refused, %d up", full, up)
		}
	})
}

func TestTheRateCountsAnySecond(t *testing.T) {
	var r rate
	begin := time.Unix(1000, 0)
	number := 0
	at := func(ms int) bool {
		number++
		return r.admit(begin.Add(time.Duration(ms)*time.Millisecond), strconv.Itoa(number))
	}
	for i := range HandshakeRate {
		if !at(i * 50) {
			t.Fatalf("number %d refused", i)
		}
	}
	for _, probe := range []struct {
		ms   int
		want bool
	}{{500, false}, {999, false}, {1000, true}, {1001, false}, {1049, false}, {1050, true}} {
		if got := at(probe.ms); got != probe.want {
			t.Errorf("at %d ms admitted=%v, want %v", probe.ms, got, probe.want)
		}
	}
}

// One address cannot take all that is admitted, however much it offers and in whatever order.
func TestAStrangerLeavesAHandshakeToOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r rate
		now := time.Unix(1000, 0)
		var others time.Time // when one from another address was admitted last
		for range 60 {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond)
			for range rapid.IntRange(0, 20).Draw(t, "flood") {
				r.admit(now, "stranger")
			}
			if now.Sub(others) < time.Second || !rapid.Bool().Draw(t, "member") {
				continue
			}
			if !r.admit(now, "member") {
				t.Fatal("no handshake is left for a member")
			}
			others = now
		}
	})
}

func TestEachPeerHasOneSlotAndTwoSessions(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys...)
		var first [Slots]Up
		for i := range Slots {
			_, first[i] = w.rawSession("10.7.0."+strconv.Itoa(11+i), memberKeys[i])
			if first[i].Slot != i {
				t.Fatalf("member %d has slot %d", i, first[i].Slot)
			}
		}
		_, c := w.rawClient("10.7.0.20", memberKeys[Slots])
		go c.Handshake()
		root.expectRefused(Full)

		<-time.After(time.Second) // the rate of handshakes
		_, second := w.rawSession("10.7.0.13", memberKeys[2])
		if second.Slot != 2 {
			t.Fatalf("a second session has slot %d", second.Slot)
		}
		root.silent()
		_, c = w.rawClient("10.7.0.13", memberKeys[2])
		go c.Handshake()
		for range 2 { // in either order: they are about two sessions
			switch e := root.event().(type) {
			case Up:
				if e.Slot != 2 {
					t.Errorf("a third session has slot %d", e.Slot)
				}
			case Down:
				if e.Session != first[2].Session || e.Reason != Replaced {
					t.Errorf("%+v, want the first session to be replaced", e)
				}
			default:
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestAFreedSlotIsUsedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys...)
		var ups [Slots]Up
		for i := range Slots {
			_, ups[i] = w.rawSession("10.7.0."+strconv.Itoa(11+i), memberKeys[i])
		}
		root.links.Close(ups[1].Session, Local)
		root.expectDown(ups[1].Session, Local)
		if _, up := w.rawSession("10.7.0.20", memberKeys[Slots]); up.Slot != 1 {
			t.Errorf("the slot is %d, want 1", up.Slot)
		}
	})
}

func TestClosingFlushesWhatIsQueued(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, atRoot, atMember := w.pair()
		for i := range 5 {
			root.links.Send(atRoot.Session, true, frame(i))
		}
		root.links.Close(atRoot.Session, Replaced)
		for i := range 5 {
			if got := nonceOf(t, expect[Arrived](member).Data); got != i {
				t.Fatalf("frame %d, want %d", got, i)
			}
		}
		root.expectDown(atRoot.Session, Replaced)
		member.expectDown(atMember.Session, EOF)
	})
}

func TestClosingDoesNotWaitForAPeerThatReadsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root := w.authority(memberKeys[0])
		_, up := w.rawSession(memberAddress, memberKeys[0])
		big := slices.Concat(binary.BigEndian.AppendUint16(nil, 4000), make([]byte, 4000))
		for range bulkQueue + 1 { // more than the network takes
			root.links.Send(up.Session, false, big)
			synctest.Wait()
		}
		began := time.Now()
		root.links.Close(up.Session, Local)
		root.expectDown(up.Session, Local)
		if took := time.Since(began); took > flushTime {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestAFullQueueEndsTheSession(t *testing.T) {
	for _, control := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			root := w.authority(memberKeys[0])
			_, up := w.rawSession(memberAddress, memberKeys[0])
			big := slices.Concat(binary.BigEndian.AppendUint16(nil, 4000), make([]byte, 4000))
			sent := 0
			for ; len(root.events) == 0 && sent < 1000; sent++ {
				root.links.Send(up.Session, control, big)
				synctest.Wait()
			}
			root.expectDown(up.Session, Full)
			if sent == 1000 {
				t.Error("the queue has no end")
			}
		})
	}
}

func TestControlFramesOvertakeBulkFrames(t *testing.T) {
	s := newSession(1, nil, nil, clock.System)
	for i := range 3 {
		s.queue(false, frame(100+i))
		s.queue(true, frame(i))
	}
	for _, want := range []int{0, 1, 2, 100, 101, 102} {
		f, ok := s.next()
		if got := nonceOf(t, f[wire.PrefixSize:]); !ok || got != want {
			t.Errorf("next is %d, want %d", got, want)
		}
	}
}

func TestEverythingEndsWithTheContext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, _, atMember := w.pair()
		w.rawClient("10.7.0.30", nil) // a handshake in progress
		synctest.Wait()
		root.stop() // waits for every goroutine
		member.expectDown(atMember.Session, EOF)
		member.stop()
	})
}

func TestAcceptReportsAListenerThatFails(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		e := w.end(rootAddress, rootKey)
		l, err := e.host.Listen(rootPort.Port())
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if err := e.links.Accept(context.Background(), l); err == nil {
			t.Error("no error")
		}
	})
}
