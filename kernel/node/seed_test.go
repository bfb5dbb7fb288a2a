package node

import (
	"bytes"
	"encoding/hex"
	"testing"

	"holdfast/mesh/when"
	"holdfast/nvram"
)

func loadEntropy(t *testing.T, c nvram.Chip) (nvram.Secret, bool) {
	t.Helper()
	store, err := nvram.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.LoadEntropy()
	return s, err == nil
}

func TestTheNextRecordIsOnTheChipBeforeTheGeneratorStarts(t *testing.T) {
	m := &testMachine{chip: chip(t, rootEnv(), &root, true)}
	before, _ := loadEntropy(t, m.chip)
	checked := false
	m.onRekey = func() {
		checked = true
		for _, damaged := range []int{-1, 0x300, 0x300 + nvram.CopyStride} {
			c := bytes.Clone(m.chip.(nvram.Memory))
			if damaged >= 0 {
				c[damaged+20] ^= 1
			}
			if after, ok := loadEntropy(t, nvram.Memory(c)); !ok || after == before {
				t.Errorf("with a copy damaged at %#x the used record is still there", damaged)
			}
		}
	}
	if n := Boot(m.machine()); n.seededFrom != "nvram" || !checked {
		t.Errorf("seeded from %q, rekeyed %v", n.seededFrom, checked)
	}
}

func TestNoTwoBootsHaveOneKey(t *testing.T) {
	c := chip(t, rootEnv(), &root, true)
	same := bytes.Clone(c)
	keys := make(map[[32]byte]bool)
	boot := func(c nvram.Chip, seed *[32]byte) {
		m := &testMachine{chip: c, seed: seed}
		Boot(m.machine())
		for _, k := range m.keys {
			if keys[k] || k == [32]byte{} {
				t.Errorf("key %x was used before, or is none", k)
			}
			keys[k] = true
		}
	}
	boot(c, nil)
	boot(c, nil)                           // the next record
	boot(nvram.Memory(same), &[32]byte{1}) // the first boot's chip, with something from the loader
	if len(keys) != 3 {
		t.Errorf("%d keys", len(keys))
	}
	// The record that is left for the next boot is no key of this one.
	if next, _ := loadEntropy(t, c); keys[next] {
		t.Error("the next record is a key")
	}
}

func TestTwoMachinesWithOneChipHaveTwoKeys(t *testing.T) {
	c := chip(t, rootEnv(), &root, true)
	keys := make(map[[32]byte]bool)
	for second := range when.Calendar(3) {
		m := &testMachine{chip: nvram.Memory(bytes.Clone(c))}
		machine := m.machine()
		machine.Second = func() (when.Calendar, bool) { return second, true }
		Boot(machine)
		keys[m.keys[0]] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d keys", len(keys))
	}
}

func TestWhereTheEntropyComesFrom(t *testing.T) {
	loader := &[32]byte{9}
	tests := []struct {
		name   string
		chip   nvram.Chip
		loader *[32]byte
		want   string
	}{
		{"the record", chip(t, rootEnv(), &root, true), nil, "nvram"},
		{"the record and the loader", chip(t, rootEnv(), &root, true), loader, "nvram"},
		{"the loader", chip(t, rootEnv(), &root, false), loader, "loader"},
		{"the loader, without a chip", nil, loader, "loader"},
		{"neither", chip(t, rootEnv(), &root, false), nil, ""},
		{"a record that cannot be replaced", &brokenChip{
			Memory: chip(t, rootEnv(), &root, true), deaf: true, deafFrom: 0x300}, nil, ""},
		{"a record that cannot be replaced, and the loader", &brokenChip{
			Memory: chip(t, rootEnv(), &root, true), deaf: true, deafFrom: 0x300}, loader, "loader"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &testMachine{chip: test.chip, seed: test.loader}
			n := Boot(m.machine())
			if n.seededFrom != test.want || (len(m.keys) == 1) != (test.want != "") {
				t.Errorf("seeded from %q with %d keys, want %q", n.seededFrom, len(m.keys), test.want)
			}
		})
	}
}

func TestTheChipsOwnGeneratorIsMixedIn(t *testing.T) {
	keys := make(map[[32]byte]bool)
	boot := func(generator func() ([32]byte, bool), record bool) string {
		m := &testMachine{chip: chip(t, rootEnv(), &root, record)}
		machine := m.machine()
		machine.Entropy.Chip = generator
		n := Boot(machine)
		for _, k := range m.keys {
			keys[k] = true
		}
		return n.seededFrom
	}
	works := func() ([32]byte, bool) { return [32]byte{7}, true }
	broken := func() ([32]byte, bool) { return [32]byte{}, false }
	for i, c := range []struct {
		generator func() ([32]byte, bool)
		record    bool
		want      string
	}{{works, true, "nvram"}, {nil, true, "nvram"}, {works, false, "chip"}, {broken, false, ""}} {
		if got := boot(c.generator, c.record); got != c.want {
			t.Errorf("%d: seeded from %q, want %q", i, got, c.want)
		}
	}
	if len(keys) != 3 {
		t.Errorf("%d keys of 3 boots: the chip's part makes no difference", len(keys))
	}
}

func TestTheLoadersSeedProvisionsTheNextBoot(t *testing.T) {
	c := chip(t, rootEnv(), &root, false)
	Boot((&testMachine{chip: c, seed: &[32]byte{9}}).machine())
	if n := Boot((&testMachine{chip: c}).machine()); n.seededFrom != "nvram" {
		t.Errorf("seeded from %q", n.seededFrom)
	}
}

// An independent implementation (Python: hashlib.blake2s over the same bytes) made the sums.
func TestTheSeedsHalvesAreThoseOfTheTable(t *testing.T) {
	in := seedInput{boots: 3, cycles: 0x0102030405060708, second: 0x1112131415161718}
	for i := range 32 {
		in.record[i], in.loader[i], in.chip[i] = byte(i), byte(100+i), byte(200+i)
	}
	checkSum(t, in.half(keyDomain),
		"3bf2630d3ae98c1033cb4f026867ca222d1d7fbb8a883c19fcf48196301594ed")
	checkSum(t, in.half(nextDomain),
		"24d850b0fc963a6ac48ebdaf9e9504a85120f8858012ccdef1a76703b27c5f67")
}

func checkSum(t *testing.T, got [32]byte, want string) {
	t.Helper()
	if h := hex.EncodeToString(got[:]); h != want {
		t.Errorf("%s, want %s", h, want)
	}
}
