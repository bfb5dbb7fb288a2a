package node

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/nvram"
)

// without is the environment less the strings of these keys, with more.
func without(env []string, keys string, more ...string) []string {
	var kept []string
	for _, s := range env {
		key, _, _ := strings.Cut(s, "=")
		if !strings.Contains(" "+keys+" ", " "+key+" ") {
			kept = append(kept, s)
		}
	}
	return append(kept, more...)
}

// filled is a chip that was never written.
func filled(fill byte) func(*testing.T) nvram.Chip {
	return func(*testing.T) nvram.Chip {
		return nvram.Memory(bytes.Repeat([]byte{fill}, nvram.Size))
	}
}

// provisioned is a chip as chip makes it.
func provisioned(env []string, who *identity, entropy bool) func(*testing.T) nvram.Chip {
	return func(t *testing.T) nvram.Chip { return chip(t, env, who, entropy) }
}

// singles is every reason for which a node has no mesh.
var singles = []struct {
	name   string
	chip   func(t *testing.T) nvram.Chip
	reason string
	rows   []string // that come before
}{
	{"a blank chip", filled(0xff), reasonNoPeer, []string{"mesh-env: none reason=blank at=0"}},
	{"a chip of zeros", filled(0), reasonNoPeer, []string{"mesh-env: none reason=blank at=0"}},
	{"no chip", func(*testing.T) nvram.Chip { return nil }, reasonEnv, nil},
	{"a chip that is too small", func(*testing.T) nvram.Chip {
		return make(nvram.Memory, nvram.Size/2)
	}, reasonEnv, nil},
	{"a chip that does not answer", func(*testing.T) nvram.Chip {
		return &brokenChip{Memory: make(nvram.Memory, nvram.Size), readsFail: true}
	}, reasonEnv, nil},
	{"both copies of the environment damaged", func(t *testing.T) nvram.Chip {
		c := chip(t, rootEnv(), &root, true)
		c[0x60] ^= 1
		c[0x60+nvram.CopyStride] ^= 1
		return c
	}, reasonEnv, []string{"mesh-env: none reason=crc at=0"}},
	{"no mesh.peer", provisioned(without(rootEnv(), "mesh.peer"), &root, true), reasonNoPeer, nil},
	{"no mesh.root", provisioned(without(rootEnv(), "mesh.root"), &root, true), reasonNoKey, nil},
	{"a malformed mesh.root", provisioned(without(rootEnv(), "mesh.root", "mesh.root=!"), &root, true),
		reasonEnv, []string{"mesh-env: refused key=mesh.root reason=base64 at=0"}},
	{"a malformed mesh.epoch", provisioned(rootEnv("mesh.epoch=x"), &root, true),
		reasonEnv, []string{"mesh-env: refused key=mesh.epoch reason=number at=0"}},
	{"mesh.time with three numbers", provisioned(rootEnv("mesh.time=1,2,3"), &root, true),
		reasonEnv, []string{"mesh-env: refused key=mesh.time reason=count at=0"}},
	{"a malformed net.ip",
		provisioned(without(rootEnv(), "net.ip", "net.ip=10.7.0.300/24"), &root, true),
		reasonEnv, []string{"mesh-env: refused key=net.ip reason=address at=0"}},
	{"the own key as mesh.root of a member", provisioned(without(memberEnv(), "mesh.root",
		"mesh.root="+member.keyText()), &member, true), reasonEnv, nil},
	{"a wiped identity", provisioned(rootEnv(), nil, true), reasonIdentity, nil},
	{"no entropy", provisioned(rootEnv(), &root, false), reasonNoEntropy, nil},
	{"an identity that cannot be counted", func(t *testing.T) nvram.Chip {
		return &brokenChip{Memory: chip(t, rootEnv(), &root, true), deaf: true}
	}, reasonIdentity, nil},
	{"no peer, no identity, no entropy", provisioned([]string{"net.ip=" + rootIP + "/24"}, nil, false),
		reasonNoPeer, nil},
}

func TestANodeWithoutAMeshSaysWhy(t *testing.T) {
	for _, test := range singles {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				r := w.boot(test.chip(t))
				synctest.Wait()
				rows := r.evidence()
				has(t, rows[len(rows)-1], "reason="+test.reason)
				if !rows[len(rows)-1].Is("mesh=single") {
					t.Errorf("the last row is %q", rows[len(rows)-1])
				}
				for _, want := range test.rows {
					if !strings.Contains(strings.Join(r.console.lines(), "\n"), want) {
						t.Errorf("no row %q in %q", want, r.console.lines())
					}
				}
				if address, _ := r.node.Address(); address.IsValid() {
					has(t, r.status("/mesh")[0], "mesh=single", "role=none", "epoch=none", "mutable=0")
				}
			})
		})
	}
}

func TestTimesThatBreakARuleAreRefusedWithTheRule(t *testing.T) {
	const time = "mesh.time="
	for _, c := range []struct {
		broken error
		env    []string
	}{
		{timing.ErrOrder, []string{time + "6000,5000,12000,6000"}},
		{timing.ErrADR, []string{time + "5000,6000,11000,6000"}},
		{timing.ErrL3, []string{time + "1000,6000,12000,10900"}},
		{timing.ErrL3, []string{time + "300,600,1000,600"}}, // which takes mesh.acks=all
		{timing.ErrAcks, []string{"mesh.acks=all", time + "10,600,1000,900"}},
		{timing.ErrLab, []string{"mesh.acks=all"}}, // with mesh.lab=1, as all of these
		{timing.ErrLab, []string{"mesh.acks=all", time + "300,600,1000,600"}},
	} {
		key, broken := "mesh.time", c.broken
		if slices.Contains(c.env, "mesh.acks=all") {
			key = "mesh.acks"
		}
		for _, env := range [][]string{rootEnv(c.env...), memberEnv(c.env...)} {
			inWorld(t, func(t *testing.T, w *world) {
				who := &root
				if slices.Contains(env, "mesh.peer="+rootIP+":7070") {
					who = &member
				}
				r := w.boot(chip(t, env, who, true))
				synctest.Wait()
				has(t, r.await("mesh-fail", "refused"), "reason=timing")
				has(t, r.await("mesh=single"), "reason=env")
				if rows := r.rows("mesh-node"); len(rows) != 0 {
					t.Errorf("it has started its mesh: %v", rows)
				}
				status, body := r.ask("PUT", "/objects/lab-0", "v")
				want := "disabled: mesh=single reason=env, " + key + ": " + broken.Error() + "\n"
				if status != 503 || body != want {
					t.Errorf("%v: %d %q, want %q", c.env, status, body, want)
				}
				has(t, r.status("/mesh")[0], "mesh=single", "mutable=0")
			})
		}
	}
}

func TestANodeWithoutAnEnvironmentIsOnTheUserNetwork(t *testing.T) {
	for _, c := range []nvram.Chip{nil, nvram.Memory(bytes.Repeat([]byte{0xff}, nvram.Size))} {
		n := Boot((&testMachine{chip: c}).machine())
		address, gateway := n.Address()
		if address.String() != "10.0.2.15/24" || gateway.String() != "10.0.2.2" {
			t.Errorf("address %v, gateway %v", address, gateway)
		}
	}
}

func TestTheEnvironmentIsReported(t *testing.T) {
	env := without(rootEnv(), "mesh.fail", "foo=1", "mesh.fail=yes")
	m := &testMachine{chip: chip(t, env, &root, true)}
	n := Boot(m.machine())
	if n.single != "" || n.mesh.Detect {
		t.Errorf("single %q, detection %v", n.single, n.mesh.Detect)
	}
	want := []string{
		"mesh-env: loaded copy=a seq=1 bytes=140 at=0",
		"mesh-env: unknown key=foo at=0",
		"mesh-env: refused key=mesh.fail reason=flag at=0",
	}
	if got := m.console.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestEveryBootIsCountedAndNamed(t *testing.T) {
	c := chip(t, rootEnv(), &root, true)
	boots := make(map[id.Boot]bool)
	for i := uint64(1); i <= 3; i++ {
		n := Boot((&testMachine{chip: c}).machine())
		boots[n.mesh.Boot] = true
		store, err := nvram.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		if identity, err := store.LoadIdentity(); err != nil || identity.Boots != i {
			t.Errorf("boot %d is counted as %d, error %v", i, identity.Boots, err)
		}
	}
	if len(boots) != 3 {
		t.Errorf("boots %v", boots)
	}
}

func TestTheLabObjectsOfTheTestsAreHomedAtBoth(t *testing.T) {
	for _, n := range []identity{root, member} {
		homedAt(t, n)
	}
	if home.Of(id.ObjectOf(homedAt(t, root)), []id.Node{root.id}) != root.id {
		t.Error("alone, a node homes everything")
	}
}

// brokenChip is a chip that fails to answer, or that keeps nothing that is written to it.
type brokenChip struct {
	nvram.Memory
	readsFail bool
	deaf      bool
	deafFrom  int // with deaf: the first offset that is not written
}

var errBroken = errors.New("no acknowledgement")

func (c *brokenChip) ReadAt(p []byte, off int) error {
	if c.readsFail {
		return errBroken
	}
	return c.Memory.ReadAt(p, off)
}

func (c *brokenChip) WriteAt(p []byte, off int) error {
	if c.deaf && off%nvram.CopyStride >= c.deafFrom {
		return nil
	}
	return c.Memory.WriteAt(p, off)
}

// What a crash left is on the console without a line that looks like a crash of this boot, and
// whole on its page.
func TestAnEpitaphIsShownAndServed(t *testing.T) {
	left := "panic: mesh: on purpose\n\ngoroutine 1 [running]:\n" + strings.Repeat("main.f()\n", 40)
	inWorld(t, func(t *testing.T, w *world) {
		r := w.start(&testMachine{chip: chip(t, rootEnv(), &root, true), epitaph: left})
		r.await("mesh-view", "installed")
		if status, body := r.ask("GET", "/epitaph", ""); status != 200 || body != left {
			t.Errorf("%d %q", status, body)
		}
		r.evidence() // fails on a line that claims to be evidence, as panic: does
		lines := r.console.lines()
		if lines[0] != "node: epitaph: panic: mesh: on purpose" ||
			lines[epitaphLines] != "node: epitaph: more at GET /epitaph" {
			t.Errorf("%q", lines[:epitaphLines+1])
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		r := w.boot(chip(t, rootEnv(), &root, true))
		r.await("mesh-view", "installed")
		if status, _ := r.ask("GET", "/epitaph", ""); status != 404 {
			t.Errorf("without a crash: %d", status)
		}
	})
}
