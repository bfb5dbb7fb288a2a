package node

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
)

// taped is an environment with the tape in place of the plain lab.
func taped(env []string) []string {
	i := slices.Index(env, "mesh.lab=1")
	env[i] = "mesh.lab=tape"
	return env
}

// takeTape takes a node's tape along until there is nothing newer.
func (r *running) takeTape() []byte {
	r.w.t.Helper()
	var tape []byte
	for last := "0"; ; {
		status, body, header := r.send("GET", "/mesh/tape?after="+last, "")
		if status != http.StatusOK || header.Get("Content-Type") != "application/octet-stream" ||
			header.Get(tapeBoot) != r.node.mesh.Boot.String() {
			r.w.t.Fatalf("%d %.80q %v", status, body, header)
		}
		if last = header.Get(tapeLast); body == "" {
			return tape
		}
		tape = append(tape, body...)
	}
}

// TestATapeDoneAgainGivesWhatTheNodeDid takes two nodes through a join, requests and a removal, and
// hands everything that is on their tapes to the protocol once more.
func TestATapeDoneAgainGivesWhatTheNodeDid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, taped(rootEnv()), &root, true))
		m := w.boot(chip(t, taped(memberEnv()), &member, true))
		a.await("mesh-join", "confirmed")
		m.awaitLease()
		m.step(1, homedAt(t, root), member, 2)
		a.step(5, homedAt(t, member), root, 2)
		w.net.Cut(a.host, m.host)
		a.await("mesh-fail", "removed")
		m.await("mesh-fail", "authority")
		for _, node := range []struct {
			*running
			who identity
		}{{a, root}, {m, member}} {
			rows := doAgain(t, node.takeTape(), node.who, "tick", "frame", "lab step", "link")
			for _, row := range node.rows("mesh-join") {
				if !slices.ContainsFunc(rows, func(l evidence.Line) bool { return l == row }) {
					t.Errorf("%q is not on the tape", row)
				}
			}
		}
	})
}

// TestWithoutLeasesATapeIsKeptToo takes such a pair through a join, where there are no lab steps.
func TestWithoutLeasesATapeIsKeptToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tape := func(env []string) []string {
			env = acksEnv(env)
			env[slices.Index(env, "mesh.acks=all")] = "mesh.acks=tape"
			return env
		}
		a := w.boot(chip(t, tape(rootEnv()), &root, true))
		m := w.boot(chip(t, tape(memberEnv()), &member, true))
		a.await("mesh-join", "confirmed")
		m.awaitLease()
		<-time.After(20 * time.Second) // of virtual time, and so of ticks and questions
		doAgain(t, a.takeTape(), root, "tick", "frame", "link")
		doAgain(t, m.takeTape(), member, "tick", "frame", "link")
	})
}

// doAgain does the steps of a tape, among which there must be inputs of these kinds, and returns
// the rows that the node printed in them.
func doAgain(t *testing.T, from []byte, who identity, want ...string) (rows []evidence.Line) {
	t.Helper()
	r, head, err := tape.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	if !head.Key.Equal(who.public()) || head.Config.Key != nil {
		t.Errorf("the tape has the key %x and the private key %x", head.Key, head.Config.Key)
	}
	head.Config.Key = who.key
	var out mesh.Effects
	node, err := mesh.New(head.Now, head.Config, &out)
	if err != nil {
		t.Fatal(err)
	}
	steps, kinds := 0, map[string]bool{}
	for s := (tape.Step{Now: head.Now, Effects: head.Effects}); err == nil; s, err = r.Next() {
		if s.Input != nil {
			steps++
			node.Step(s.Now, s.Input, &out)
		}
		gave, gives := tape.AppendEffects(nil, s.Effects), tape.AppendEffects(nil, out.List)
		if !bytes.Equal(gave, gives) {
			t.Fatalf("step %d, %T: %+v, want %+v", steps, s.Input, out.List, s.Effects)
		}
		for _, e := range s.Effects {
			if p, ok := e.(mesh.Print); ok {
				rows = append(rows, p.Line)
			}
		}
		switch s.Input.(type) {
		case mesh.Tick:
			kinds["tick"] = true
		case mesh.Frame:
			kinds["frame"] = true
		case mesh.LabStep:
			kinds["lab step"] = true
		case mesh.LinkUp:
			kinds["link"] = true
		}
	}
	if !errors.Is(err, io.EOF) || steps < 50 {
		t.Errorf("%d steps of %v, %v", steps, kinds, err)
	}
	for _, kind := range want {
		if !kinds[kind] {
			t.Errorf("no %s in %d steps", kind, steps)
		}
	}
	return rows
}

func TestATapeIsKeptOnlyWhenTheEnvironmentAsks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		a.await("mesh-node", "start")
		<-time.After(time.Second)
		status, body := a.ask("GET", "/mesh/tape", "")
		const why = "neither mesh.lab nor mesh.acks is tape"
		if status != http.StatusNotFound || !strings.Contains(body, why) {
			t.Errorf("%d %q", status, body)
		}
	})
}

func TestTheRecorderLetsGoOfTheOldestAndSaysSo(t *testing.T) {
	r := newRecorder(7)
	record := func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, 1000) }
	const all = 3000
	for n := 1; n <= all; n++ {
		r.add(record(n))
	}
	kept := tapeMax / 1000
	for _, c := range []struct {
		after  uint64
		status int
	}{
		{0, http.StatusGone}, {uint64(all-kept) - 1, http.StatusGone}, {uint64(all - kept), 200},
		{all, 200}, {all + 7, 200},
	} {
		if got := r.page(c.after); got.Status != c.status {
			t.Errorf("after %d: %d %.80q", c.after, got.Status, got.Body)
		}
	}
	want, asked := uint64(all-kept), uint64(all-kept)
	for {
		a := r.page(asked)
		if a.Body == "" {
			break
		}
		for i := 0; i < len(a.Body); i += 1000 {
			want++
			if a.Body[i] != byte(want) {
				t.Fatalf("record %d is another", want)
			}
		}
		asked, _ = strconv.ParseUint(a.Header[tapeLast][0], 10, 64)
		if len(a.Body) > tapePage || asked != want {
			t.Fatalf("%d bytes, up to record %d, want %d", len(a.Body), asked, want)
		}
	}
	if want != all {
		t.Errorf("the last record is %d", want)
	}
	r.add(bytes.Repeat([]byte{1}, 2*tapeMax))
	if a := r.page(all); len(a.Body) != 2*tapeMax {
		t.Errorf("a record that is longer than everything: %d bytes", len(a.Body))
	}
}
