package node

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/nvram"
)

// window is how long an authority that ran before is quarantined.
const window = timing.FailMS * time.Millisecond

// marksOf is the marks on a chip.
func marksOf(t *testing.T, c nvram.Chip) (nvram.Marks, error) {
	t.Helper()
	store, err := nvram.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	return l.Marks()
}

// setMarks writes marks as the operator does.
func setMarks(t *testing.T, c nvram.Chip, m nvram.Marks) {
	t.Helper()
	store, err := nvram.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.OpenLedger()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Save(m); err != nil {
		t.Fatal(err)
	}
}

// slot is the bytes of a copy's pages of marks.
func slot(m nvram.Memory, c nvram.Copy) []byte {
	return m[nvram.MarksOffset+int(c)*nvram.CopyStride:][:nvram.MarksPages*nvram.MarksPageBytes]
}

func wipe(b []byte) { copy(b, bytes.Repeat([]byte{0xff}, len(b))) }

func TestTheMarksAreOnTheChipBeforeAnEpochIsUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, _ := w.pair()
		<-time.After(time.Second)
		got, err := marksOf(t, a.chip)
		if want := (nvram.Marks{Signed: 2, Activated: 2}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	})
}

// TestAnAuthorityThatIsRestarted boots it anew, on the chip that it left, damaged in some way. The
// member lives on and knows the state.
func TestAnAuthorityThatIsRestarted(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(chip nvram.Memory)
		epoch  string // in which the two are together again; empty: never
	}{
		{"with its chip kept", func(nvram.Memory) {}, "3"},
		{"with slot a wiped", func(m nvram.Memory) { wipe(slot(m, nvram.CopyA)) }, "3"},
		{"with slot b torn", func(m nvram.Memory) {
			// Four pages were written: signed and activated, twice. The last one is torn.
			wipe(slot(m, nvram.CopyB)[3*nvram.MarksPageBytes+20 : 4*nvram.MarksPageBytes])
		}, "3"},
		{"with both slots wiped", func(m nvram.Memory) {
			wipe(slot(m, nvram.CopyA))
			wipe(slot(m, nvram.CopyB))
		}, ""},
		{"with both slots torn", func(m nvram.Memory) {
			slot(m, nvram.CopyA)[3*nvram.MarksPageBytes]++
			slot(m, nvram.CopyB)[3*nvram.MarksPageBytes]++
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				a, m := w.pair()
				<-time.After(time.Second)
				a.kill()
				test.damage(a.chip.(nvram.Memory))
				began := time.Now()
				a = w.boot(a.chip)
				if test.epoch == "" {
					has(t, a.await("mesh-fail", "refused"), "reason=marks")
					<-time.After(time.Minute)
					has(t, a.status("/mesh")[0], "mutable=0")
					if rows := a.rows("mesh-view"); len(rows) != 0 {
						t.Errorf("it signs views: %v", rows)
					}
					return
				}
				has(t, a.await("mesh-fail", "refused"), "reason=quarantine")
				for time.Since(began) < window-time.Second {
					has(t, a.status("/mesh")[0], "mutable=0")
					<-time.After(time.Second)
				}
				both := "snapshot=" + snapshot(root, member)
				has(t, a.await("mesh-join", "confirmed"), "epoch="+test.epoch, both)
				if waited := time.Since(began); waited < window {
					t.Errorf("signed after %v", waited)
				}
				has(t, m.awaitNth(2, "mesh-join", "confirmed"), "epoch="+test.epoch, both)
				m.awaitObject(homedAt(t, member), member, 3)
			})
		})
	}
}

// awaitObject waits until a node commits to an object.
func (r *running) awaitObject(name string, holder identity, epoch id.Epoch) {
	r.w.t.Helper()
	auth := authorization(token(name, holder, epoch), root.key)
	var last reply
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if last = r.object("PUT", name, "v", auth); last.status == 200 {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	r.w.t.Errorf("no commit: %d %q", last.status, last.body)
}

func TestAnAuthorityThatLostItsMarksNeedsAnEpochAboveThem(t *testing.T) {
	for _, test := range []struct {
		name  string
		epoch string
		lost  func(chip nvram.Memory) // what else happens to the chip
		runs  bool
	}{
		{"no mesh.epoch", "", func(nvram.Memory) {}, false},
		{"one that was signed", "mesh.epoch=7", func(nvram.Memory) {}, false},
		{"one above all that is left", "mesh.epoch=8", func(nvram.Memory) {}, true},
		{"one, and nothing is left", "mesh.epoch=2", func(m nvram.Memory) {
			wipe(slot(m, nvram.CopyA))
			wipe(slot(m, nvram.CopyB))
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				env := rootEnv()
				if test.epoch != "" {
					env = append(env, test.epoch)
				}
				c := chip(t, env, &root, true)
				setMarks(t, c, nvram.Marks{Signed: 7, Activated: 6})
				setMarks(t, c, nvram.Marks{Signed: 7, Activated: 7})
				for _, copy := range []nvram.Copy{nvram.CopyA, nvram.CopyB} {
					slot(c, copy)[nvram.MarksPageBytes]++ // the page that was written last
				}
				test.lost(c)
				a := w.sitDown(c)
				if !test.runs {
					has(t, a.await("mesh-fail", "refused"), "reason=marks")
					<-time.After(time.Minute)
					has(t, a.status("/mesh")[0], "mutable=0")
					a.types("")
					a.has("start-empty", "nothing changed: it has a view, or its marks are lost")
					return
				}
				a.types("")
				a.has("start-empty", "it starts with what everybody shows")
				view := a.await("mesh-view", "installed")
				has(t, view, strings.Replace(test.epoch, "mesh.", "", 1), "members=1")
				if at, _ := view.GetInstant("at"); int64(at) < timing.FailMS {
					t.Errorf("signed before the quarantine was over: %q", view)
				}
			})
		})
	}
}

// TestWhatAMemberHoldsOutlivesTheMarks: without marks, and with the operator's epoch, an authority
// waits for the member and takes its state. Booted once more, it does without mesh.epoch.
func TestWhatAMemberHoldsOutlivesTheMarks(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, _ := w.pair()
		a.awaitObject(homedAt(t, root), root, 2)
		a.kill()
		c := a.chip.(nvram.Memory)
		wipe(slot(c, nvram.CopyA))
		wipe(slot(c, nvram.CopyB))
		p := w.sitDown(c)
		has(t, p.await("mesh-fail", "refused"), "reason=marks")
		p.types("")
		p.has("env set mesh.epoch=100", "env: stored")
		p.kill()
		a = w.boot(c)
		has(t, a.await("mesh-join", "confirmed"), "epoch=100", "snapshot="+snapshot(root, member))
		name := homedAt(t, root)
		auth := authorization(token(name, root, 100), root.key)
		if got := a.object("GET", name, "", auth); got.status != 200 || got.body != "v" {
			t.Errorf("afterwards: %d %q", got.status, got.body)
		}
		a.kill()
		a = w.boot(c)
		has(t, a.await("mesh-join", "confirmed"), "epoch=101")
		if !slices.Contains(a.console.ended(),
			"node: marks: mesh.epoch has done its work: env unset mesh.epoch") {
			t.Error("nobody says that mesh.epoch is of no use any more")
		}
	})
}

func TestAnAuthorityThatNobodyProvesAnythingTo(t *testing.T) {
	for _, mayEmpty := range []bool{false, true} {
		inWorld(t, func(t *testing.T, w *world) {
			c := chip(t, rootEnv(), &root, true)
			setMarks(t, c, nvram.Marks{Signed: 7, Activated: 7, MayEmpty: mayEmpty})
			a := w.boot(c)
			<-time.After(window + time.Second)
			if !mayEmpty {
				a.await("mesh-fail", "refused")
				has(t, a.awaitNth(2, "mesh-fail", "refused"), "reason=unproven")
				has(t, a.status("/mesh")[0], "mutable=0")
				return
			}
			has(t, a.await("mesh-view", "installed"), "epoch=8")
			has(t, a.status("/mesh")[0], "mutable=1")
			if got, err := marksOf(t, c); err != nil || got != (nvram.Marks{Signed: 8, Activated: 8}) {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
		})
	}
}

// slowChip is a chip that takes its time, and can be told to keep nothing of the marks.
type slowChip struct {
	nvram.Memory
	mu    sync.Mutex
	write time.Duration
	deaf  bool
}

func (c *slowChip) WriteAt(p []byte, off int) error {
	c.mu.Lock()
	write, deaf := c.write, c.deaf && off%nvram.CopyStride >= nvram.MarksOffset
	c.mu.Unlock()
	<-time.After(write)
	if deaf {
		return nil
	}
	return c.Memory.WriteAt(p, off)
}

func (c *slowChip) set(deaf bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaf = deaf
}

func TestASlowChipDelaysAViewAndNotTheLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const write = 20 * time.Millisecond
		a := w.boot(&slowChip{Memory: chip(t, rootEnv(), &root, true), write: write})
		w.boot(chip(t, memberEnv(), &member, true))
		first := a.await("mesh-view", "installed")
		// Both slots are written before the epoch is signed.
		start := a.await("mesh-node", "start")
		began, _ := start.GetInstant("at")
		if at, _ := first.GetInstant("at"); at.Sub(began) != 2*20 {
			t.Errorf("signed %d ms after the start", at.Sub(began))
		}
		a.await("mesh-join", "confirmed")
		<-time.After(time.Minute)
		if late := a.node.loop.stats.lateMax.Load(); late != 0 {
			t.Errorf("a tick came %d ms late", late)
		}
	})
}

func TestMarksThatTheChipDoesNotTake(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := &slowChip{Memory: chip(t, rootEnv(), &root, true)}
		a := w.boot(c)
		has(t, a.await("mesh-view", "installed"), "epoch=1")
		<-time.After(time.Second)

		// The view that it has it keeps, and changes it when the chip takes its marks again.
		c.set(true)
		m := w.boot(chip(t, memberEnv(), &member, true))
		has(t, a.await("mesh-fail", "refused"), "reason=marks")
		synctest.Wait()
		const why = "node: marks: nvram: copy a of the marks: chip did not keep what was written"
		if text := strings.Join(a.console.lines(), "\n"); !strings.Contains(text, why) {
			t.Errorf("it says\n%s", text)
		}
		<-time.After(time.Minute)
		has(t, a.status("/mesh")[0], "epoch=1", "mutable=1")
		c.set(false)
		has(t, m.await("mesh-join", "confirmed"), "epoch=2")
	})
}

func TestANewAuthorityWhoseChipTakesNoMarksServesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(&slowChip{Memory: chip(t, rootEnv(), &root, true), deaf: true})
		has(t, a.await("mesh-fail", "refused"), "reason=marks")
		<-time.After(time.Minute)
		has(t, a.status("/mesh")[0], "mutable=0")
		if rows := a.rows("mesh-view"); len(rows) != 0 {
			t.Errorf("it signs views: %v", rows)
		}
	})
}

func TestMarksOfSomebodyElseStopTheAuthority(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := chip(t, rootEnv(), &root, true)
		a := w.boot(c)
		a.await("mesh-view", "installed")
		<-time.After(time.Second)
		setMarks(t, c, nvram.Marks{Signed: 9, Activated: 1})
		w.boot(chip(t, memberEnv(), &member, true))
		has(t, a.await("mesh-fail", "refused"), "reason=marks")
		<-time.After(time.Minute)
		has(t, a.status("/mesh")[0], "epoch=1", "mutable=0")
		if got, _ := marksOf(t, c); got.Signed != 9 {
			t.Errorf("overwritten: %+v", got)
		}
	})
}

func TestTheKeepersResultsReachTheProtocol(t *testing.T) {
	broken := errors.New("no acknowledge")
	for _, test := range []struct {
		err  error
		want mesh.PersistError
	}{
		{nil, mesh.PersistOK}, {broken, mesh.PersistFailed}, {nvram.ErrReadBack, mesh.PersistFailed},
		{nvram.ErrMarksHigher, mesh.PersistHigher},
	} {
		w := newLoopWorld()
		var got []mesh.Input
		w.core.effect = func(in mesh.Input) []mesh.Effect {
			got = append(got, in)
			return nil
		}
		saved{test.err}.handle(w.loop)
		if len(got) != 1 || got[0] != (mesh.Persisted{Err: test.want}) {
			t.Errorf("%v: %+v", test.err, got)
		}
	}
}
