package link

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAMemberDialsUntilTheAuthorityIsThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		began := time.Now()
		member := w.member(memberAddress, memberKeys[0], rootKey)
		member.expectRefused(Timeout)
		if took := time.Since(began); took != DialTime {
			t.Errorf("the dial was abandoned after %v", took)
		}
		<-time.After(time.Minute)
		member.silent() // said once
		root := w.authority(memberKeys[0])
		began = time.Now()
		expect[Up](root)
		expect[Up](member)
		if took := time.Since(began); took > RedialMax*5/4+DialTime {
			t.Errorf("connected %v after the authority came", took)
		}
	})
}

func TestTheRedialPauseDoublesAndIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.net.Host(rootAddress) // a machine that listens to nothing refuses at once
		member := w.member(memberAddress, memberKeys[0], strangeKey)
		member.expectRefused(Unreachable)
		root := w.authority(memberKeys[0]) // whose key the member does not trust: a row each time
		pause := 2 * RedialMin
		last := time.Now()
		member.expectRefused(WrongKey)
		root.expectRefused(WrongKey)
		checkPause(t, RedialMin, time.Since(last))
		for range 6 {
			last = time.Now()
			member.expectRefused(WrongKey)
			root.expectRefused(WrongKey)
			checkPause(t, pause, time.Since(last))
			pause = min(2*pause, RedialMax)
		}
	})
}

// checkPause allows the jitter.
func checkPause(t *testing.T, want, got time.Duration) {
	t.Helper()
	if got < want*3/4 || got > want*5/4 {
		t.Errorf("pause of %v, want %v and a quarter to either side", got, want)
	}
}

func TestASessionThatEndsIsReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, atRoot, atMember := w.pair()
		<-time.After(time.Minute)
		root.links.Close(atRoot.Session, Local)
		root.expectDown(atRoot.Session, Local)
		member.expectDown(atMember.Session, EOF)
		began := time.Now()
		if up := expect[Up](member); up.Session == atMember.Session {
			t.Error("a session number was used twice")
		}
		checkPause(t, RedialMin, time.Since(began))
	})
}

func TestAnAuthorityThatKeepsClosingIsDialledEverMoreSlowly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, atRoot, atMember := w.pair()
		for pause := RedialMin; pause <= RedialMax; pause *= 2 {
			root.links.Close(atRoot.Session, Local)
			root.expectDown(atRoot.Session, Local)
			member.expectDown(atMember.Session, EOF)
			began := time.Now()
			atRoot, atMember = expect[Up](root), expect[Up](member)
			checkPause(t, pause, time.Since(began))
		}
		<-time.After(RedialMax) // a session that lasts starts anew
		root.links.Close(atRoot.Session, Local)
		root.expectDown(atRoot.Session, Local)
		member.expectDown(atMember.Session, EOF)
		began := time.Now()
		expect[Up](member)
		checkPause(t, RedialMin, time.Since(began))
	})
}

func TestRedialOpensASecondSessionAndNoThird(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		root, member, _, first := w.pair()
		synctest.Wait() // the dial is over
		member.links.Redial()
		member.links.Redial()
		second := expect[Up](member)
		expect[Up](root)
		<-time.After(time.Minute)
		member.silent()
		root.silent()
		// With one of two gone there is nothing to dial for.
		member.links.Close(first.Session, Replaced)
		member.expectDown(first.Session, Replaced)
		<-time.After(time.Minute)
		member.silent()
		member.links.Close(second.Session, Replaced)
		member.expectDown(second.Session, Replaced)
		expect[Up](member)
	})
}

func TestASecondSessionGetsThroughWhereTheFirstIsStuck(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, member, _, first := w.pair()
		w.root.host.Kill()
		w.root.stop()
		synctest.Wait()
		member.silent() // killed without a word
		root := w.authority(memberKeys[0])
		member.links.Redial()
		expect[Up](root)
		expect[Up](member)
		// The new machine does not know the old connection.
		member.links.Send(first.Session, true, frame(1))
		member.expectDown(first.Session, Reset)
	})
}
