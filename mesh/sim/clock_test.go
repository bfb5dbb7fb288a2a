package sim

import (
	"testing"

	"pgregory.net/rapid"
)

// TestAClockReachesWhatItShows: reaches is the first instant at which a clock shows something, for
// every rate, and after changes of every kind.
func TestAClockReachesWhatItShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := clock{fast: rapid.Int64Range(-rateMax, rateMax).Draw(t, "fast")}
		now := Time(0)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			now += Time(rapid.Int64Range(0, int64(Hour)).Draw(t, "later"))
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				c.change(now, rapid.Int64Range(-c.micros(now), int64(Hour)).Draw(t, "by"))
			case 1:
				c.stop(now)
			case 2:
				c.start(now)
			}
		}
		c.start(now)
		want := c.micros(now) + rapid.Int64Range(-1000, int64(Hour)).Draw(t, "want")
		at := c.reaches(now, want)
		if at < now || c.micros(at) < want || at > now && c.micros(at-1) >= want {
			t.Fatalf("reaches %d at %d, where it shows %d, and %d before", want, at, c.micros(at),
				c.micros(at-1))
		}
	})
}

// TestAClockDoesNotGoBack, whatever its rate: it rounds in one direction.
func TestAClockDoesNotGoBack(t *testing.T) {
	for _, fast := range []int64{-rateMax, -1, 0, 1, rateMax} {
		c := clock{fast: fast}
		for at := Second - 200; at < Second+200; at++ {
			if c.micros(at+1) < c.micros(at) {
				t.Fatalf("fast by %d: %d after %d", fast, c.micros(at+1), c.micros(at))
			}
		}
		if got, want := c.micros(100*Second), int64(100*Second)+100*fast; got != want {
			t.Errorf("fast by %d: %d after 100 s, want %d", fast, got, want)
		}
	}
}

func TestAClockThatStandsStillReachesNothing(t *testing.T) {
	var c clock
	c.stop(Second)
	if at := c.reaches(2*Second, int64(Second)+1); at != never {
		t.Errorf("a clock that stands still goes on at %d", at)
	}
	if at := c.reaches(2*Second, int64(Second)); at != 2*Second {
		t.Errorf("what it shows it reaches at %d", at)
	}
	c.start(3 * Second)
	if got := c.micros(4 * Second); got != int64(2*Second) {
		t.Errorf("after two seconds of standing still it shows %d", got)
	}
}
