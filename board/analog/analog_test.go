//go:build !arm

package analog

import (
	"testing"

	"holdfast/board/mmio"
)

const base = 0x020c8000

// model is the PLL, which locks after so many reads, and an identity.
type model struct {
	pll, identity uint32
	lockAfter     int
	early         bool // the clock was let out of a PLL that had not locked
}

func (m *model) ReadRegister(offset uint32, _ int) uint32 {
	if offset == digprog {
		return m.identity
	}
	if m.lockAfter--; m.lockAfter <= 0 && m.pll&pllENETPowerDown == 0 {
		return m.pll | pllENETLock
	}
	return m.pll
}

func (m *model) WriteRegister(offset uint32, _ int, v uint32) {
	if offset == pllENET {
		m.pll = v &^ pllENETLock
		m.early = m.early || v&pllENETClock1 != 0 && m.lockAfter > 0
	}
}

func TestTheChipIsRecognised(t *testing.T) {
	for identity, want := range map[uint32]string{
		0x00640000: "i.MX 6UL", 0x00640002: "i.MX 6UL", 0x00650001: "i.MX 6ULL",
		0x00610000: "unknown chip 0x6100",
	} {
		remove := mmio.Install(base, 0x1000, &model{identity: identity})
		if got := Block(base).Chip().String(); got != want {
			t.Errorf("%#x is %q, want %q", identity, got, want)
		}
		remove()
	}
}

func TestTheClockComesOutOnceThePLLHasLocked(t *testing.T) {
	const reset = pllENETPowerDown | pllENETBypass | 3 // as after a reset: off, bypassed
	m := &model{pll: reset | 1<<20, lockAfter: 50}
	defer mmio.Install(base, 0x1000, m)()
	if err := Block(base).StartENETClock(); err != nil {
		t.Fatal(err)
	}
	if m.pll != 1<<20|1<<13|1 || m.early {
		t.Errorf("PLL_ENET = %#x, before the lock %v", m.pll, m.early)
	}
}

func TestAPLLThatDoesNotLockIsAnError(t *testing.T) {
	m := &model{lockAfter: lockPolls + 10}
	defer mmio.Install(base, 0x1000, m)()
	if err := Block(base).StartENETClock(); err == nil || m.pll&pllENETClock1 != 0 {
		t.Errorf("%v, PLL_ENET = %#x", err, m.pll)
	}
}
