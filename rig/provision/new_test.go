package provision

import (
	"bytes"
	"testing"

	"holdfast/nvram"
)

func fresh(t *testing.T, assignments ...string) []byte {
	t.Helper()
	environment, err := nvram.NewEnvironment(assignments...)
	if err != nil {
		t.Fatal(err)
	}
	eeprom, err := New(environment)
	if err != nil {
		t.Fatal(err)
	}
	return eeprom
}

func TestANewNodeHasKeysOfItsOwn(t *testing.T) {
	a, b := fresh(t, "mesh.route=1"), fresh(t, "mesh.route=1")
	isA, errA := Inspect(a)
	isB, errB := Inspect(b)
	if errA != nil || errB != nil || isA.ID == isB.ID || isA.Key == isB.Key {
		t.Errorf("%v and %v, %v %v", isA.ID, isB.ID, errA, errB)
	}
	if v, ok := isA.Environment.Get("mesh.route"); !ok || v != "1" {
		t.Errorf("mesh.route is %q, %v", v, ok)
	}
	secret := func(eeprom []byte) nvram.Secret {
		store, err := nvram.Open(nvram.Memory(eeprom))
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.LoadEntropy()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if secret(a) == secret(b) {
		t.Error("two nodes have one entropy record")
	}
	if m, err := marksIn(t, a); err != nil || m != (nvram.Marks{NeverRan: true}) {
		t.Errorf("marks %+v, %v", m, err)
	}
}

func TestReplacingTheEnvironmentLeavesTheRest(t *testing.T) {
	eeprom := eepromWith(t, nvram.Marks{Signed: 7, Activated: 6})
	before := bytes.Clone(eeprom)
	was, err := Inspect(eeprom)
	if err != nil {
		t.Fatal(err)
	}
	if err := was.Environment.Set("mesh.epoch", "9"); err != nil {
		t.Fatal(err)
	}
	if err := Replace(eeprom, was.Environment); err != nil {
		t.Fatal(err)
	}
	is, err := Inspect(eeprom)
	if v, _ := is.Environment.Get("mesh.epoch"); err != nil || v != "9" || is.ID != was.ID {
		t.Errorf("mesh.epoch is %q, node %v, %v", v, is.ID, err)
	}
	const behind = 0x180 // the environment's record
	for _, c := range []int{0, nvram.CopyStride} {
		if !bytes.Equal(eeprom[c+behind:c+nvram.CopyStride], before[c+behind:c+nvram.CopyStride]) {
			t.Errorf("copy at %#x: something else has changed", c)
		}
	}
	if err := was.Environment.Set("mesh.epoch", "x"); err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(eeprom)
	if err := Replace(eeprom, was.Environment); err == nil || !bytes.Equal(eeprom, changed) {
		t.Errorf("a refused environment: %v, or something has changed", err)
	}
}

func TestWhatIsNoWholeImageIsRefused(t *testing.T) {
	blank := bytes.Repeat([]byte{0xff}, nvram.Size)
	torn := fresh(t)
	torn[0x210] ^= 1
	torn[nvram.CopyStride+0x210] ^= 1
	for name, eeprom := range map[string][]byte{
		"empty": nil, "short": make([]byte, nvram.Size-1), "blank": blank,
		"both copies of the identity torn": torn,
	} {
		if _, err := Inspect(eeprom); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	one := fresh(t)
	one[0x210] ^= 1
	if _, err := Inspect(one); err != nil {
		t.Errorf("one copy of the identity torn: %v", err)
	}
}
