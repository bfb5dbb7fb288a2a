package replay_test

import (
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/replay"
	"holdfast/mesh/wire"
)

func commit(client byte, seq uint64, value string) *wire.RouteReq {
	return &wire.RouteReq{Request: wire.Request{Client: id.Client{client}, Boot: 1, Seq: seq},
		FirstEpoch: 1, Op: wire.Commit, Class: wire.Lease, Durability: wire.Local,
		IfVersion: wire.AnyVersion, Within: 5_000, Value: []byte(value)}
}

func stat(client byte, seq uint64) *wire.RouteReq {
	q := commit(client, seq, "")
	q.Op, q.Durability = wire.Stat, wire.None
	return q
}

func check(t *testing.T, w *replay.Window, q *wire.RouteReq, since id.Epoch,
	want replay.Verdict, word refusal.Word) replay.Reply {
	t.Helper()
	verdict, got, reply := w.Check(q, since)
	if verdict != want || got != word {
		t.Errorf("verdict %d with %v, want %d with %v", verdict, got, want, word)
	}
	return reply
}

func TestARequestIsExecutedOnce(t *testing.T) {
	var w replay.Window
	q := commit(1, 1, "a")
	check(t, &w, q, 1, replay.Execute, refusal.OK)
	done := replay.Reply{Version: 7, Durability: wire.Local, Copies: 1}
	w.Remember(q, done)
	if got := check(t, &w, q, 1, replay.Repeat, refusal.OK); got != done {
		t.Errorf("the repeated reply is %+v", got)
	}
	check(t, &w, commit(1, 1, "b"), 1, replay.Refuse, refusal.Replay)
	check(t, &w, stat(1, 1), 1, replay.Refuse, refusal.Replay)
	check(t, &w, commit(1, 2, "a"), 1, replay.Execute, refusal.OK)
	check(t, &w, commit(2, 1, "a"), 1, replay.Execute, refusal.OK)
}

func TestARepeatedReadIsAReplay(t *testing.T) {
	var w replay.Window
	w.Remember(stat(1, 1), replay.Reply{})
	check(t, &w, stat(1, 1), 1, replay.Refuse, refusal.Replay)
}

func TestTheCapabilityIsNoPartOfTheRequest(t *testing.T) {
	var w replay.Window
	w.Remember(commit(1, 1, "a"), replay.Reply{Version: 1})
	again := commit(1, 1, "a")
	again.Capability[0] = 1
	again.FirstEpoch = 3
	check(t, &w, again, 1, replay.Repeat, refusal.OK)
}

func TestAnEvictedRequestIsAReplay(t *testing.T) {
	var w replay.Window
	for seq := range uint64(replay.Max + 1) {
		w.Remember(commit(1, seq+10, "a"), replay.Reply{})
	}
	check(t, &w, commit(1, 10, "a"), 1, replay.Refuse, refusal.Replay)
	check(t, &w, commit(1, 9, "a"), 1, replay.Refuse, refusal.Replay)
	check(t, &w, commit(1, 11, "a"), 1, replay.Repeat, refusal.OK)
	check(t, &w, commit(1, 30, "a"), 1, replay.Execute, refusal.OK)
	check(t, &w, commit(2, 9, "a"), 1, replay.Execute, refusal.OK)
	other := commit(1, 9, "a")
	other.Request.Boot = 2
	check(t, &w, other, 1, replay.Execute, refusal.OK)
}

func TestARequestFromBeforeThisHomeHasAnUnknownOutcome(t *testing.T) {
	var w replay.Window
	q := commit(1, 1, "a")
	q.FirstEpoch = 3
	check(t, &w, q, 4, replay.Refuse, refusal.UnknownOutcome)
	check(t, &w, q, 3, replay.Execute, refusal.OK)
	w.Remember(q, replay.Reply{Version: 1})
	check(t, &w, q, 4, replay.Repeat, refusal.OK) // it came with the record
}

// TestNothingIsExecutedTwice plays requests of some clients, each of whom counts upwards and
// repeats at will, against the window: as long as no more clients than it has marks for are
// evicted, nothing is ever executed a second time.
func TestNothingIsExecutedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w replay.Window
		executed := map[wire.Request]bool{}
		next := map[byte]uint64{}
		clients := byte(rapid.IntRange(1, replay.Max).Draw(t, "clients"))
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			c := byte(rapid.IntRange(1, int(clients)).Draw(t, "client"))
			seq := uint64(rapid.IntRange(1, int(next[c])+2).Draw(t, "seq"))
			next[c] = max(next[c], seq)
			q := commit(c, seq, "a")
			if rapid.Bool().Draw(t, "stat") {
				q = stat(c, seq)
			}
			switch verdict, _, reply := w.Check(q, 1); verdict {
			case replay.Execute:
				if executed[q.Request] {
					t.Fatalf("%v is executed twice", q.Request)
				}
				executed[q.Request] = true
				w.Remember(q, replay.Reply{Version: seq})
			case replay.Repeat:
				if !executed[q.Request] || reply.Version != seq {
					t.Fatalf("%v is answered with %+v", q.Request, reply)
				}
			}
		}
	})
}

func TestTheClientThatHasBeenQuietLongestIsForgottenFirst(t *testing.T) {
	var w replay.Window
	seq := uint64(0)
	evict := func(client byte) { // remembers a request and pushes it out
		seq++
		w.Remember(commit(client, seq, "a"), replay.Reply{})
	}
	for client := range byte(replay.Max) {
		evict(client + 1) // marks of 1 to 8 once these are pushed out
	}
	evict(1) // a second one of client 1
	for range replay.Max {
		seq++
		w.Remember(commit(9, seq, "a"), replay.Reply{}) // pushes all of the above out
	}
	evict(9) // and the first of its own: a ninth mark
	check(t, &w, commit(1, 1, "a"), 1, replay.Refuse, refusal.Replay)
	check(t, &w, commit(2, 2, "a"), 1, replay.Execute, refusal.OK)
	check(t, &w, commit(3, 3, "a"), 1, replay.Refuse, refusal.Replay)
}
