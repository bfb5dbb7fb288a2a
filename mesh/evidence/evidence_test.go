package evidence

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

// parse reads a line by the grammar that its row belongs to.
func parse(s string) (Line, error) {
	if claims(s) {
		return Parse(s)
	}
	return ParseStatus(s)
}

var allRows = slices.Concat(Rows, Status)

func TestEveryLineReadsAsItWasBuilt(t *testing.T) {
	for _, r := range allRows {
		t.Run(r.Head, rapid.MakeCheck(func(t *rapid.T) {
			want := r.draw(t)
			got, err := parse(want.String())
			if err != nil || got != want {
				t.Fatalf("%s: %v", want, err)
			}
			if err := want.Check(); err != nil {
				t.Fatal(err)
			}
			if string(got.AppendTo([]byte("N "))) != "N "+want.String() {
				t.Fatal("AppendTo and String differ")
			}
			if again, ok := rebuild(r, got); !ok || again != got {
				t.Fatalf("%s\nis rebuilt from its values as\n%s", got, again)
			}
		}))
	}
}

// rebuild makes a line of the row again from what the getters say.
func rebuild(r Row, from Line) (Line, bool) {
	l, all := r.start(), true
	for _, f := range r.fields() {
		var ok bool
		l, ok = f.rebuilt(l, from)
		all = all && ok
	}
	return l, all
}

func TestNoRowCanBeLongerThanALine(t *testing.T) {
	for _, r := range allRows {
		l := r.longest()
		if _, err := parse(l.String()); err != nil {
			t.Errorf("the longest %s has %d bytes: %v", r.Head, len(l.String()), err)
		}
	}
}

func TestAConfirmedRowIsWhatTheSpecificationShows(t *testing.T) {
	self, peer := id.Node{0x6f, 15: 1}, id.Node{0x9c, 15: 2}
	got := New("mesh-join", "confirmed").Node("node", peer).Epoch("epoch", 2).Int("members", 2).
		Digest("digest", id.Digest{0xab}).Nodes("snapshot", []id.Node{self, peer}).
		Epoch("incarnation", 2).At(1850)
	const want = "mesh-join: confirmed node=9c000000000000000000000000000002 epoch=2 members=2 " +
		"digest=ab000000000000000000000000000000 " +
		"snapshot=6f000000000000000000000000000001,9c000000000000000000000000000002 " +
		"incarnation=2 at=1850"
	if got.String() != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
	if at, ok := got.Time(); !ok || at != 1850 {
		t.Errorf("at %d, %v", at, ok)
	}
}

func TestWhatDoesNotExistIsNone(t *testing.T) {
	l := New("x", "y").Node("a", id.Node{}).Nodes("b", nil).Boot("c", 0).Epoch("d", 0).
		Instant("e", when.Never).None("f")
	if l.String() != "x: y a=none b=none c=none d=none e=none f=none" {
		t.Errorf("%s", l)
	}
	if _, ok := l.GetNode("a"); ok {
		t.Error("none is a node")
	}
	if _, ok := l.GetEpoch("d"); ok {
		t.Error("none is an epoch")
	}
}

// suspect is a valid line that the cases below damage.
const (
	peerID  = "9c000000000000000000000000000002"
	zero    = "00000000000000000000000000000000"
	suspect = "mesh-fail: suspect node=" + peerID + " epoch=2 silent_ms=6000 at=14012"
)

func TestEveryDamageIsRefused(t *testing.T) {
	if _, err := Parse(suspect); err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) string {
		if !strings.Contains(suspect, old) {
			t.Fatalf("no %q in the line", old)
		}
		return strings.Replace(suspect, old, new, 1)
	}
	for name, s := range map[string]string{
		"two spaces":               swap(" epoch", "  epoch"),
		"a tab":                    swap(" epoch", "\tepoch"),
		"a space at the end":       suspect + " ",
		"a line end":               suspect + "\n",
		"a carriage return":        suspect + "\r",
		"upper-case hex":           swap("9c", "9C"),
		"a short id":               swap("9c00", "9c0"),
		"the zero id":              swap(peerID, zero),
		"a leading zero":           swap("epoch=2", "epoch=02"),
		"a sign":                   swap("6000", "+6000"),
		"a negative number":        swap("6000", "-6000"),
		"a number in hex":          swap("6000", "0x1770"),
		"epoch zero":               swap("epoch=2", "epoch=0"),
		"a number that is too big": swap("6000", "9223372036854775808"),
		"an empty value":           swap("6000", ""),
		"none where there must be": swap("epoch=2", "epoch=none"),
		"no at":                    swap(" at=14012", ""),
		"at twice":                 suspect + " at=14012",
		"at before the end":        swap(" epoch=2", " at=2"),
		"keys in another order":    swap("epoch=2 silent_ms=6000", "silent_ms=6000 epoch=2"),
		"an unknown key":           swap(" at=", " more=1 at="),
		"another key":              swap("silent_ms", "silent"),
		"a missing key":            swap(" epoch=2", ""),
		"a key twice":              swap(" epoch=2", " epoch=2 epoch=2"),
		"an unknown event":         swap("suspect", "suspicious"),
		"another row's fields":     swap("suspect", "removed"),
		"no event":                 "mesh-fail: at=1",
		"no colon":                 swap(":", ""),
		"an unknown prefix":        swap("mesh-fail", "mesh-fall"),
		"only a prefix":            "mesh-fail",
		"a prefix cut":             "mesh-",
		"a cut line":               suspect[:50],
		"an unknown reason":        "mesh-fail: disabled reason=whim at=40",
		"two words for one":        "mesh-fail: disabled reason=config|config at=40",
		"another single":           "mesh=double reason=env at=1",
	} {
		refused(t, name, s)
	}
}

func TestValuesOutsideTheirKindAreRefused(t *testing.T) {
	restored := "mesh-fail: authority state=restored epoch=4 root=" + peerID
	installed := "mesh-view: installed epoch=3 members=2 digest=" + zero
	start := "mesh-node: start node=" + peerID + " role=member boot="
	var six []string
	for i := range view.MaxMembers + 1 {
		six = append(six, peerID[1:]+string(rune('0'+i)))
	}
	if _, err := Parse(installed + " snapshot=" + strings.Join(six[1:], ",") + " at=1"); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]string{
		"a flag that is no flag":    restored + " mutable=2 at=1",
		"fields of the other state": restored + " mutable=0 reads=lease lease_sent_ms=1 at=1",
		"a port that is none":       "mesh-link: refused remote=10.7.0.11:65536 reason=tls at=1",
		"an address that is none":   "mesh-link: refused remote=10.7.0.256:1 reason=tls at=1",
		"a short address":           "mesh-link: refused remote=10.7.0:1 reason=tls at=1",
		"an address without port":   "mesh-link: refused remote=10.7.0.11 reason=tls at=1",
		"an unsorted snapshot":      installed + " snapshot=" + peerID + ",6f" + peerID[2:] + " at=1",
		"a snapshot of six":         installed + " snapshot=" + strings.Join(six, ",") + " at=1",
		"the zero boot":             start + zero[:16] + " epoch=1 ip=10.7.0.1 seed=nvram at=1",
		"a panic without a message": "panic: ",
		"a panic without a space":   "panic:mesh: broken",
		"a panic with a delete":     "panic: mesh: broken\x7f",
		"a panic of two lines":      "panic: mesh: broken\nand more",
	} {
		refused(t, name, s)
	}
}

// refused fails unless s claims to be evidence and is refused for what is wrong with it.
func refused(t *testing.T, name, s string) {
	t.Helper()
	l, err := Parse(s)
	var wrong *Error
	if !errors.As(err, &wrong) || l != (Line{}) {
		t.Errorf("%s: %q is %v, %v", name, s, l, err)
	}
}

func TestALineOf512BytesIsTheLongest(t *testing.T) {
	const head = "panic: mesh: "
	for length, ok := range map[int]bool{Max: true, Max + 1: false} {
		if _, err := Parse(head + strings.Repeat("x", length-len(head))); (err == nil) != ok {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestBootChatterIsNotEvidence(t *testing.T) {
	for _, s := range []string{"", " ", "U-Boot 2023.01", "mesh", "meshes", "Mesh-fail: suspect",
		" " + suspect, "goroutine 1 [running]:", "panicking", "object=1", "node id=none"} {
		if _, err := Parse(s); !errors.Is(err, ErrNotEvidence) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestAnErrorSaysWhatIsWrong(t *testing.T) {
	for s, want := range map[string]string{
		"mesh-fail: disabled reason=whim at=40":        "want reason=config, got 'whim'",
		"mesh-fail: disabled reason=config":            "missing at=",
		"mesh-fail: disabled cause=config at=1":        "want reason=config at ' cause=config at=1'",
		"mesh-fail: authority state=lost epoch=4 at=1": "want root=<node> at ' at=1'",
		"mesh-foo: bar at=1":                           "no such row",
	} {
		if _, err := Parse(s); err == nil || err.Error() != "evidence: "+want+": "+s {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

func TestAPanicLineIsFreeText(t *testing.T) {
	l, err := Parse("panic: runtime error: index out of range [3] with length at=3 é")
	if err != nil {
		t.Error(err)
	}
	if _, ok := l.Time(); ok {
		t.Error("free text has fields")
	}
	if !l.Is("panic") || !l.Is("panic", "runtime") || l.Is("panic", "mesh") {
		t.Error("a panic's words are not its prefix's")
	}
}

func TestIsComparesWholeWords(t *testing.T) {
	l, err := Parse(suspect)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Is("mesh-fail", "suspect") || l.Is("mesh-fail", "susp") || l.Is("mesh-fail", "failed") ||
		l.Is("mesh-view", "suspect") {
		t.Error("Is does not compare head for head")
	}
	single := New(Single).Str("reason", "env").At(1)
	if !single.Is(Single) || single.Is("mesh") || single.String() != "mesh=single reason=env at=1" {
		t.Errorf("%s", single)
	}
}

func TestGettersReadOnlyTheirKind(t *testing.T) {
	l := New("mesh-x", "y").Node("node", id.Node{1}).Uint("n", 7).Bool("b", true).Str("s", "x").
		Word("w", refusal.Moved).Request("r", wire.Request{Seq: 3}).At(9)
	if v, ok := l.Get("s"); v != "x" || !ok {
		t.Error("a text")
	}
	if v, ok := l.GetWord("w"); v != refusal.Moved || !ok {
		t.Error("a word")
	}
	if v, ok := l.GetBool("b"); !v || !ok {
		t.Error("a flag")
	}
	if v, ok := l.GetRequest("r"); v.Seq != 3 || !ok {
		t.Error("a request")
	}
	for name, ok := range map[string]bool{
		"node of a number":   second(l.GetNode("n")),
		"number of a node":   second(l.GetUint("node")),
		"flag of a number":   second(l.GetBool("n")),
		"word of a text":     second(l.GetWord("s")),
		"missing":            second(l.Get("missing")),
		"part of a key":      second(l.Get("ode")),
		"missing number":     second(l.GetUint("missing")),
		"instant of a node":  second(l.GetInstant("node")),
		"epoch of a flag":    second(l.GetEpoch("s")),
		"list of a number":   second(l.GetNodes("n")),
		"digest of a number": second(l.GetDigest("n")),
		"object of a node":   second(l.GetObject("node")),
		"boot of a node":     second(l.GetBoot("node")),
		"request of a node":  second(l.GetRequest("node")),
	} {
		if ok {
			t.Errorf("%s: found", name)
		}
	}
}

func second[T any](_ T, ok bool) bool { return ok }

func TestTextFromOutsideCannotBreakALine(t *testing.T) {
	long := strings.Repeat("x", textMax)
	for key, want := range map[string]string{"mesh.foo": "mesh.foo", "none": "none", "": "?",
		"a b=c\n\x7f": "a?b=c??", "é": "??", long + "x": long} {
		l := New("mesh-env", "unknown").Str("key", key).At(1)
		if got, _ := l.Get("key"); got != want || l.Check() != nil {
			t.Errorf("%q is written %q: %v", key, got, l.Check())
		}
	}
	for _, key := range []string{long + "x", "é", "\x7f", "\x01"} {
		if l, err := Parse("mesh-env: unknown key=" + key + " at=1"); err == nil {
			t.Errorf("%q is accepted: %s", key, l)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.String().Draw(t, "key")
		l := New("mesh-env", "unknown").Str("key", key).At(1)
		if err := l.Check(); err != nil {
			t.Fatalf("%q: %v", key, err)
		}
	})
}

func TestAStatusIsNoEvidence(t *testing.T) {
	status := StatusLine("").Object("object", id.Object{1})
	if got := status.String(); !strings.HasPrefix(got, "object=01") {
		t.Errorf("a row without a head starts %q", got)
	}
	if _, ok := status.GetObject("object"); !ok {
		t.Error("the first field of a row without a head is not found")
	}
	if _, err := ParseStatus(suspect); err == nil {
		t.Error("a line of evidence is taken for a status")
	}
	for _, s := range []string{"", "node", "member id=none", "nodeid=none", "other id=1"} {
		if l, err := ParseStatus(s); err == nil {
			t.Errorf("%q is taken for the status %s", s, l)
		}
	}
}

// The words of damage and of refused values are made where NVRAM is read; the row repeats them.
func TestReasonsOfTheNVRAMAreThoseOfTheRows(t *testing.T) {
	want := map[string][]string{"mesh-env: none": {}, "mesh-env: refused": {}}
	for _, r := range []nvram.Reason{nvram.ReasonBlank, nvram.ReasonMagic, nvram.ReasonVersion,
		nvram.ReasonCRC, nvram.ReasonLength} {
		want["mesh-env: none"] = append(want["mesh-env: none"], string(r))
	}
	for _, r := range config.Reasons() {
		want["mesh-env: refused"] = append(want["mesh-env: refused"], string(r))
	}
	for _, r := range Rows {
		last := len(r.Fields) - 1
		if words, ok := want[r.Head]; ok && !slices.Equal(r.Fields[last].Words, words) {
			t.Errorf("%s: %v, want %v", r.Head, r.Fields[last].Words, words)
		}
	}
}

func TestWordsOfTheWireAreThoseOfTheRows(t *testing.T) {
	for _, c := range []struct{ key, words string }{
		{"op", wire.Stat.String() + " " + wire.Commit.String()},
		{"class", wire.Lease.String() + " " + wire.Authoritative.String() + " " + wire.StaleOK.String()},
		{"durability", wire.Local.String() + " " + wire.Replicated.String()},
		{"last_replay", refusal.StaleEpoch.String() + " " + refusal.Replay.String()},
	} {
		for _, r := range Rows {
			for _, f := range r.Fields {
				if f.Key == c.key && strings.Join(f.Words, " ") != c.words {
					t.Errorf("%s: %v, want %s", f.Key, f.Words, c.words)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, r := range allRows {
		f.Add(r.longest().String())
	}
	f.Add(suspect)
	f.Add(New(Single).Str("reason", "env").At(1).String())
	f.Add("panic: mesh: broken")
	f.Add("U-Boot 2023.01")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := parse(s)
		if err != nil {
			if l != (Line{}) {
				t.Fatal("a line beside an error")
			}
			return
		}
		if l.String() != s || l.Check() != nil || len(s) > Max {
			t.Fatalf("%q is accepted as %q", s, l)
		}
		if strings.HasPrefix(s, panicHead) {
			return
		}
		// Only what can be built is accepted: one row makes the same text from the values again.
		if !slices.ContainsFunc(allRows, func(r Row) bool {
			again, ok := rebuild(r, l)
			return ok && again == l
		}) {
			t.Fatalf("%q cannot be built", s)
		}
	})
}

func TestADraftGoesOn(t *testing.T) {
	d := Begin("mesh-route", "result").Int("step", 1)
	before := d.Line()
	after := d.Node("home", id.Node{}).At(2).Line()
	if want := New("mesh-route", "result").Int("step", 1); before != want {
		t.Errorf("%v, want %v", before, want)
	}
	if want := before.None("home").At(2); after != want {
		t.Errorf("%v, want %v", after, want)
	}
}
