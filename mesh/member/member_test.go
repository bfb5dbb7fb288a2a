package member_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/detect"
	"holdfast/mesh/id"
	"holdfast/mesh/member"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

func memberOf(name string, boot id.Boot) view.Member {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey)
	m := view.Member{ID: id.NodeOf(key), Incarnation: 1, Boot: boot}
	copy(m.Key[:], key)
	return m
}

// table is one in which self sees a and b, heard at zero.
func table(boots ...id.Boot) (*member.Table, []view.Member) {
	self := memberOf("self", 1)
	v := view.View{Epoch: 1}
	ms := []view.Member{memberOf("a", boots[0]), memberOf("b", boots[1])}
	for _, m := range append(ms, self) {
		v.Members = v.With(m)
	}
	var t member.Table
	t.Install(0, &v, self.ID)
	return &t, ms
}

func TestTheTableHoldsEverybodyButTheNodeItself(t *testing.T) {
	tab, ms := table(1, 1)
	if len(tab.All()) != 2 || tab.Find(ms[0].ID) == nil || tab.Find(ms[1].ID) == nil {
		t.Error("somebody is missing")
	}
	if tab.Find(memberOf("self", 1).ID) != nil || tab.Find(id.Node{}) != nil {
		t.Error("somebody is too much")
	}
}

func TestOnlyTheBootInTheViewIsHeard(t *testing.T) {
	tab, ms := table(5, 1)
	a := tab.Find(ms[0].ID)
	for _, boot := range []id.Boot{0, 4, 6} {
		tab.Heard(100, a.ID, boot)
		if a.Silence(100) != 100 {
			t.Errorf("boot %d is heard", boot)
		}
	}
	tab.Heard(100, memberOf("stranger", 5).ID, 5)
	if silence, recovered := tab.Heard(100, a.ID, 5); silence != 100 || recovered {
		t.Errorf("silent for %d, recovered %v", silence, recovered)
	}
	if a.Silence(100) != 0 || tab.Find(ms[1].ID).Silence(100) != 100 {
		t.Error("the wrong one is heard")
	}
}

func TestASuspectRecoversAndAFailedOneDoesNot(t *testing.T) {
	tab, ms := table(1, 1)
	a, b := tab.Find(ms[0].ID), tab.Find(ms[1].ID)
	a.Health, a.Drain = detect.Suspect, member.DrainAsked
	if silence, recovered := tab.Heard(7000, a.ID, 1); silence != 7000 || !recovered {
		t.Errorf("silent for %d, recovered %v", silence, recovered)
	}
	if a.Health != detect.Alive || a.Drain != member.DrainIdle {
		t.Error("a recovered member is still on its way out")
	}
	b.Health = detect.Failed
	if _, recovered := tab.Heard(7000, b.ID, 1); recovered || b.Health != detect.Failed {
		t.Error("a failed member is left through a new view only")
	}
}

func TestWhatWasHeardBelongsToTheBoot(t *testing.T) {
	tab, ms := table(1, 1)
	a := tab.Find(ms[0].ID)
	a.Acked, a.LastAck, a.Health, a.Viewed = true, 50, detect.Suspect, 1
	for boot, kept := range map[id.Boot]bool{1: true, 2: false} {
		next := view.View{Epoch: 2, Members: []view.Member{memberOf("a", boot)}}
		again := *tab
		again.Install(9000, &next, memberOf("self", 1).ID)
		e := again.Find(ms[0].ID)
		if len(again.All()) != 1 || e.Boot != boot {
			t.Fatal("the table is not that of the view")
		}
		if e.Acked != kept || (e.Silence(9000) == 9000) != kept || (e.Health == detect.Suspect) != kept {
			t.Errorf("boot %d: %+v", boot, e)
		}
	}
}

func TestAFailedMemberStartsAnewWhenItIsInAView(t *testing.T) {
	tab, ms := table(1, 1)
	tab.Find(ms[0].ID).Health = detect.Failed
	next := view.View{Epoch: 2, Members: ms[:1]}
	tab.Install(20_000, &next, memberOf("self", 1).ID)
	if e := tab.Find(ms[0].ID); e.Health != detect.Alive || e.Silence(20_000) != 0 {
		t.Errorf("%+v", e)
	}
}

func TestAPauseIsNobodysSilence(t *testing.T) {
	for _, c := range []struct{ heard, now, pause, want when.Span }{
		{0, 20_000, 15_000, 5_000},
		{0, 20_000, 20_000, 0},
		{0, 20_000, 25_000, 0}, // never heard in the future
		{20_000, 20_000, 5_000, 0},
	} {
		tab, ms := table(1, 1)
		a := tab.Find(ms[0].ID)
		a.Heard, a.Drain = when.Instant(c.heard), member.DrainedOnce
		tab.Excuse(when.Instant(c.now), c.pause)
		if got := a.Silence(when.Instant(c.now)); got != c.want {
			t.Errorf("heard at %d, a pause of %d until %d: silent for %d, want %d",
				c.heard, c.pause, c.now, got, c.want)
		}
		if a.Drain != member.DrainIdle {
			t.Error("a drain from before the pause counts after it")
		}
	}
}

func TestDueIsTheNextChangeOfHealth(t *testing.T) {
	tab, ms := table(1, 1)
	a := tab.Find(ms[0].ID)
	a.Heard = 100
	for health, want := range map[detect.Health]when.Instant{
		detect.Alive:   100 + timing.SuspectMS,
		detect.Suspect: 100 + timing.FailMS,
		detect.Failed:  when.Never,
	} {
		a.Health = health
		if got := a.Due(timing.Default); got != want {
			t.Errorf("%v: due at %d, want %d", health, got, want)
		}
	}
}

func TestAWaitEndsWithItsTimeOrItsAcknowledgement(t *testing.T) {
	tab, ms := table(1, 1)
	a := tab.Find(ms[0].ID)
	b := ms[1].ID
	fresh := []member.Wait{{Node: b, Boot: 1, Until: 500}, {Node: b, Boot: 2, Until: 700}}
	a.Waits = append([]member.Wait(nil), fresh...)
	for _, c := range []struct {
		now  when.Instant
		want bool
	}{{499, true}, {500, true}, {699, true}, {700, false}, {701, false}} {
		if a.Waiting(c.now) != c.want {
			t.Errorf("at %d: waiting %v", c.now, !c.want)
		}
	}
	a.Waits = append([]member.Wait(nil), fresh...)
	tab.Released(b, 1)
	tab.Released(a.ID, 2)
	if len(a.Waits) != 1 || a.Waits[0].Boot != 2 {
		t.Errorf("%v is left, want the wait for boot 2", a.Waits)
	}
	tab.Released(b, 2)
	if a.Waiting(0) {
		t.Error("everybody has acknowledged")
	}
}

func TestEachBootIsWaitedForOnceAndLongEnough(t *testing.T) {
	a, b := memberOf("a", 1).ID, memberOf("b", 1).ID
	old := []member.Wait{{Node: a, Boot: 1, Until: 500}}
	got := member.Merge(slices.Clone(old), member.Wait{Node: a, Boot: 1, Until: 400},
		member.Wait{Node: a, Boot: 2, Until: 300}, member.Wait{Node: b, Boot: 1, Until: 200},
		member.Wait{Node: a, Boot: 2, Until: 600})
	want := []member.Wait{{Node: a, Boot: 1, Until: 500}, {Node: a, Boot: 2, Until: 600},
		{Node: b, Boot: 1, Until: 200}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAnAcknowledgedMemberIsFencedFromItsLastAck(t *testing.T) {
	e := member.Entry{Member: memberOf("a", 3), Acked: true, LastAck: 1000}
	want := member.Wait{Node: e.ID, Boot: 3, Until: 1000 + timing.FenceMS}
	if got := e.Fenced(timing.Default); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSilenceNeverGoesNegative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, ms := table(1, 1)
		a := tab.Find(ms[0].ID)
		var now when.Instant
		t.Repeat(map[string]func(*rapid.T){
			"time passes": func(t *rapid.T) { now += when.Instant(rapid.IntRange(0, 5000).Draw(t, "ms")) },
			"heard":       func(*rapid.T) { tab.Heard(now, a.ID, 1) },
			"pause": func(t *rapid.T) {
				d := when.Span(rapid.IntRange(0, 30_000).Draw(t, "pause"))
				now = now.Add(d)
				before := a.Silence(now)
				tab.Excuse(now, d)
				if got := a.Silence(now); got != max(0, before-d) {
					t.Fatalf("silent for %d before a pause of %d was excused, for %d after", before, d, got)
				}
			},
			"": func(t *rapid.T) {
				if a.Silence(now) < 0 {
					t.Fatalf("heard %d ms from now", -a.Silence(now))
				}
			},
		})
	})
}
