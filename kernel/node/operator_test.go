package node

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/clock"
	"holdfast/kernel/node/tty"
	"holdfast/nvram"
)

// typist is somebody at a running node's console.
type typist struct {
	*running
	keys net.Conn
	seen int // lines of the console that were read
}

// sitDown boots a node with a keyboard.
func (w *world) sitDown(c nvram.Chip) *typist {
	w.t.Helper()
	ours, theirs := net.Pipe()
	w.t.Cleanup(func() { ours.Close() })
	m := &testMachine{chip: c, second: new(secondClock), keyboard: theirs}
	return &typist{running: w.start(m), keys: ours}
}

// types types keys and returns the lines that the console has shown since, evidence included.
func (p *typist) types(keys string) []string {
	p.w.t.Helper()
	if _, err := io.WriteString(p.keys, keys); err != nil {
		p.w.t.Fatal(err)
	}
	// The pipe has been read to its end once a read of nothing more waits; then all that follows has
	// been written once everybody waits.
	<-time.After(time.Second)
	synctest.Wait()
	lines := p.console.ended()
	fresh := lines[p.seen:]
	p.seen = len(lines)
	return fresh
}

// answers is what a command says.
func (p *typist) answers(command string) []string {
	p.w.t.Helper()
	lines := p.types(command + "\r")
	at := slices.Index(lines, "> "+command)
	if at < 0 {
		p.w.t.Fatalf("%q was not shown as typed:\n%s", command, strings.Join(lines, "\n"))
	}
	var said []string
	for _, line := range lines[at+1:] {
		if text, ok := strings.CutPrefix(line, "  "); ok {
			said = append(said, text)
		}
	}
	return said
}

func (p *typist) wants(command string, want ...string) {
	p.w.t.Helper()
	if got := p.answers(command); !slices.Equal(got, want) {
		p.w.t.Errorf("%s says\n%s\nwant\n%s", command, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// has fails the test unless a command's answer has lines with these beginnings.
func (p *typist) has(command string, beginnings ...string) {
	p.w.t.Helper()
	got := p.answers(command)
	for _, b := range beginnings {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, b) }) {
			p.w.t.Errorf("%s has no line %q:\n%s", command, b, strings.Join(got, "\n"))
		}
	}
}

func TestEveryCommandAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(chip(t, rootEnv(), &root, true))
		p.await("mesh-view", "installed")
		p.types("")
		help := p.answers("help")
		if len(help) != len(commands()) {
			t.Errorf("help has %d lines for %d commands", len(help), len(commands()))
		}
		for i, c := range commands() {
			if !strings.HasPrefix(help[i], c.name) || !strings.HasSuffix(help[i], ": "+c.help) {
				t.Errorf("help says %q of %s", help[i], c.name)
			}
		}
		p.has("mesh", "node id="+root.id.String()+" role=authority", "member id=",
			"times heartbeat_ms=5000 suspect_ms=6000 fail_ms=12000 lease_ms=6000 fence=lease")
		p.has("homes", "object=")
		p.has("log 256", "1 mesh-env: loaded")
		if n := len(p.answers("log 2")); n != 2 {
			t.Errorf("log 2 says %d lines", n)
		}
		p.has("threads", "goroutines=", "loop_ticks=")
		p.has("mem", "heap_alloc=", "collections=")
		p.has("net", "address="+rootIP+"/24", "http_refused=0")
		p.wants("")
		p.wants("  ")
		p.wants("rebot", "no such command: help lists them")
		for _, wrong := range []string{"help me", "mesh 1", "homes x", "threads x", "mem x", "net x",
			"start-empty 1",
			"log 0", "log 257", "log x", "log 1 2", "reboot now", "poweroff x", "env", "env get a b",
			"env set", "env set x", "env unset", "env unset a b", "env put a=b"} {
			p.has(wrong, "usage: "+strings.Fields(wrong)[0])
		}
		if p.switched != "" {
			t.Errorf("a wrong command did %s", p.switched)
		}
		p.wants("reboot", "rebooting")
		if p.switched != "restart" {
			t.Errorf("reboot did %q", p.switched)
		}
		p.wants("poweroff", "switching off")
		if p.switched != "power off" {
			t.Errorf("poweroff did %q", p.switched)
		}
	})
}

func TestTheOperatorLetsAnAuthorityStartWithNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := chip(t, rootEnv(), &root, true)
		setMarks(t, c, nvram.Marks{Signed: 7, Activated: 7})
		p := w.sitDown(c)
		p.awaitNth(2, "mesh-fail", "refused")
		m := w.sitDown(chip(t, memberEnv(), &member, true))
		p.types("")
		m.types("")
		m.wants("start-empty", "nothing changed: this node is no authority")
		p.wants("start-empty",
			"it starts with what everybody shows once its quarantine is over, else with nothing")
		has(t, p.await("mesh-view", "installed"), "epoch=8")
		p.has("start-empty", "nothing changed: it has a view")
	})
}

func TestANodeWithoutAMeshHasAConsoleToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(filled(0xff)(t))
		p.types("")
		p.has("mesh", "node id=none role=none mesh=single")
		p.has("homes", "disabled: mesh=single reason=no-peer")
		p.wants("env get", "env: empty")
		p.wants("start-empty", "this node has no mesh")
	})
}

func TestTheEnvironmentIsChangedForTheNextBoot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := chip(t, []string{"net.ip=" + rootIP + "/24", "mesh.lab=1"}, &root, true)
		p := w.sitDown(c)
		p.types("")
		p.wants("env get", "net.ip="+rootIP+"/24", "mesh.lab=1")
		p.wants("env get mesh.lab", "mesh.lab=1")
		p.wants("env get mesh.fail", "env: mesh.fail is not set")
		p.has("env set mesh.root=self", "env: stored in copy b,")
		p.has("env set mesh.peer=:7070", "env: stored in copy a,")
		p.has("env unset mesh.lab", "env: stored")
		p.wants("env unset mesh.lab", "env: it is not set")
		p.wants("env set mesh.fail=2", "env: nothing changed: mesh.fail would be refused: flag")
		p.wants("env set mesh.fial=1", "env: nothing changed: mesh.fial means nothing to this node")
		p.has("env set mesh.fail=", "env: nothing changed: mesh.fail would be refused: empty")
		p.has("env set mesh.allow="+strings.Repeat("x", 280), "env: nvram: setting mesh.allow")
		p.wants("env get", "net.ip="+rootIP+"/24", "mesh.root=self", "mesh.peer=:7070")
		if p.node.single == "" {
			t.Error("this boot's configuration has changed")
		}
		p.stop()
		again := w.boot(c)
		again.await("mesh-view", "installed")
	})
}

func TestAChangeThatBreaksAnotherValueIsSaid(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(chip(t, rootEnv(), &root, true))
		p.types("")
		p.has("env set mesh.root="+member.keyText(), "env: the next boot will refuse mesh.peer: role",
			"env: stored")
	})
}

func TestADamagedEnvironmentIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := chip(t, rootEnv(), &root, true)
		c[0x60] ^= 1
		c[0x60+nvram.CopyStride] ^= 1
		before := slices.Clone(c)
		p := w.sitDown(c)
		p.types("")
		p.has("env set mesh.lab=1", "env: nvram: no environment record")
		p.has("env get", "env: nvram: no environment record")
		p.stop()
		if !slices.Equal(before[0x40:0x180], c[0x40:0x180]) {
			t.Error("the environment was written")
		}
	})
}

func TestWhatIsTypedNeverBreaksALine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(chip(t, rootEnv(), &root, true))
		m := w.boot(chip(t, memberEnv(), &member, true))
		p.types("env se")
		m.await("mesh-join", "confirmed")
		m.awaitLease()
		m.kill()
		for range 30 {
			p.types("x\by\x7f")
		}
		p.await("mesh-fail", "removed")
		p.evidence() // fails on a line that is broken
		lines := p.types("\x15mistake\x15help\r")
		if len(lines) != 1+len(commands()) || !strings.HasSuffix(lines[0], "help") {
			t.Errorf("%q", lines)
		}
	})
}

func TestALongLineIsRefusedAsAWhole(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(filled(0xff)(t))
		p.types("")
		lines := p.types("poweroff" + strings.Repeat(" ", tty.LineMax) + "\r")
		if !slices.Contains(lines, "  too long: a line has at most 320 characters") || p.switched != "" {
			t.Errorf("%q, did %q", lines, p.switched)
		}
		if lines := p.types("poweroff\x03"); !slices.Contains(lines, "> poweroff^C") || p.switched != "" {
			t.Errorf("%q, did %q", lines, p.switched)
		}
	})
}

// A flood of keys is read at the pace of a wire, and the node does not notice.
func TestAFloodOfKeysDelaysNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.sitDown(chip(t, rootEnv(), &root, true))
		m := w.boot(chip(t, memberEnv(), &member, true))
		m.await("mesh-join", "confirmed")
		m.awaitLease()
		sent := 0
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
			n, err := io.WriteString(p.keys, "help\rlog 256\rxxxxxxxx\x15nonsense\r")
			if err != nil {
				t.Fatal(err)
			}
			sent += n
		}
		if most := int(31 * time.Second / keyTime); sent > most {
			t.Errorf("%d keys were read in 30 s, more than the %d of a wire", sent, most)
		}
		if late := p.node.loop.stats.lateTick.Load(); late != 0 {
			t.Errorf("%d ticks were late", late)
		}
		if rows := m.rows("mesh-fail"); len(rows) != 0 {
			t.Errorf("the peer noticed: %q", rows)
		}
	})
}

// A console that takes nothing stops the operator, and the operator stops nobody.
func TestANodeEndsWhateverItsOperatorWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &stuckConsole{release: make(chan struct{})}
		l := newLog(c)
		stop := l.Start()
		ours, theirs := net.Pipe()
		defer ours.Close()
		n := &Node{machine: Machine{Keyboard: theirs, Waits: clock.System}, log: l}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			n.operate(ctx)
			close(ended)
		}()
		io.WriteString(ours, "help\r")
		synctest.Wait()
		cancel()
		<-ended
		close(c.release)
		stop()
	})
}
