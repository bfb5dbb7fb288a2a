package nvram

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// list is the environment as NAME=VALUE strings.
func list(e *Environment) []string {
	var l []string
	for name, value := range e.All() {
		l = append(l, name+"="+value)
	}
	return l
}

func TestTheZeroEnvironmentIsEmpty(t *testing.T) {
	var e Environment
	if e.Len() != 0 || e.Size() != 1 || string(e.Encode()) != "\x00" {
		t.Errorf("%d names, %d bytes, % x", e.Len(), e.Size(), e.Encode())
	}
	if _, ok := e.Get("a"); ok || e.Unset("a") {
		t.Error("a name is set")
	}
}

func TestSettingKeepsTheOrderAndUnsettingClosesTheGap(t *testing.T) {
	var e Environment
	for _, step := range []struct {
		name, value string // an empty value stands for unset
		want        string
	}{
		{"b", "1", "b=1\x00\x00"},
		{"a", "2", "b=1\x00a=2\x00\x00"},
		{"c", "3", "b=1\x00a=2\x00c=3\x00\x00"},
		{"b", "longer", "b=longer\x00a=2\x00c=3\x00\x00"},
		{"a", "", "b=longer\x00c=3\x00\x00"},
		{"a", "=", "b=longer\x00c=3\x00a==\x00\x00"},
		{"b", "", "c=3\x00a==\x00\x00"},
	} {
		if step.value == "" {
			e.Unset(step.name)
		} else if err := e.Set(step.name, step.value); err != nil {
			t.Fatal(err)
		}
		if got := string(e.Encode()); got != step.want {
			t.Fatalf("after %s=%s: %q, want %q", step.name, step.value, got, step.want)
		}
	}
}

func TestNamesCompareByCase(t *testing.T) {
	e, err := NewEnvironment("console=d", "Console=g")
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := e.Get("Console"); v != "g" {
		t.Errorf("Console is %q", v)
	}
}

func TestIllegalNamesAndValuesAreRefused(t *testing.T) {
	long := strings.Repeat("n", NameMax)
	for _, test := range []struct {
		name, value string
		want        FaultReason
	}{
		{"a", "1", ""},
		{"A-b_c.9", "", ""},
		{"a", " = ~!\"", ""},
		{long, "1", ""},
		{long + "n", "1", FaultName},
		{"", "1", FaultEmptyName},
		{"9a", "1", FaultName},
		{".a", "1", FaultName},
		{"a b", "1", FaultName},
		{"a\x00", "1", FaultName},
		{"a@", "1", FaultName},
		{"a`", "1", FaultName},
		{"a[", "1", FaultName},
		{"a{", "1", FaultName},
		{"é", "1", FaultNonASCII},
		{"a", "\x7e", ""},
		{"a", "\x7f", FaultControl},
		{"a", "\x80", FaultNonASCII},
		{"a", "\x1f", FaultControl},
		{"a", "1\x00b=2", FaultControl},
		{"a", "1\n", FaultControl},
		{"a", "ü", FaultNonASCII},
	} {
		var e Environment
		err := e.Set(test.name, test.value)
		if (err == nil) != (test.want == "") {
			t.Errorf("%q=%q: %v, want %q", test.name, test.value, err, test.want)
			continue
		}
		if err != nil && (!strings.HasSuffix(err.Error(), string(test.want)) || e.Len() != 0) {
			t.Errorf("%q=%q: %v, %d names, want %q", test.name, test.value, err, e.Len(), test.want)
		}
		_, err = NewEnvironment(test.name + "=" + test.value)
		if (err == nil) != (test.want == "") {
			t.Errorf("%q=%q as a string: %v, want %q", test.name, test.value, err, test.want)
		}
	}
}

func TestNewEnvironmentRefusesWhatIsNoAssignmentOrTwice(t *testing.T) {
	for _, test := range []struct {
		strings []string
		want    FaultReason
	}{
		{[]string{"a"}, FaultNoEquals},
		{[]string{""}, FaultNoEquals},
		{[]string{"=1"}, FaultEmptyName},
		{[]string{"a=1", "b=1", "a=1"}, FaultDuplicate},
	} {
		_, err := NewEnvironment(test.strings...)
		if err == nil || !strings.HasSuffix(err.Error(), string(test.want)) {
			t.Errorf("%q: %v, want %s", test.strings, err, test.want)
		}
	}
}

// TestWhatDoesNotFitIsRefusedWithTheByteCount stands at the boundary: "a=" and its two zero bytes
// are four bytes beside the value.
func TestWhatDoesNotFitIsRefusedWithTheByteCount(t *testing.T) {
	fits := strings.Repeat("v", EnvironmentMax-4)
	e, err := NewEnvironment("a=" + fits)
	if err != nil || e.Size() != EnvironmentMax || len(e.Encode()) != EnvironmentMax {
		t.Fatalf("%d bytes: %v", e.Size(), err)
	}
	for what, err := range map[string]error{
		"one byte more": e.Set("a", fits+"v"),
		"the same, new": func() error { _, err := NewEnvironment("a=" + fits + "v"); return err }(),
	} {
		if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "299 bytes of 298") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if v, _ := e.Get("a"); v != fits {
		t.Error("a refused value was set")
	}
	_, err = NewEnvironment("a="+fits, "b="+fits, "c="+fits)
	if err == nil || !strings.Contains(err.Error(), "892 bytes of 298") {
		t.Errorf("three times: %v, want the bytes of all three", err)
	}
}

func TestDamageIsReportedAndWhatWasWholeIsKept(t *testing.T) {
	unseen := map[FaultReason]bool{}
	for _, reason := range FaultReasons() {
		unseen[reason] = true
	}
	for _, test := range []struct {
		name   string
		bytes  string
		keeps  []string
		faults []Fault
	}{
		{"whole", "a=1\x00b=2\x00\x00", []string{"a=1", "b=2"}, nil},
		{"empty", "\x00", nil, nil},
		{"padded", "a=1\x00\x00\x00\x00", []string{"a=1"}, nil},
		{"no bytes", "", nil, []Fault{{0, "", FaultUnterminated}}},
		{"no empty string", "a=1\x00", []string{"a=1"}, []Fault{{4, "", FaultUnterminated}}},
		{"cut in a value", "a=1\x00b=2", []string{"a=1"}, []Fault{{4, "b", FaultUnterminated}}},
		{"cut in a name", "a=1\x00net.", []string{"a=1"}, []Fault{{4, "", FaultUnterminated}}},
		{"trailing", "a=1\x00\x00\x00b", []string{"a=1"}, []Fault{{6, "", FaultTrailing}}},
		{"trailing, no text", "\x00\xff", nil, []Fault{{1, "", FaultTrailing}}},
		{"no equals", "a\x00b=2\x00\x00", []string{"b=2"}, []Fault{{0, "a", FaultNoEquals}}},
		{"empty name", "=1\x00b=2\x00\x00", []string{"b=2"}, []Fault{{0, "", FaultEmptyName}}},
		{"name", "a b=1\x00b=2\x00\x00", []string{"b=2"}, []Fault{{0, "", FaultName}}},
		{"non-ASCII value", "a=\xe4\x00b=2\x00\x00", []string{"b=2"},
			[]Fault{{0, "a", FaultNonASCII}}},
		{"non-ASCII name", "\xe4=1\x00b=2\x00\x00", []string{"b=2"},
			[]Fault{{0, "", FaultNonASCII}}},
		{"control", "a=\t\x00b=2\x00\x00", []string{"b=2"}, []Fault{{0, "a", FaultControl}}},
		{"duplicate", "a=1\x00b=2\x00a=3\x00\x00", []string{"a=1", "b=2"},
			[]Fault{{8, "a", FaultDuplicate}}},
		{"duplicate of the same value", "a=1\x00a=1\x00\x00", []string{"a=1"},
			[]Fault{{4, "a", FaultDuplicate}}},
		{"a damaged string is no first of two", "a=\t\x00a=1\x00\x00", []string{"a=1"},
			[]Fault{{0, "a", FaultControl}}},
		{"everything at once", "=\x00a=1\x00b\x00a=2\x00c", []string{"a=1"}, []Fault{
			{0, "", FaultEmptyName}, {6, "b", FaultNoEquals}, {8, "a", FaultDuplicate},
			{12, "", FaultUnterminated}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, faults := ParseEnvironment([]byte(test.bytes))
			if got := list(e); !slices.Equal(got, test.keeps) {
				t.Errorf("keeps %q, want %q", got, test.keeps)
			}
			if !slices.Equal(faults, test.faults) {
				t.Errorf("faults are %v, want %v", faults, test.faults)
			}
			for _, f := range faults {
				delete(unseen, f.Reason)
			}
		})
	}
	delete(unseen, FaultOversize) // the next test
	if len(unseen) != 0 {
		t.Errorf("nothing is damaged by %v", unseen)
	}
}

func TestAnOversizeEnvironmentKeepsWhatEndsInsideItsArea(t *testing.T) {
	// Ends with its zero byte, six bytes before the area's end.
	first := "a=" + strings.Repeat("v", EnvironmentMax-9)
	for _, test := range []struct {
		tail   string
		keeps  int
		faults []FaultReason
	}{
		{"b=12\x00\x00", 2, nil},
		{"b=123\x00\x00", 2, []FaultReason{FaultOversize, FaultUnterminated}},
		{"b=1234\x00\x00", 1, []FaultReason{FaultOversize, FaultUnterminated}},
		{"\x00\x00\x00\x00\x00\x00\x00", 1, []FaultReason{FaultOversize}},
		{"b=123\x00", 2, []FaultReason{FaultUnterminated}},
	} {
		e, faults := ParseEnvironment([]byte(first + "\x00" + test.tail))
		var reasons []FaultReason
		for _, f := range faults {
			reasons = append(reasons, f.Reason)
		}
		if e.Len() != test.keeps || !slices.Equal(reasons, test.faults) {
			t.Errorf("%q: %d names, %v, want %d, %v",
				test.tail, e.Len(), faults, test.keeps, test.faults)
		}
	}
}

// TestAListThatFillsTheAreaWithoutItsEndIsKeptButNotSaved is the one way to an environment that
// takes a byte too many.
func TestAListThatFillsTheAreaWithoutItsEndIsKeptButNotSaved(t *testing.T) {
	full := "a=1\x00b=" + strings.Repeat("v", EnvironmentMax-7) + "\x00"
	e, faults := ParseEnvironment([]byte(full))
	if e.Len() != 2 || len(faults) != 1 || e.Size() != EnvironmentMax+1 {
		t.Fatalf("%d names, %d bytes, %v", e.Len(), e.Size(), faults)
	}
	s := open(t, blank())
	if _, err := s.SaveEnvironment(e); !errors.Is(err, ErrFull) {
		t.Errorf("saved: %v", err)
	}
	if e.Unset("a"); e.Size() > EnvironmentMax {
		t.Fatalf("still %d bytes", e.Size())
	}
	if _, err := s.SaveEnvironment(e); err != nil {
		t.Error(err)
	}
}

func TestTheEnvironmentSurvivesTheChip(t *testing.T) {
	s := open(t, blank())
	if _, err := s.LoadEnvironment(); err == nil {
		t.Fatal("a blank chip has an environment")
	}
	e, err := NewEnvironment("net.ip=10.7.0.10/24", "mesh.fail=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveEnvironment(e); err != nil {
		t.Fatal(err)
	}
	r, err := s.LoadEnvironment()
	if err != nil || len(r.Faults) != 0 || !slices.Equal(list(r.Environment), list(e)) {
		t.Fatalf("%v, %v, %v", list(r.Environment), r.Faults, err)
	}
	if want := (Record{CopyA, 1, 33, ReasonBlank}); r.Record != want {
		t.Errorf("record is %v, want %v", r.Record, want)
	}
}

// TestAnEnvironmentBehavesLikeAListOfPairs drives an Environment and a plain list side by side.
func TestAnEnvironmentBehavesLikeAListOfPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, model := new(Environment), []string(nil)
		name := rapid.StringMatching(`[a-c]{1,2}`)
		value := rapid.StringMatching(`[ -~]{0,120}`)
		find := func(n string) int {
			return slices.IndexFunc(model, func(s string) bool {
				return strings.HasPrefix(s, n+"=")
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				n, v := name.Draw(t, "name"), value.Draw(t, "value")
				changed := slices.Clone(model)
				if i := find(n); i >= 0 {
					changed[i] = n + "=" + v
				} else {
					changed = append(changed, n+"="+v)
				}
				fits := len(strings.Join(changed, "\x00"))+2 <= EnvironmentMax
				if err := e.Set(n, v); fits != (err == nil) {
					t.Fatalf("fits is %v, set says %v", fits, err)
				}
				if fits {
					model = changed
				}
			},
			"unset": func(t *rapid.T) {
				n := name.Draw(t, "name")
				i := find(n)
				if got := e.Unset(n); got != (i >= 0) {
					t.Fatalf("unset %s says %v", n, got)
				}
				if i >= 0 {
					model = slices.Delete(model, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				if got := list(e); !slices.Equal(got, model) {
					t.Fatalf("environment is %q, want %q", got, model)
				}
				for _, s := range model {
					n, v, _ := strings.Cut(s, "=")
					if got, ok := e.Get(n); !ok || got != v {
						t.Fatalf("get %s is %q", n, got)
					}
				}
				again, faults := ParseEnvironment(e.Encode())
				if len(faults) != 0 || !slices.Equal(list(again), model) {
					t.Fatalf("read back as %q with %v", list(again), faults)
				}
			},
		})
	})
}

// FuzzEnvironment gives ParseEnvironment any bytes: what it keeps is legal, stands in them in that
// order, and reads back without a fault. Without a fault the bytes are what it would write.
func FuzzEnvironment(f *testing.F) {
	for _, seed := range []string{
		"", "\x00", "a=1\x00\x00", "a=1\x00a=2\x00\x00", "a\x00=\x00\xff=\x00", "a=1\x00b",
		"net.ip=10.7.0.10/24\x00mesh.fail=1\x00\x00", strings.Repeat("a=1\x00", 80),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, faults := ParseEnvironment(b)
		rest := string(b)
		for _, s := range list(e) {
			_, after, found := strings.Cut(rest, s+"\x00")
			if !found {
				t.Fatalf("%q is not in %q", s, rest)
			}
			rest = after
		}
		encoded := string(e.Encode())
		if text := strings.TrimRight(string(b), "\x00"); len(faults) == 0 &&
			strings.TrimRight(encoded, "\x00") != text {
			t.Errorf("%q has no fault but is written as %q", b, encoded)
		}
		if e.Size() > EnvironmentMax {
			if e.Size() != EnvironmentMax+1 || len(faults) == 0 {
				t.Fatalf("takes %d bytes, faults %v", e.Size(), faults)
			}
			return
		}
		again, err := NewEnvironment(list(e)...)
		if err != nil || fmt.Sprint(list(again)) != fmt.Sprint(list(e)) {
			t.Errorf("%q made again is %q, %v", list(e), list(again), err)
		}
		again, faults = ParseEnvironment(e.Encode())
		if len(faults) != 0 || again.Len() != e.Len() {
			t.Errorf("%q read again is %q, %v", list(e), list(again), faults)
		}
	})
}
