package provision

import (
	"bytes"
	"errors"
	"testing"

	"holdfast/nvram"
)

// eepromWith is the authority's EEPROM after it has run up to some epoch.
func eepromWith(t *testing.T, marks nvram.Marks) []byte {
	t.Helper()
	c := Draw(42, 2)
	environment, err := c.Environment(0)
	if err != nil {
		t.Fatal(err)
	}
	eeprom, err := c.EEPROM(0, environment)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := marksIn(t, eeprom); err != nil || got != (nvram.Marks{NeverRan: true}) {
		t.Fatalf("a new authority has %+v, %v", got, err)
	}
	l, err := openMarks(nvram.Memory(eeprom))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Save(marks); err != nil {
		t.Fatal(err)
	}
	return eeprom
}

func marksIn(t *testing.T, eeprom []byte) (nvram.Marks, error) {
	t.Helper()
	l, err := openMarks(nvram.Memory(eeprom))
	if err != nil {
		t.Fatal(err)
	}
	return l.Marks()
}

// outside is the EEPROM without the marks.
func outside(eeprom []byte) []byte {
	b := bytes.Clone(eeprom)
	WipeMarks(b)
	return b
}

func TestTheMarksAreChangedAndNothingElse(t *testing.T) {
	ran := nvram.Marks{Signed: 7, Activated: 6}
	for _, test := range []struct {
		name   string
		change func(eeprom []byte) error
		want   nvram.Marks
		lost   bool
	}{
		{"allow empty", AllowEmpty, nvram.Marks{Signed: 7, Activated: 6, MayEmpty: true}, false},
		{"tear", TearMarks, ran, false},
		{"wipe", func(eeprom []byte) error {
			WipeMarks(eeprom)
			return nil
		}, nvram.Marks{}, true},
	} {
		eeprom := eepromWith(t, ran)
		before := bytes.Clone(eeprom)
		if err := test.change(eeprom); err != nil {
			t.Fatal(err)
		}
		got, err := marksIn(t, eeprom)
		if got != test.want || test.lost != errors.Is(err, nvram.ErrMarksLost) {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, test.want)
		}
		if bytes.Equal(eeprom, before) || !bytes.Equal(outside(eeprom), outside(before)) {
			t.Errorf("%s: changes nothing, or something else", test.name)
		}
	}
}

func TestLostMarksAreNoOperatorsWord(t *testing.T) {
	eeprom := eepromWith(t, nvram.Marks{Signed: 7, Activated: 6})
	WipeMarks(eeprom)
	for name, change := range map[string]func([]byte) error{
		"allow empty": AllowEmpty, "tear": TearMarks,
	} {
		if err := change(eeprom); !errors.Is(err, nvram.ErrMarksLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
