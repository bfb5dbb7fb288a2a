package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/nvram/config"
	"holdfast/qemu/relay"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// small is a scenario without a step or a check.
const small = "name a\nabout b\nproof c\n"

func TestEveryStepCanBeWritten(t *testing.T) {
	f, err := Parse(small + `nodes 3
# A comment, an empty line, and a line that goes on.

step boot n0
step boot n2
step await n0 ` + "`mesh-join: confirmed epoch=2`" + `
  within 45s
step serve n2 epoch 2
step uptime n0 15s
step later n0 1500ms
step survey n2
step load n0 n2
step served
step pass 9s nothing passing
step lose n0 n2
step impair n0 n2 drop=20% corrupt=0.5% delay=10ms jitter=200ms
step heal n0 n2
step yield n0 n2
step freeze n2 3s
step stall n0 8s
step converge n0 n2
step served n2
step audit n0 n2
step ask n0
step stale n2
step hush
step kill n2
step boot n2
check one-home
without route
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		boot{"n0"}, boot{"n2"},
		row{"n0", "mesh-join: confirmed", []string{"epoch=2"}, 45 * time.Second},
		state{"n2", 2}, uptime{"n0", 15 * time.Second}, uptimeMore{"n0", 1500 * time.Millisecond},
		survey{"n2"}, load{nodes: []string{"n0", "n2"}}, served{},
		pass{9 * time.Second, "nothing passing"},
		impair{"n0", "n2", relay.Block, "lose what goes"},
		impair{"n0", "n2", relay.Rule{Drop: 0.2, Corrupt: 0.005, Delay: 10 * time.Millisecond,
			Jitter: 200 * time.Millisecond},
			"lose 20 % of, corrupt 0.5 % of, delay by up to 210ms what goes"},
		heal{"n0", "n2"}, yield{"n0", "n2"},
		stand{"n2", world.Freeze, 3 * time.Second}, stand{"n0", world.Stall, 8 * time.Second},
		converge{[]string{"n0", "n2"}}, served{[]string{"n2"}}, audit{[]string{"n0", "n2"}},
		ask{node: "n0"}, ask{"n2", true},
		hush{}, kill{"n2"}, boot{"n2"},
	}
	if !reflect.DeepEqual(f.Steps, want) {
		t.Errorf("steps are\n%#v, want\n%#v", f.Steps, want)
	}
	conf := config.Config{Fail: true, Route: true}
	f.Configure(nil, 0, &conf)
	if f.Nodes != 3 || !conf.Fail || conf.Route {
		t.Errorf("%d nodes, configured as %+v", f.Nodes, conf)
	}
}

func TestANodesNameInARowStandsForItsID(t *testing.T) {
	cast := provision.Draw(StoredSeed, 2)
	got := named(cast, []string{"node=n1", "epoch=3"})
	want := []string{"node=" + cast.Nodes[1].ID.String(), "epoch=3"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAPairBothWays(t *testing.T) {
	f, err := Parse(small + "step pair\nstep cut n0 n1\nstep hold n1 n0\nstep again\nstep end\n" +
		"check load\n")
	if err != nil {
		t.Fatal(err)
	}
	want := append(loadSteps(),
		impair{root, member, loses, "lose what goes"}, impair{member, root, loses, "lose what goes"},
		impair{member, root, keeps, "keep what goes"}, impair{root, member, keeps, "keep what goes"})
	want = append(append(want, againSteps()...), endSteps()...)
	if !reflect.DeepEqual(f.Steps, want) || f.Configure != nil {
		t.Errorf("steps are\n%#v, want\n%#v", f.Steps, want)
	}
	if len(f.Checks) != len(loadChecks()) {
		t.Errorf("%d checks", len(f.Checks))
	}
}

func TestEveryCheckCanBeWritten(t *testing.T) {
	f, err := Parse(small + "step pair\n" + `check one-home
check ordered
check round-trip n1 n0
check lease-over n1 n0
check served n0 n1
check agreed n0 n1
check nothing-lost 3 4
check goes-on 3 n0
check unknown-first n0 2
check stale-reads n1 n0
check linearizable
check quiet
check new-boot n1
check same-boot n1
check stopped-serving n1 n0
check removals n1 n0 0..1 once at most
check stood-still n1 3s 8s
check watchdog n1 3s
check never no-fork any ` + "`mesh-fail: fork`" + `
check happens seen n0 ` + "`mesh-fail: suspect node=n1`" + `
check happens twice n0 ` + "`mesh-fail: suspect`" + ` times 2..2
check happens often n0 ` + "`mesh-fail: suspect`" + ` times 3..
check within in-time 6s..6.5s of n0 ` + "`mesh-fail: suspect`" + ` after cut n1
check within later 0s..1m of any ` + "`mesh-fail: failed`" + ` after row n0 ` +
		"`mesh-fail: suspect`" + "\n")
	if err != nil {
		t.Fatal(err)
	}
	claims := make(map[string]string)
	for _, c := range f.Checks {
		claims[c.Name] = c.Claim
	}
	for name, want := range map[string]string{
		"goes-on":  "at epoch 3 every object is committed through each of [n0]",
		"removals": "once at most",
		"no-fork":  "`mesh-fail: fork` is never printed",
		"seen":     "`mesh-fail: suspect node=n1` at n0 is printed at least once",
		"twice":    "`mesh-fail: suspect` at n0 is printed 2 times",
		"often":    "`mesh-fail: suspect` at n0 is printed at least 3 times",
		"in-time":  "`mesh-fail: suspect` at n0 comes 6s to 6.5s after the impair of n1",
		"later":    "`mesh-fail: failed` comes 0s to 1m0s after `mesh-fail: suspect` at n0",
	} {
		if claims[name] != want {
			t.Errorf("%s claims %q, want %q", name, claims[name], want)
		}
	}
	// All verbs but load; stood-still gives two checks, within stands twice and happens three times.
	if len(f.Checks) != len(checkVerbs)-1+4 {
		t.Errorf("%d checks of %d verbs", len(f.Checks), len(checkVerbs))
	}
}

func TestAMistakeIsNamedWithItsLine(t *testing.T) {
	const whole = small + "step pair\ncheck load\n"
	for line, want := range map[string]string{
		"dance":                                   `line 6: no line begins with "dance"`,
		"name x":                                  "line 6: it stands twice",
		"about":                                   "line 6: it stands twice",
		"nodes 9":                                 `"9" is no number from 2 to 4`,
		"nodes 2 3":                               `"3" is too much`,
		"without hope":                            "fail or route",
		"step":                                    "a step is missing at the end",
		"step fly n0":                             `no step is called "fly"; there are again, ask`,
		"step kill n2":                            `"n2" is no node: they are n0, the authority, to n1`,
		"step kill n01":                           `"n01" is no node`,
		"step boot n0":                            "n0 runs already",
		"step kill n1\nstep kill n1":              "line 7: n1 does not run here",
		"step kill n1\nstep freeze n1 3s":         "line 7: n1 does not run here",
		"step cut n0 n0":                          "cannot be its own peer",
		"step load n0 n0":                         "n0 stands twice",
		"step pass 0s of nothing":                 "no time",
		"step pass 2h of something":               "no time",
		"step pass 2s":                            "say of what",
		"step serve n0 epoch 0":                   `"0" is no epoch`,
		"step serve n0 at 2":                      `"at" stands where epoch should`,
		"step await n0 mesh-fail: suspect":        "between two `",
		"step await n0 `suspect`":                 "begins like",
		"step await n0 `mesh-fail: a=1 x`":        "behind a field",
		"step await n0 `mesh-fail: x` by 3s":      `"by" stands where within should`,
		"step impair n0 n1":                       "say how",
		"step impair n0 n1 drop=2":                "a chance is above 0",
		"step impair n0 n1 drop=NaN%":             "a chance is above 0",
		"step impair n0 n1 drop=101%":             "a chance is above 0",
		"step impair n0 n1 delay=2h":              "at most 1m",
		"step impair n0 n1 colour=red":            "a way has drop,",
		"check hope":                              `no check is called "hope"; there are agreed`,
		"check one-home":                          "two checks are called one-home",
		"check removals n1 n0 2..1 x":             "is not how often",
		"check removals n1 n0 1..1":               "say what that means",
		"check never x any":                       "a row is missing",
		"check never X any `mesh-fail: x`":        "a name is of a-z",
		"check never no-panic any `mesh-fail: x`": "two checks are called no-panic",
		"check within x 2s..1s of n0 `mesh-x: y` after kill n1":  "are no bounds",
		"check within x 1s..2s of n0 `mesh-x: y` after lunch n1": `"lunch" is no moment`,
	} {
		_, err := Parse(whole + line + "\n")
		var at *FileError
		if !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", line, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                   "there is no line with name",
		small:                                "there is no line with step",
		"name A\n" + small[len("name a\n"):]: `line 1: a name is of a-z`,
		strings.Repeat("#", FileMost+1):      "at most 65536",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// written are all scenarios that are files: the rig's and the examples.
func scenarioFiles(t testing.TB) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for _, pattern := range []string{"faults/*.scenario", "../../docs/scenarios/*.scenario"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = string(text)
		}
	}
	return files
}

func TestEveryFileIsAScenarioOfItsName(t *testing.T) {
	for path, text := range scenarioFiles(t) {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(path), ".scenario"); f.Name != want {
			t.Errorf("%s is called %s", path, f.Name)
		}
		if _, own := Find(f.Name); own != strings.HasPrefix(path, "faults/") {
			t.Errorf("%s is one of the rig's: %t", path, own)
		}
	}
}

// docs/scenarios.md explains every word that a line can begin with, and no other.
func TestThePageNamesEveryWord(t *testing.T) {
	page, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	for verb := range stepVerbs {
		if !strings.Contains(string(page), "| `step "+verb) {
			t.Errorf("docs/scenarios.md says nothing of step %s", verb)
		}
	}
	for verb := range checkVerbs {
		if !strings.Contains(string(page), "| `check "+verb) {
			t.Errorf("docs/scenarios.md says nothing of check %s", verb)
		}
	}
	for line := range strings.Lines(string(page)) {
		for prefix, known := range map[string]func(string) bool{
			"| `step ":  func(w string) bool { return stepVerbs[w] != nil },
			"| `check ": func(w string) bool { return checkVerbs[w] != nil },
		} {
			rest, ok := strings.CutPrefix(line, prefix)
			if word, _, _ := strings.Cut(strings.ReplaceAll(rest, "`", " "), " "); ok && !known(word) {
				t.Errorf("docs/scenarios.md explains %q, which does not exist", word)
			}
		}
	}
}

// Whatever stands in a file, reading it ends in a fault that can be listed or in a reason.
func FuzzParse(f *testing.F) {
	for _, text := range scenarioFiles(f) {
		f.Add(text)
	}
	f.Add(small + "step boot n0\ncheck never x any `mesh-fail: y` extra\n")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := Parse(text)
		if err != nil {
			var at *FileError
			if !errors.As(err, &at) || at.Why == "" || fault != nil {
				t.Fatalf("%v with %v", err, fault)
			}
			return
		}
		for _, s := range fault.Steps {
			if s.String() == "" || s.Limit() <= 0 {
				t.Errorf("step %#v", s)
			}
		}
		if fault.Patience() <= 0 || len(fault.AllChecks()) == 0 {
			t.Error("nothing to do or to ask")
		}
	})
}
