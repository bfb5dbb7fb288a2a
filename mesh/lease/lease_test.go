package lease_test

import (
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/when"
)

const length = 6000

// at is an instant by the counter alone.
func at(t when.Instant) lease.Clocks { return lease.Clocks{Counter: t, Second: when.NoSecond} }

func TestTheZeroLeaseIsNotHeld(t *testing.T) {
	var w lease.Write
	if w.Valid(at(0)) || w.Left(at(0)) != 0 || w.Sent() != 0 {
		t.Error("a lease that nobody gave")
	}
	if w.Ack(0, 0, length) || w.Valid(at(0)) {
		t.Error("a nonce of zero answers no request")
	}
}

func TestALeaseCountsFromTheSendingAndIncludesItsEnd(t *testing.T) {
	var w lease.Write
	w.Ask(at(1000), 7)
	if w.Valid(at(1000)) {
		t.Fatal("a request is no lease")
	}
	if !w.Ack(4000, 7, length) {
		t.Fatal("the answer is not taken")
	}
	for now, want := range map[when.Instant]bool{4000: true, 6999: true, 7000: true, 7001: false} {
		if w.Valid(at(now)) != want {
			t.Errorf("at %d: valid %v", now, !want)
		}
		if left := w.Left(at(now)); want && left != when.Instant(7000).Sub(now) || !want && left != 0 {
			t.Errorf("at %d: %d left", now, left)
		}
	}
	if w.Sent() != 1000 || w.Acked() != 4000 {
		t.Errorf("sent %d, acked %d", w.Sent(), w.Acked())
	}
}

func TestAnAnswerCountsOnceAndOutOfOrder(t *testing.T) {
	var w lease.Write
	w.Ask(at(1000), 1)
	w.Ask(at(2000), 2)
	w.Ack(2100, 2, length)
	if !w.Ack(2200, 1, length) {
		t.Error("the older answer is one too")
	}
	if !w.Valid(at(8000)) || w.Sent() != 2000 {
		t.Error("an older answer has taken something from the lease")
	}
	if w.Ack(2300, 2, length) {
		t.Error("an answer counts twice")
	}
}

func TestZeroEndsTheLeaseAndForgetsWhatWasAsked(t *testing.T) {
	var w lease.Write
	w.Ask(at(1000), 1)
	w.Ack(1001, 1, length)
	w.Ask(at(2000), 2)
	w.Zero()
	if w.Valid(at(2000)) || w.Ack(2001, 2, length) || w.Valid(at(2001)) {
		t.Error("a lease survives")
	}
	if w.Sent() != 1000 {
		t.Error("the evidence is gone")
	}
}

// TestTheLeaseIsThatOfTheLatestAnsweredRequest compares the lease with the sentence that defines
// it: the latest sending of a request that was answered while it was among the last eight, plus W.
func TestTheLeaseIsThatOfTheLatestAnsweredRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w lease.Write
		var now when.Instant
		var nonce id.Nonce
		asked := map[id.Nonce]when.Instant{}
		until := when.Instant(-1)
		t.Repeat(map[string]func(*rapid.T){
			"time passes": func(t *rapid.T) {
				now += when.Instant(rapid.Int64Range(0, 4000).Draw(t, "ms"))
			},
			"ask": func(t *rapid.T) {
				nonce++
				w.Ask(at(now), nonce)
				asked[nonce] = now
				delete(asked, nonce-8)
			},
			"ack": func(t *rapid.T) {
				n := id.Nonce(rapid.Uint64Range(0, uint64(nonce)+1).Draw(t, "nonce"))
				sent, ok := asked[n]
				if w.Ack(now, n, length) != ok {
					t.Fatalf("answer to %d taken: %v, want %v", n, !ok, ok)
				}
				if ok {
					until = max(until, sent+length)
					delete(asked, n)
				}
			},
			"zero": func(t *rapid.T) {
				w.Zero()
				clear(asked)
				until = -1
			},
			"": func(t *rapid.T) {
				if w.Valid(at(now)) != (now <= until) {
					t.Fatalf("at %d: valid %v, the lease is until %d", now, w.Valid(at(now)), until)
				}
			},
		})
	})
}

// The counter stands still while the second clock goes on: that is what a stopped virtual machine
// is.
func TestTheSecondClockEndsTheLeaseToo(t *testing.T) {
	for _, c := range []struct {
		name  string
		now   lease.Clocks
		valid bool
	}{
		{"at once", lease.Clocks{Counter: 1000, Second: 500}, true},
		{"in the last second", lease.Clocks{Counter: 7000, Second: 506}, true},
		{"with a counter that stood still", lease.Clocks{Counter: 1001, Second: 506}, true},
		{"and a second longer", lease.Clocks{Counter: 1001, Second: 507}, false},
		{"an hour later", lease.Clocks{Counter: 1001, Second: 500 + 3600}, false},
		{"with a clock set back", lease.Clocks{Counter: 1001, Second: 499}, false},
		{"without a reading", lease.Clocks{Counter: 1001, Second: when.NoSecond}, false},
		{"by the counter", lease.Clocks{Counter: 7001, Second: 500}, false},
	} {
		w := lease.Write{Both: true}
		w.Ask(lease.Clocks{Counter: 1000, Second: 500}, 1)
		w.Ack(1001, 1, length)
		if w.Valid(c.now) != c.valid || (w.Left(c.now) > 0) != (c.valid && c.now.Counter < 7000) {
			t.Errorf("%s: valid %v, left %d", c.name, w.Valid(c.now), w.Left(c.now))
		}
	}
}

func TestARequestThatWasSentWithoutAReadingGivesNoLease(t *testing.T) {
	w := lease.Write{Both: true}
	w.Ask(at(1000), 1)
	w.Ack(1001, 1, length)
	if w.Valid(lease.Clocks{Counter: 1001, Second: 500}) {
		t.Error("a lease that the second clock does not time")
	}
}

// A counter that stood still is younger than what it times. What the second clock has seen of that
// counts also when the clock is set afterwards.
func TestTheAgeIsTheLongestThatEitherClockKnows(t *testing.T) {
	for _, c := range []struct {
		name   string
		second when.Calendar
		stood  when.Span
		age    when.Span
		known  bool
	}{
		{"by the counter", 502, 0, 3_400, true},
		{"by the second clock, and a second against us", 510, 0, 11_000, true},
		{"with what the counter missed", 503, 9_000, 12_400, true},
		{"whichever is more", 520, 9_000, 21_000, true},
		{"set back, but not behind the sending", 500, 9_000, 12_400, true},
		{"set back", 499, 9_000, 0, false},
		{"silent", when.NoSecond, 0, 0, false},
	} {
		w := lease.Write{Both: true}
		w.Ask(lease.Clocks{Counter: 1000, Second: 500}, 1)
		w.Ack(1001, 1, length)
		w.Stood(c.stood)
		age, known := w.Age(lease.Clocks{Counter: 4400, Second: c.second})
		if known != c.known || known && age != c.age {
			t.Errorf("%s: %d ms, known %v", c.name, age, known)
		}
		w.Ask(lease.Clocks{Counter: 5000, Second: 600}, 2)
		w.Ack(5001, 2, length)
		if age, known := w.Age(lease.Clocks{Counter: 7000, Second: 600}); age != 2_000 || !known {
			t.Errorf("%s: after another answer %d ms, known %v", c.name, age, known)
		}
	}
}

// The second clock may turn just after the sending: a lease that lasts less than a second must not
// end with that, and one turn later it must.
func TestAShortLeaseSurvivesOneTurnOfTheSecondClock(t *testing.T) {
	for length, most := range map[when.Span]when.Calendar{400: 1, 1_000: 1, 1_001: 2, 1_999: 2} {
		w := lease.Write{Both: true}
		w.Ask(lease.Clocks{Counter: 1000, Second: 500}, 1)
		w.Ack(1001, 1, length)
		for age := when.Calendar(0); age < 4; age++ {
			now := lease.Clocks{Counter: 1400, Second: 500 + age}
			if got := w.Valid(now); got != (age <= most) {
				t.Errorf("a lease of %d ms after %d turns: valid %v", length, age, got)
			}
		}
	}
}
