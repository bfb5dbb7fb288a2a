package world

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/mesh/timing"
	"holdfast/netstack"
	"holdfast/nvram/config"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// page is an answer about a tape.
func page(boot, last, body string) Answer {
	return Answer{Status: http.StatusOK, Body: body,
		Header: map[string]string{"boot": boot, "last": last}}
}

func TestATapeIsTakenAlongBootByBoot(t *testing.T) {
	w, _ := inhabited(t)
	r := &recording{w: w, m: w.machines[0], last: "0"}
	for i, c := range []struct {
		answer Answer
		done   bool
		last   string // what is asked for next
	}{
		{page("a", "2", "one two "), false, "2"},
		{page("a", "3", "three "), false, "3"},
		{page("a", "3", ""), true, "3"},
		{page("b", "3", ""), false, "0"}, // the machine has begun anew
		{page("b", "1", "un "), false, "1"},
		{page("b", "1", ""), true, "1"},
	} {
		if done := r.add(c.answer); done != c.done || r.over || r.last != c.last {
			t.Errorf("answer %d: done %t, over %t, next behind %s", i, done, r.over, r.last)
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	for boot, want := range map[string]string{"a": "one two three ", "b": "un "} {
		got, err := os.ReadFile(filepath.Join(w.Folder, TapeFile("n0", boot)))
		if err != nil || string(got) != want {
			t.Errorf("boot %s: %q, %v; want %q", boot, got, err, want)
		}
	}
}

func TestWhatIsNoTapeIsSaid(t *testing.T) {
	w, _ := inhabited(t)
	troubles := func() (said []string) {
		for _, r := range w.Journal.Records() {
			if r.Kind == journal.KindTrouble {
				said = append(said, r.Trouble)
			}
		}
		return said
	}
	single := &recording{w: w, m: w.machines[0], last: "0"}
	if !single.add(Answer{Status: http.StatusServiceUnavailable}) || !single.over {
		t.Error("a node without a mesh is asked again")
	}
	if said := troubles(); len(said) != 0 {
		t.Errorf("a node without a mesh is trouble: %q", said)
	}
	for n, a := range []Answer{
		{Status: http.StatusGone, Body: "gone: the tape that is left begins behind record 9\n"},
		{Status: http.StatusNotFound, Body: "not found\n"},
		{Status: http.StatusOK, Body: "a page of an image that knows of no tapes"},
	} {
		r := &recording{w: w, m: w.machines[1], last: "0"}
		if !r.add(a) || !r.over {
			t.Errorf("after %d %s it is asked again", a.Status, a.Body)
		}
		said := troubles()
		if len(said) != n+1 || !strings.Contains(said[n], strings.TrimSpace(a.Body)) {
			t.Errorf("%d %s: troubles %q", a.Status, a.Body, said)
		}
	}
}

// TestTheJournalHasTheTimesOfTheMesh also when they are the usual ones.
func TestTheJournalHasTheTimesOfTheMesh(t *testing.T) {
	usual := journal.Times{Heartbeat: 5_000, Suspect: 6_000, Fail: 12_000, Lease: 6_000,
		Fence: timing.FenceLease}
	if got := times(config.Timing{}, false); *got != usual {
		t.Errorf("%+v, want %+v", *got, usual)
	}
	usual.Fence = timing.FenceAcks
	if got := times(config.Timing{}, true); *got != usual {
		t.Errorf("without leases %+v, want %+v", *got, usual)
	}
}

// TestATapeComesOverTheNetwork has a guest answer in three parts.
func TestATapeComesOverTheNetwork(t *testing.T) {
	w, err := Open(t.Context(), Config{
		Fault: "test", Folder: t.TempDir(), Cast: provision.Draw(1, 2), Patient: time.Minute,
		Record: true,
		Configure: func(_ *provision.Cast, _ int, node *config.Config) {
			const ms = time.Millisecond
			node.Timing = config.Timing{Heartbeat: 300 * ms, Suspect: 1200 * ms, Fail: 2400 * ms,
				Lease: 400 * ms}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !w.config(0).Tape || !w.config(1).Tape {
		t.Error("the nodes are not asked to keep a tape")
	}
	want := journal.Times{Heartbeat: 300, Suspect: 1200, Fail: 2400, Lease: 400,
		Fence: timing.FenceLease}
	if got := w.Journal.Records()[0].Run.Times; got == nil || *got != want {
		t.Errorf("the journal has the times %+v, want %+v", got, want)
	}
	m := w.machines[0]
	if m.port, err = w.relay.Local("guest"); err != nil {
		t.Fatal(err)
	}
	stack, err := netstack.New(m.port, netstack.Config{MAC: m.node.MAC(), Addr: m.node.Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	listener, err := stack.Listen(httpPort)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		n := min(len(asked), 3)
		rw.Header().Set("Holdfast-Boot", "b")
		rw.Header().Set("Holdfast-Last", fmt.Sprint(n*10))
		fmt.Fprint(rw, []string{"x", "y", ""}[n-1])
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	r := &recording{w: w, m: m, last: "0"}
	w.recordings = append(w.recordings, r)
	if r.take(t.Context(), patience) {
		t.Error("there is nothing more to come")
	}
	if err := w.Close(journal.End{Outcome: journal.Complete}); err != nil {
		t.Error(err)
	}
	questions := []string{"/mesh/tape?after=0", "/mesh/tape?after=10", "/mesh/tape?after=20"}
	if !slices.Equal(asked, questions) {
		t.Errorf("asked for %q, want %q", asked, questions)
	}
	if got, err := os.ReadFile(filepath.Join(w.Folder, TapeFile("n0", "b"))); string(got) != "xy" {
		t.Errorf("the tape has %q, %v", got, err)
	}
}
