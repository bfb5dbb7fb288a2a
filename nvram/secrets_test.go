package nvram

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// secretOf is a secret of which every byte is v.
func secretOf(v byte) Secret { return Secret(bytes.Repeat([]byte{v}, secretBytes)) }

func TestASecretDoesNotPrint(t *testing.T) {
	id := Identity{Seed: secretOf(0xab), Boots: 3}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %v"} {
		for _, v := range []any{id, &id, id.Seed, &id.Seed} {
			args := []any{v, v}[:strings.Count(verb, "%")]
			got := strings.ToLower(fmt.Sprintf(verb, args...))
			for _, leak := range []string{"abab", "0xab", "171"} {
				if strings.Contains(got, leak) {
					t.Errorf("%s of a %T prints %s", verb, v, got)
				}
			}
		}
	}
}

func TestEveryBootHasACountOfItsOwn(t *testing.T) {
	s := open(t, blank())
	if _, err := s.CountBoot(); err == nil {
		t.Fatal("a blank chip counts boots")
	}
	if err := s.SaveIdentity(Identity{secretOf(1), 41}); err != nil {
		t.Fatal(err)
	}
	for want := uint64(42); want < 46; want++ {
		id, err := s.CountBoot()
		if err != nil || id != (Identity{secretOf(1), want}) {
			t.Fatalf("boot %d: %d, %v", want, id.Boots, err)
		}
		if stored, err := s.LoadIdentity(); err != nil || stored != id {
			t.Fatalf("boot %d is stored as %d, %v", want, stored.Boots, err)
		}
	}
}

// TestABootThatCannotBeCountedIsAnError cuts the power at every byte of the count: CountBoot never
// returns a count that the next boot could return again.
func TestABootThatCannotBeCountedIsAnError(t *testing.T) {
	before := blank()
	if err := open(t, before).SaveIdentity(Identity{secretOf(1), 7}); err != nil {
		t.Fatal(err)
	}
	for left := range headerBytes + identityBytes {
		chip := &torn{bytes.Clone(before), left}
		if id, err := open(t, chip).CountBoot(); !errors.Is(err, errPower) || id != (Identity{}) {
			t.Fatalf("cut after %d bytes: boot %d, %v", left, id.Boots, err)
		}
		id, err := open(t, chip.Memory).CountBoot()
		if err != nil || id.Seed != secretOf(1) || id.Boots < 8 {
			t.Fatalf("cut after %d bytes: next boot is %d, %v", left, id.Boots, err)
		}
	}
}

func TestTheBootCounterDoesNotWrap(t *testing.T) {
	s := open(t, blank())
	if err := s.SaveIdentity(Identity{secretOf(1), math.MaxUint64 - 1}); err != nil {
		t.Fatal(err)
	}
	if id, err := s.CountBoot(); err != nil || id.Boots != math.MaxUint64 {
		t.Errorf("last boot: %d, %v", id.Boots, err)
	}
	if id, err := s.CountBoot(); err == nil {
		t.Errorf("one more boot: %d", id.Boots)
	}
}

func TestSecretsOfZerosAreRefused(t *testing.T) {
	s := open(t, blank())
	if err := s.SaveIdentity(Identity{}); !errors.Is(err, ErrBlankSecret) {
		t.Errorf("identity: %v", err)
	}
	if err := s.SaveEntropy(Secret{}); !errors.Is(err, ErrBlankSecret) {
		t.Errorf("entropy: %v", err)
	}
}

func TestNoCopyOfAUsedSeedRemains(t *testing.T) {
	chip := blank()
	s := open(t, chip)
	for v := byte(1); v < 5; v++ {
		if err := s.SaveEntropy(secretOf(v)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.LoadEntropy(); err != nil || got != secretOf(v) {
			t.Fatalf("seed %d: %v", v, err)
		}
		if used := secretOf(v - 1); bytes.Contains(chip, used[:]) {
			t.Errorf("seed %d is still on the chip", v-1)
		}
	}
}

// TestATornSeedIsNeverHandedOut cuts the power at every byte of both writes: the next boot finds
// the used seed or the next one, and SaveEntropy has said that it failed unless both are stored.
func TestATornSeedIsNeverHandedOut(t *testing.T) {
	before := blank()
	if err := open(t, before).SaveEntropy(secretOf(1)); err != nil {
		t.Fatal(err)
	}
	const total = 2 * (headerBytes + entropyBytes)
	for left := range total + 1 {
		chip := &torn{bytes.Clone(before), left}
		err := open(t, chip).SaveEntropy(secretOf(2))
		if done := left == total; done != (err == nil) || !done && !errors.Is(err, errPower) {
			t.Fatalf("cut after %d bytes: %v", left, err)
		}
		got, err := open(t, chip.Memory).LoadEntropy()
		if err != nil || got != secretOf(1) && got != secretOf(2) {
			t.Fatalf("cut after %d bytes: % x, %v", left, got[:], err)
		}
	}
}

func TestALostEntropyRecordIsReplaced(t *testing.T) {
	s := open(t, blank())
	var absent *AbsentError
	if _, err := s.LoadEntropy(); !errors.As(err, &absent) || absent.Reason() != ReasonBlank {
		t.Fatalf("blank chip: %v", err)
	}
	if err := s.SaveEntropy(secretOf(9)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.LoadEntropy(); err != nil || got != secretOf(9) {
		t.Errorf("%v", err)
	}
}
