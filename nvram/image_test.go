package nvram

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestAnImageHoldsEveryRecordTwice(t *testing.T) {
	e, err := NewEnvironment("net.ip=10.7.0.10/24", "mesh.peer=:7070")
	if err != nil {
		t.Fatal(err)
	}
	id, entropy := Identity{secretOf(1), 0}, secretOf(2)
	image, err := Provision{Environment: e, Identity: &id, Entropy: &entropy}.Image()
	if err != nil || len(image) != Size {
		t.Fatalf("%d bytes, %v", len(image), err)
	}
	for _, lost := range []Copy{CopyA, CopyB} {
		chip := slices.Clone(image)
		half := chip[int(lost)*CopyStride:][:CopyStride]
		for i := range half {
			half[i] = 0xff
		}
		s := open(t, chip)
		r, err := s.LoadEnvironment()
		if err != nil || !slices.Equal(list(r.Environment), list(e)) {
			t.Errorf("copy %v lost: environment: %v", lost, err)
		}
		if got, err := s.LoadIdentity(); err != nil || got != id {
			t.Errorf("copy %v lost: identity: %v", lost, err)
		}
		if got, err := s.LoadEntropy(); err != nil || got != entropy {
			t.Errorf("copy %v lost: entropy: %v", lost, err)
		}
		// What both slots have to say is not said by one.
		if got, err := ledger(t, chip).Marks(); err != nil || got != (Marks{}) {
			t.Errorf("copy %v lost: marks %+v, %v", lost, got, err)
		}
	}
}

func TestANewAuthorityNeverRan(t *testing.T) {
	for _, mayEmpty := range []bool{false, true} {
		image, err := Provision{Environment: new(Environment), MayEmpty: mayEmpty}.Image()
		if err != nil {
			t.Fatal(err)
		}
		want := Marks{NeverRan: true, MayEmpty: mayEmpty}
		if got, err := ledger(t, image).Marks(); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

// TestAnImageIsBlankWhereNothingWasProvisioned looks at every byte outside the records and the
// authority's marks.
func TestAnImageIsBlankWhereNothingWasProvisioned(t *testing.T) {
	image, err := Provision{Environment: new(Environment)}.Image()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range image {
		at := i % CopyStride
		if at >= environmentOffset && at < environmentOffset+headerBytes+1 ||
			at >= MarksOffset && at < marksEnd {
			continue
		}
		if v != 0xff {
			t.Fatalf("byte %#x is %#x", i, v)
		}
	}
	s := open(t, image)
	var absent *AbsentError
	if _, err := s.LoadIdentity(); !errors.As(err, &absent) || absent.Reason() != ReasonBlank {
		t.Errorf("identity: %v", err)
	}
	if _, err := s.LoadEntropy(); !errors.As(err, &absent) || absent.Reason() != ReasonBlank {
		t.Errorf("entropy: %v", err)
	}
}

func TestWhatANodeCouldNotUseIsNotProvisioned(t *testing.T) {
	big := &Environment{[]entry{{"a", strings.Repeat("v", EnvironmentMax-3)}}} // a byte too many
	for _, test := range []struct {
		name      string
		provision Provision
		want      error
	}{
		{"oversize", Provision{Environment: big}, ErrFull},
		{"no seed", Provision{Environment: new(Environment), Identity: new(Identity)},
			ErrBlankSecret},
		{"no entropy", Provision{Environment: new(Environment), Entropy: new(Secret)},
			ErrBlankSecret},
	} {
		if image, err := test.provision.Image(); !errors.Is(err, test.want) || image != nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// FuzzImage damages a chip in places of the fuzzer's choice. Whatever it holds then can be read,
// with a record or the reason why there is none; and what is saved is there afterwards.
func FuzzImage(f *testing.F) {
	e, err := NewEnvironment("net.ip=10.7.0.10/24", "mesh.root=self")
	if err != nil {
		f.Fatal(err)
	}
	entropy := secretOf(2)
	identity := Identity{secretOf(1), 0}
	image, err := Provision{Environment: e, Identity: &identity, Entropy: &entropy}.Image()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	f.Add([]byte{0, 0x40, 4, 0, 0, 0, 0})                      // the environment's magic, copy A
	f.Add([]byte{0, 0x46, 2, 0xff, 0xff, 0x10, 0x46, 2, 0, 0}) // its length, in both copies
	f.Add([]byte{2, 0, 1, 0, 0x12, 0, 1, 0, 3, 0, 1, 0, 0x13, 0, 1, 0})
	f.Add([]byte{8, 0, 255})
	f.Fuzz(func(t *testing.T, damage []byte) {
		chip := slices.Clone(image)
		for len(damage) >= 3 {
			at, n := int(damage[0])<<8|int(damage[1]), int(damage[2])
			damage = damage[3:]
			n = min(n, len(damage))
			copy(chip[min(at, len(chip)):], damage[:n])
			damage = damage[n:]
		}
		s := open(t, chip)
		r, err := s.LoadEnvironment()
		if absent := (*AbsentError)(nil); err != nil && !errors.As(err, &absent) {
			t.Fatal(err)
		} else if err == nil && r.Environment.Size() > EnvironmentMax+1 {
			t.Fatalf("an environment of %d bytes", r.Environment.Size())
		}
		s.LoadIdentity()
		s.LoadEntropy()
		ledger(t, chip).Marks()
		if _, err := s.SaveEnvironment(e); err != nil {
			t.Fatal(err)
		}
		if r, err := s.LoadEnvironment(); err != nil || !slices.Equal(list(r.Environment), list(e)) {
			t.Fatalf("what was saved is %v, %v", r, err)
		}
	})
}
