package relay

import (
	"bytes"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestARuleThatMeansNothingIsRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		rule Rule
		ok   bool
	}{
		{"nothing set", Rule{}, true},
		{"chance 0", Rule{Drop: 0}, true},
		{"chance 1", Block, true},
		{"chance below 0", Rule{Corrupt: -0.001}, false},
		{"chance above 1", Rule{Truncate: 1.001}, false},
		{"chance not a number", Rule{Repeat: math.NaN()}, false},
		{"negative delay", Rule{Delay: -1}, false},
		{"negative jitter", Rule{Jitter: -1}, false},
		{"negative rate", Rule{Rate: -1}, false},
		{"held", Rule{Hold: true}, true},
		{"held and delayed", Rule{Hold: true, Delay: 1}, false},
		{"hurry past a delay", Rule{Hurry: 0.5, Delay: 1}, true},
		{"hurry past a rate", Rule{Hurry: 0.5, Rate: 1}, true},
		{"hurry past nothing", Rule{Hurry: 0.5}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.rule.check(); (err == nil) != c.ok {
				t.Errorf("check says %v", err)
			}
		})
	}
}

func TestARuleNeverChangesTheFrameItIsGivenNorAnyHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chance := rapid.Float64Range(0, 1)
		r := Rule{
			Drop:     chance.Draw(t, "drop"),
			Corrupt:  chance.Draw(t, "corrupt"),
			Truncate: chance.Draw(t, "truncate"),
			Repeat:   chance.Draw(t, "repeat"),
			Delay:    1,
			Jitter:   time.Duration(rapid.IntRange(0, 1000).Draw(t, "jitter")),
			Hurry:    chance.Draw(t, "hurry"),
		}
		given := rapid.SliceOfN(rapid.Byte(), headerLen, 1514).Draw(t, "frame")
		before := bytes.Clone(given)
		seed := rapid.Uint64().Draw(t, "seed")
		f := r.apply(given, rand.New(rand.NewPCG(seed, 0)))
		if !bytes.Equal(given, before) {
			t.Fatal("the given frame was changed")
		}
		again := r.apply(given, rand.New(rand.NewPCG(seed, 0)))
		if !bytes.Equal(f.frame, again.frame) || f.change != again.change || f.jitter != again.jitter {
			t.Fatal("the same seed decided differently")
		}
		if len(f.frame) < headerLen || !bytes.Equal(f.frame[:headerLen], before[:headerLen]) {
			t.Fatal("the header was changed")
		}
		flipped := 0
		for i := range f.frame {
			flipped += bits.OnesCount8(f.frame[i] ^ before[i])
		}
		if f.change&Corrupted == 0 && flipped != 0 || flipped > 1 {
			t.Fatalf("%d bits inverted, change %v", flipped, f.change)
		}
		if cut := len(f.frame) < len(before); cut != (f.change&Truncated != 0) {
			t.Fatalf("%d of %d bytes, change %v", len(f.frame), len(before), f.change)
		}
		if f.jitter < 0 || f.jitter > r.Jitter || f.wait == (f.change&Hurried != 0) && !f.drop {
			t.Fatalf("jitter %v, wait %v, change %v", f.jitter, f.wait, f.change)
		}
	})
}

func TestCertainChancesAlwaysHit(t *testing.T) {
	frame := make([]byte, minFrame)
	chance := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		if f := (&Rule{Drop: 1}).apply(frame, chance); !f.drop {
			t.Fatal("Drop 1 passed a frame")
		}
		f := (&Rule{Corrupt: 1, Truncate: 1, Repeat: 1}).apply(frame, chance)
		if f.change != Corrupted|Truncated|Repeated || f.drop || f.hold || f.wait {
			t.Fatalf("certain changes gave %+v", f)
		}
		if f := (&Rule{}).apply(frame, chance); f.change != 0 || f.drop || f.hold || f.wait {
			t.Fatalf("no rule gave %+v", f)
		}
	}
}

func TestCorruptReachesEveryBitBehindTheHeader(t *testing.T) {
	frame := make([]byte, headerLen+3)
	chance := rand.New(rand.NewPCG(1, 2))
	hit := make([]byte, len(frame))
	for range 1000 { // of 24 bits, each is missed with a chance of 1e-18
		for i, x := range (&Rule{Corrupt: 1}).apply(frame, chance).frame {
			hit[i] |= x
		}
	}
	if want := append(make([]byte, headerLen), 0xff, 0xff, 0xff); !bytes.Equal(hit, want) {
		t.Errorf("bits inverted: %x, want %x", hit, want)
	}
}

func TestMatchSelectsTheFramesThatARuleMeans(t *testing.T) {
	r := Rule{Drop: 1, Match: func(frame []byte) bool { return frame[headerLen] == 7 }}
	chance := rand.New(rand.NewPCG(1, 2))
	frame := make([]byte, minFrame)
	if r.apply(frame, chance).drop {
		t.Error("a frame that does not match was dropped")
	}
	frame[headerLen] = 7
	if !r.apply(frame, chance).drop {
		t.Error("a frame that matches passed")
	}
}
