package node

import (
	"crypto/ed25519"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// token mints a capability for everything with an object, for requests to holder.
func token(object string, holder identity, epoch id.Epoch) capability.Capability {
	return capability.Capability{
		Object: id.ObjectOf(object), Holder: holder.id, Epoch: epoch, Serial: 1,
		Rights: capability.RightStat | capability.RightCommit,
	}
}

func authorization(c capability.Capability, by ed25519.PrivateKey) string {
	return "Authorization: Holdfast " + capability.Text(capability.Mint(c, by))
}

// namedFor is a name that no node knows yet, of an object whose home is n while both are members.
func namedFor(n identity, prefix string) string {
	for c := 'a'; ; c++ {
		name := prefix + string(c)
		if home.Of(id.ObjectOf(name), []id.Node{root.id, member.id}) == n.id {
			return name
		}
	}
}

// reply is an answer about an object.
type reply struct {
	status int
	body   string
	header http.Header
}

func (r *running) object(method, name, value string, headers ...string) reply {
	r.w.t.Helper()
	status, body, header := r.send(method, "/objects/"+name, value, headers...)
	return reply{status, body, header}
}

// says fails unless the answer has this status and beginning, and these headers without their
// prefix.
func (a reply) says(t *testing.T, status int, body string, headers ...string) {
	t.Helper()
	if a.status != status || !strings.HasPrefix(a.body, body) {
		t.Errorf("%d %q, want %d %q", a.status, a.body, status, body)
	}
	for _, h := range headers {
		key, want, _ := strings.Cut(h, ": ")
		if got := a.header.Get("Holdfast-" + key); got != want {
			t.Errorf("%d %q: %s is %q, want %q", a.status, a.body, key, got, want)
		}
	}
}

// row is the one row that a commit is answered with.
func (a reply) row(t *testing.T) evidence.Line {
	t.Helper()
	row, err := evidence.Parse(strings.TrimSuffix(a.body, "\n"))
	if err != nil {
		t.Errorf("%d %q: %v", a.status, a.body, err)
	}
	return row
}

func TestAnObjectIsWrittenAndReadThroughEitherNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		nodes := []struct {
			*running
			identity
		}{{a, root}, {m, member}}
		for _, at := range []identity{root, member} {
			name := namedFor(at, "new-")
			homed := []string{"Home: " + at.id.String(), "Home-Epoch: 2", "Epoch: 2"}
			version := 0
			for _, through := range nodes {
				auth := authorization(token(name, through.identity, 2), root.key)
				value := "value by " + through.identity.id.String()
				put := through.object("PUT", name, value, auth)
				version++
				counted := "Version: " + string(rune('0'+version))
				put.says(t, 200, "mesh-route: result step=none request=",
					append(homed, counted, "Durability: replicated", "Copies: 2")...)
				has(t, put.row(t), "op=commit", "status=ok", "home="+at.id.String(), "epoch=2",
					"home_epoch=2", "durability=replicated", "copies=2", "class=authoritative")
				for _, reader := range nodes {
					auth := authorization(token(name, reader.identity, 2), root.key)
					for _, class := range []string{"authoritative", "lease"} {
						get := reader.object("GET", name, "", auth, "Class: "+class)
						get.says(t, 200, value,
							append(homed, counted, "Durability: none", "Class: "+class)...)
						if kind := get.header.Get("Content-Type"); kind != "application/octet-stream" {
							t.Errorf("the value is %s", kind)
						}
					}
					head := reader.object("HEAD", name, "", auth)
					head.says(t, 200, "", append(homed, counted)...)
				}
			}
		}
	})
}

// refused is a request for an object and the answer that it gets.
type refused struct {
	name    string
	method  string
	object  string
	value   string
	headers []string
	status  int
	says    string
}

// refusals is requests through the authority that must change nothing. here is homed at the member
// and has version 1, there at the authority and none.
func refusals(here, there string) []refused {
	good := token(here, root, 2)
	auth := authorization(good, root.key)
	with := func(change func(c *capability.Capability)) string {
		c := good
		change(&c)
		return authorization(c, root.key)
	}
	damaged := capability.Mint(good, root.key)
	damaged[len(damaged)-1] ^= 1
	return []refused{
		{"no capability", "PUT", here, "x", nil, 401, "bad-capability: there is none"},
		{"an oversized one", "PUT", here, "x", []string{auth + "AAAA"}, 401,
			"bad-capability: it has 176 characters"},
		{"one without sense", "PUT", here, "x",
			[]string{"Authorization: Holdfast " + strings.Repeat("A", 172)}, 401,
			"bad-capability: its content makes no sense"},
		{"a damaged one", "PUT", here, "x",
			[]string{"Authorization: Holdfast " + capability.Text(damaged)}, 401,
			"bad-capability: its signature is not the authority's"},
		{"one by somebody else", "PUT", here, "x",
			[]string{authorization(good, stranger.key)}, 401,
			"bad-capability: its signature is not the authority's"},
		{"one for another object", "PUT", here, "x",
			[]string{with(func(c *capability.Capability) { c.Object = id.ObjectOf(there) })}, 401,
			"bad-capability: it is for another object"},
		{"one for requests to the other node", "PUT", here, "x",
			[]string{with(func(c *capability.Capability) { c.Holder = member.id })}, 401,
			"bad-capability: it is for requests to another node, " + member.id.String()},
		{"one to read, for a commit", "PUT", here, "x",
			[]string{with(func(c *capability.Capability) { c.Rights = capability.RightStat })}, 401,
			"bad-capability: it does not allow to commit"},
		{"one to write, for a read", "GET", here, "",
			[]string{with(func(c *capability.Capability) { c.Rights = capability.RightCommit })},
			401, "bad-capability: it does not allow to stat"},
		{"one of an older epoch", "PUT", here, "x",
			[]string{with(func(c *capability.Capability) { c.Epoch = 1 })}, 503, "stale-epoch: "},
		{"one of an epoch to come", "PUT", here, "x",
			[]string{with(func(c *capability.Capability) { c.Epoch = 3 })}, 503, "unknown-epoch: "},
		{"a body of 1,025 bytes", "PUT", here, strings.Repeat("x", wire.ValueMax+1),
			[]string{auth}, 413, "too-large: "},
		{"a version that is over", "PUT", here, "x", []string{auth, "If-Version: 0"}, 409,
			"version-conflict: "},
		{"a version that is not there yet", "PUT", here, "x", []string{auth, "If-Version: 2"}, 409,
			"version-conflict: "},
		{"a name that was never stored", "GET", there, "",
			[]string{authorization(token(there, root, 2), root.key)}, 404, "no-object: "},
		{"a version of what was never stored", "PUT", there, "x",
			[]string{authorization(token(there, root, 2), root.key), "If-Version: 1"}, 409,
			"version-conflict: "},
		{"a commit of three copies", "PUT", here, "x", []string{auth, "Copies: 3"}, 503,
			"not-current: "},
		{"a request of an epoch to come", "PUT", here, "x", []string{auth,
			"Holdfast-Request: " + requestText, "Holdfast-First-Epoch: 3"}, 400, "malformed: "},
		{"a request from before this home", "PUT", here, "x", []string{auth,
			"Holdfast-Request: " + requestText, "Holdfast-First-Epoch: 1"}, 504, "unknown-outcome: "},
		{"a name that is none", "PUT", "no%20name", "x", []string{auth}, 400, "malformed: "},
	}
}

func TestWhatARequestForAnObjectIsRefusedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		here, there := namedFor(member, "here-"), namedFor(root, "there-")
		a.object("PUT", here, "first", authorization(token(here, root, 2), root.key)).
			says(t, 200, "mesh-route: result", "Version: 1")
		for _, test := range refusals(here, there) {
			got := a.object(test.method, test.object, test.value, test.headers...)
			if got.status != test.status || !strings.HasPrefix(got.body, test.says) {
				t.Errorf("%s: %d %q, want %d %q", test.name, got.status, got.body, test.status, test.says)
			}
			if test.status == 409 && test.object == here {
				got.says(t, 409, "version-conflict", "Version: 1", "Home: "+member.id.String())
			}
		}
		// Nothing has changed, wherever it is looked at.
		m.object("GET", here, "", authorization(token(here, member, 2), root.key)).
			says(t, 200, "first", "Version: 1")
		m.object("GET", there, "", authorization(token(there, member, 2), root.key)).
			says(t, 404, "no-object")
	})
}

// requestText is a client's own name for a request.
const requestText = "00112233445566778899aabbccddeeff/0000000000000001/1"

func TestARepeatedCommitIsDoneOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		name := namedFor(member, "once-")
		named := "Holdfast-Request: " + requestText
		atRoot := authorization(token(name, root, 2), root.key)
		a.object("PUT", name, "once", atRoot, named).
			says(t, 200, "mesh-route: result", "Version: 1", "Request: "+requestText)
		// Again, and through the other node: the answer of the first time.
		for range 2 {
			a.object("PUT", name, "once", atRoot, named).says(t, 200, "mesh-route: ", "Version: 1")
		}
		atMember := authorization(token(name, member, 2), root.key)
		m.object("PUT", name, "once", atMember, named).says(t, 200, "mesh-route: ", "Version: 1")
		// Another commit under the same name is no commit.
		m.object("PUT", name, "twice", atMember, named).says(t, 503, "replay: ")
		a.object("GET", name, "", atRoot).says(t, 200, "once", "Version: 1")
	})
}

func TestACommitThatExpectsAVersionIsDoneOnceOfTwo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		name := namedFor(root, "race-")
		first := a.object("PUT", name, "a", authorization(token(name, root, 2), root.key),
			"If-Version: 0")
		second := m.object("PUT", name, "b", authorization(token(name, member, 2), root.key),
			"If-Version: 0")
		first.says(t, 200, "mesh-route: ", "Version: 1")
		second.says(t, 409, "version-conflict: ", "Version: 1", "Home: "+root.id.String())
	})
}

func TestObjectsFollowTheMeshThroughACut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		atRoot, atMember := namedFor(root, "r-"), namedFor(member, "m-")
		through := func(r *running, who identity, epoch id.Epoch, method, name string) reply {
			value := map[string]string{"PUT": "v"}[method]
			return r.object(method, name, value, authorization(token(name, who, epoch), root.key))
		}
		through(a, root, 2, "PUT", atMember).says(t, 200, "mesh-route: ", "Home: "+member.id.String())
		w.net.Cut(a.host, m.host)
		// The home is unreachable, and not removed yet: whether it was done is not known.
		through(a, root, 2, "PUT", atMember).says(t, 504, "unknown-outcome: ")
		a.await("mesh-fail", "removed")
		m.await("mesh-fail", "authority")
		through(a, root, 2, "PUT", atMember).says(t, 503, "stale-epoch: ", "Epoch: 3")
		through(a, root, 3, "PUT", atMember).says(t, 200, "mesh-route: ", "Home: "+root.id.String(),
			"Home-Epoch: 3", "Version: 2")
		through(m, member, 2, "PUT", atMember).says(t, 503, "no-authority: ", "Epoch: 2")
		through(m, member, 2, "GET", atRoot).says(t, 503, "no-authority: ")
		w.net.Heal(a.host, m.host)
		m.awaitNth(2, "mesh-join", "confirmed")
		through(m, member, 2, "GET", atMember).says(t, 503, "stale-epoch: ", "Epoch: 4")
	})
}

func TestAStrangerLeavesNoTraceInTheMesh(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		synctest.Wait()
		before, steps := a.rows("mesh-route"), a.node.loop.stats.steps.Load()
		forged := authorization(token("lab-0", root, 1), stranger.key)
		for range 100 {
			a.object("PUT", "lab-0", "x", forged).says(t, 401, "bad-capability: its signature")
		}
		if after := a.rows("mesh-route"); !slices.Equal(after, before) {
			t.Errorf("rows %v", after)
		}
		if got := a.node.loop.stats.steps.Load(); got != steps {
			t.Errorf("%d steps of the loop", got-steps)
		}
	})
}

// TestTheLoopVerifiesNothingForTheNodesOwnClients lets the door take a forged token for verified:
// only who verifies it again finds out.
func TestTheLoopVerifiesNothingForTheNodesOwnClients(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		synctest.Wait()
		forged := capability.Mint(token("lab-0", root, 1), stranger.key)
		a.node.admitted.remember(&forged, verifiedHere)
		a.object("PUT", "lab-0", "x", "Authorization: Holdfast "+capability.Text(forged)).
			says(t, 200, "mesh-route: ")
	})
}

// TestTheHomeAloneVerifiesWhatIsForAnotherNode gives the door of one node another key: whatever it
// verifies by itself fails.
func TestTheHomeAloneVerifiesWhatIsForAnotherNode(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, _ := w.pair()
		here, there := namedFor(root, "here-"), namedFor(member, "there-")
		a.node.mesh.Root = stranger.public()
		auth := authorization(token(there, root, 2), root.key)
		for range 2 {
			a.object("PUT", there, "x", auth).says(t, 200, "mesh-route: ")
		}
		a.object("GET", there, "", auth, "Class: stale-ok").says(t, 401, "bad-capability: its signature")
		// By now it is wary, which a token that the home has taken does not notice.
		a.object("PUT", there, "x", auth).says(t, 200, "mesh-route: ")
		a.object("PUT", here, "x", authorization(token(here, root, 2), root.key)).
			says(t, 401, "bad-capability: its signature")
	})
}

func TestAHomeFindsOneForgedTokenAndItsNeighbourTheOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		there := namedFor(member, "there-")
		forged := token(there, root, 2)
		routed := func() (n uint64) {
			a.node.loop.look(t.Context(), func(c core, now when.Instant) {
				n, _ = c.CountersRow(now).GetUint("routes")
			})
			return n
		}
		offer := func() {
			t.Helper()
			forged.Serial++
			a.object("PUT", there, "x", authorization(forged, stranger.key)).
				says(t, 401, "bad-capability: its signature is not the authority's")
		}
		for range 2 {
			before := routed()
			for range 20 {
				offer()
			}
			if got := routed() - before; got != 1 {
				t.Errorf("%d of 20 got as far as the home, want 1", got)
			}
			<-time.After(time.Duration(waryMS) * time.Millisecond)
		}
		// An honest client notices nothing of it, and the object is new.
		offer()
		a.object("PUT", there, "x", authorization(token(there, root, 2), root.key)).
			says(t, 200, "mesh-route: ", "Version: 1")
		m.object("GET", there, "", authorization(token(there, member, 2), root.key)).
			says(t, 200, "x", "Version: 1")
	})
}

func TestATokenIsVerifiedOnceWhileItIsRemembered(t *testing.T) {
	var a admission
	minted := func(serial uint64) *[capability.Size]byte {
		c := token("lab-0", root, 1)
		c.Serial = serial
		text := capability.Mint(c, root.key)
		return &text
	}
	signed := func(text *[capability.Size]byte, by identity) bool {
		return a.verify(0, text, by.public())
	}
	first := minted(0)
	if !signed(first, root) {
		t.Fatal("a good signature is refused")
	}
	// Against another key it would fail, if it were verified.
	if !signed(first, stranger) {
		t.Error("verified again")
	}
	// The word of another node does not count here.
	if a.refused(0, minted(1), refusal.OK) || signed(minted(1), stranger) {
		t.Error("what another node has taken is taken")
	}
	for i := range uint64(seenMax) {
		if !signed(minted(1+i), root) {
			t.Fatal("a good signature is refused")
		}
	}
	for i := range uint64(seenMax) {
		if !signed(minted(1+i), stranger) {
			t.Errorf("%d of %d tokens is forgotten too early", i, seenMax)
		}
	}
	if signed(first, stranger) {
		t.Error("remembered for ever")
	}
	for range 2 {
		if signed(minted(99), stranger) {
			t.Error("what does not verify is let through, or remembered")
		}
	}
}

func TestWhatAnAnswerSaysOfAToken(t *testing.T) {
	text := capability.Mint(token("lab-0", root, 1), root.key)
	for w, want := range map[refusal.Word]standing{
		refusal.OK:              goodAtHome,
		refusal.BadCapability:   unseenWary,
		refusal.VersionConflict: unseen,
		refusal.NoRoute:         unseen,
		refusal.UnknownOutcome:  unseen,
	} {
		var a admission
		if found := a.refused(0, &text, w); found != (w == refusal.BadCapability) {
			t.Errorf("%v: forged %v", w, found)
		}
		if got := a.standing(when.Instant(waryMS)-1, &text); got != want {
			t.Errorf("%v: standing %d, want %d", w, got, want)
		}
		if got := a.standing(when.Instant(waryMS), &text); got == unseenWary {
			t.Errorf("%v: wary after %d ms", w, waryMS)
		}
	}
}

func TestANodeWithOtherTimesDoesNotJoin(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.boot(chip(t, rootEnv(), &root, true))
		m := w.boot(chip(t, memberEnv("mesh.time=5000,6000,12000,5000"), &member, true))
		has(t, a.await("mesh-join", "refused"), "reason=timing", "node="+member.id.String())
		has(t, m.await("mesh-join", "refused"), "reason=timing")
		<-time.After(time.Minute)
		has(t, m.status("/mesh")[0], "mesh=joining", "mutable=0")
		has(t, a.status("/mesh")[0], "epoch=1")
		m.object("PUT", "lab-0", "v", authorization(token("lab-0", member, 1), root.key)).
			says(t, 503, "no-authority: ")
	})
}
