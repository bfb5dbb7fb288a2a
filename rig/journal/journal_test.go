package journal

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// begun returns a journal with its first record, and what it writes.
func begun(watch func(Record)) (*Journal, *bytes.Buffer) {
	file := new(bytes.Buffer)
	start := time.Now()
	j := Start(file, start, watch, nil)
	j.Add(start, Record{Kind: KindRun, Run: &Run{Schema: Schema, Fault: "none", Seed: 7}})
	return j, file
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	j, file := begun(nil)
	at := j.start.Add(1500 * time.Microsecond)
	j.Add(at, Record{Kind: KindConsole, Node: "n0", Boot: 1, Line: "a <line> & \"more\""})
	j.Add(at, Record{Kind: KindHTTP, Node: "n1", Boot: 2, HTTP: &HTTP{Method: "GET", Path: "/mesh"}})
	if err := j.Close(End{Outcome: Complete}); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := j.Records(); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%v\nwant\n%v", got, want)
	}
	if got[1].N != 2 || got[1].At != 1500 {
		t.Errorf("second record has n=%d us=%d, want 2 and 1500", got[1].N, got[1].At)
	}
}

func TestNothingFollowsTheEnd(t *testing.T) {
	j, file := begun(nil)
	j.Close(End{Outcome: Complete})
	j.Add(time.Now(), Record{Kind: KindConsole, Node: "n0", Boot: 1, Line: "late"})
	j.Close(End{Outcome: Trouble})
	records, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if last := records[len(records)-1]; len(records) != 2 || last.End.Outcome != Complete {
		t.Errorf("%d records, the last one %+v; want the first end last", len(records), last)
	}
}

func TestReadRefusesWhatTheRigDoesNotWrite(t *testing.T) {
	const first = `{"n":1,"us":0,"kind":"run","run":{"schema":1,"fault":"none","seed":1,` +
		`"wall":"2026-01-01T00:00:00Z","image":"","sha256":"","ram":"","qemu":"","nodes":null}}` + "\n"
	const boot = `"us":1,"kind":"boot","node":"n0","boot":1}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":          {"", "no records"},
		"half a line":      {first[:40], "no records"},
		"no JSON":          {first + "hello\n", "line 2"},
		"an unknown field": {first + `{"n":2,"x":1,` + boot, "line 2"},
		"a missing line":   {first + `{"n":3,` + boot, "record 3"},
		"a second run":     {first + strings.Replace(first, `"n":1`, `"n":2`, 1), "first record"},
		"another schema":   {strings.Replace(first, `"schema":1`, `"schema":2`, 1), "schema 2"},
		"an unknown kind":  {first + `{"n":2,"us":1,"kind":"gossip"}` + "\n", `kind "gossip"`},
		"a check of a run that goes on": {first +
			`{"n":2,"us":1,"kind":"check","check":{"name":"a","status":"held","detail":"",` +
			`"evidence":[]}}` + "\n", `kind "check" behind one of kind "run"`},
		"something behind the end": {first + `{"n":2,"us":1,"kind":"end","end":` +
			`{"outcome":"complete"}}` + "\n" + `{"n":3,` + boot, `kind "boot" behind one of`},
		"an action without its name": {first +
			`{"n":2,"us":1,"kind":"action","node":"n0","boot":1}` + "\n", `kind "action"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	records, err := Read(strings.NewReader(first + `{"n":2,"us":5,"ki`))
	if err != nil || len(records) != 1 {
		t.Errorf("a torn last line: %d records, %v; want the one before it", len(records), err)
	}
}

func TestAwaitSeesWhatCameBeforeAndWhatComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, _ := begun(nil)
		console := func(line string) {
			j.Add(time.Now(), Record{Kind: KindConsole, Node: "n0", Boot: 1, Line: line})
		}
		is := func(line string) func(Record) bool {
			return func(r Record) bool { return r.Line == line }
		}
		console("early")
		if r, err := j.Await(t.Context(), 0, is("early")); err != nil || r.N != 2 {
			t.Errorf("record %d, %v; want 2", r.N, err)
		}

		time.AfterFunc(time.Second, func() { console("noise"); console("late") })
		if r, err := j.Await(t.Context(), j.Len(), is("late")); err != nil || r.N != 4 {
			t.Errorf("record %d, %v; want 4", r.N, err)
		}

		cause := errors.New("too slow")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if _, err := j.Await(ctx, 2, is("early")); !errors.Is(err, cause) {
			t.Errorf("error %v, want the context's cause", err)
		}

		time.AfterFunc(time.Second, func() { j.Close(End{Outcome: Complete}) })
		if _, err := j.Await(t.Context(), 0, is("never")); !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	})
}

func TestTheWatcherSeesEveryRecordOnceInOrder(t *testing.T) {
	var seen []int
	j, _ := begun(func(r Record) { seen = append(seen, r.N) })
	j.Add(time.Now(), Record{Kind: KindTrouble, Trouble: "x"})
	j.Close(End{Outcome: Complete})
	if want := []int{1, 2, 3}; !reflect.DeepEqual(seen, want) {
		t.Errorf("saw %v, want %v", seen, want)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAFullDiskIsReportedAndTheRunGoesOn(t *testing.T) {
	var heard []error
	j := Start(full{}, time.Now(), nil, func(err error) { heard = append(heard, err) })
	j.Add(time.Now(), Record{Kind: KindTrouble, Trouble: "x"})
	err := j.Close(End{Outcome: Complete})
	if err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v, want the disk's", err)
	}
	if n := len(j.Records()); n != 2 {
		t.Errorf("%d records in memory, want 2", n)
	}
	if len(heard) != 1 || !errors.Is(err, heard[0]) {
		t.Errorf("heard of %v, want of the first failure alone", heard)
	}
}

func TestAVerdictStandsBehindTheEnd(t *testing.T) {
	j, file := begun(nil)
	j.Close(End{Outcome: Complete})
	slack := int64(-3)
	checks := []Check{
		{Name: "a", Status: "held", Detail: "so it is", Evidence: []int{1, 2}},
		{Name: "b", Status: "violated", Evidence: []int{}, SlackUS: &slack},
	}
	if err := AppendChecks(file, j.Records(), checks); err != nil {
		t.Fatal(err)
	}
	records, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	run, judged := Split(records)
	if !reflect.DeepEqual(run, j.Records()) {
		t.Errorf("the run is now\n%v\nwant\n%v", run, j.Records())
	}
	for i, r := range judged {
		if r.N != 3+i || r.At != run[1].At || !reflect.DeepEqual(*r.Check, checks[i]) {
			t.Errorf("check %d is %+v of %+v", i, r, *r.Check)
		}
	}
	if len(judged) != len(checks) {
		t.Errorf("%d checks, want %d", len(judged), len(checks))
	}
	if err := AppendChecks(full{}, run, checks); err == nil {
		t.Error("a full disk goes unnoticed")
	}
}
