package node

import (
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/link"
	"holdfast/mesh"
)

func TestEveryReasonOfALinkHasItsRow(t *testing.T) {
	w := newLoopWorld()
	w.core.effect = func(mesh.Input) []mesh.Effect { return nil }
	for _, why := range []link.Reason{
		link.EOF, link.Reset, link.Deadline, link.Malformed, link.Replaced, link.Backstop,
		link.Local, link.Full,
	} {
		linkEvent{link.Down{Session: 1, Peer: member.id, Reason: why}}.handle(w.loop)
	}
	for _, why := range []link.Reason{
		link.WrongKey, link.NotAllowed, link.NoCertificate, link.Timeout, link.Full, link.TLS,
		link.Unreachable,
	} {
		linkEvent{link.Refused{Remote: rootIP + ":7070", Reason: why}}.handle(w.loop)
	}
	rows := parse(t, w.console.lines()) // fails on a row that is not in the grammar
	if len(rows) != 8+6 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestAStrangerCannotFillTheLogWithRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLoopWorld()
		refuse := func(why link.Reason) {
			linkEvent{link.Refused{Remote: rootIP + ":7070", Reason: why}}.handle(w.loop)
		}
		for range 10 {
			refuse(link.TLS)
			refuse(link.Timeout)
		}
		<-time.After(time.Duration(saidMS)*time.Millisecond - time.Millisecond)
		refuse(link.TLS)
		<-time.After(time.Millisecond)
		refuse(link.TLS)
		if rows := w.log.After(0); len(rows) != 3 {
			t.Errorf("rows %v, want tls, timeout and, a second later, tls", rows)
		}
		if n := w.stats.refused.Load(); n != 22 {
			t.Errorf("%d counted", n)
		}
	})
}
