package qemu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/qemu/qmp"
)

const testLimit = time.Minute // for a run that takes a fraction of a second

// boots is for tests that need QEMU; -short leaves them out.
func boots(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots QEMU")
	}
}

// run starts m and returns its console's lines; the machine is killed at the test's end.
func run(t *testing.T, m Machine) (*Process, <-chan string) {
	t.Helper()
	boots(t)
	lines := make(chan string, 1024)
	if m.OnLine == nil {
		m.OnLine = func(_ time.Time, line string) { lines <- line }
	}
	m.Limit = testLimit
	p, err := Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	return p, lines
}

// get receives, or fails when nothing comes.
func get[T any](t *testing.T, from <-chan T, what string) (x T) {
	t.Helper()
	select {
	case x = <-from:
	case <-time.After(testLimit):
		t.Fatalf("waited %v for %s", testLimit, what)
	}
	return x
}

// eventually polls for what nothing announces, and fails when it does not come about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(testLimit); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %v until %s", testLimit, what)
		}
	}
}

func TestRunReturnsTheConsoleOfAGuestThatPowersOff(t *testing.T) {
	boots(t)
	image := guest(t, "one\r\ntwo\r\nthe end", powerOff)
	got, err := Run(t.Context(), Machine{Image: image, Limit: testLimit}, nil)
	if want := []string{"one", "two", "the end"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("console %q, %v, want %q", got, err, want)
	}
}

func TestRunEndsAtTheLineItWaitsFor(t *testing.T) {
	boots(t)
	seen := 0
	m := Machine{
		Image:  guest(t, "booting\nserving\nserving\n", nil, forever),
		Limit:  testLimit,
		OnLine: func(time.Time, string) { seen++ },
	}
	got, err := Run(t.Context(), m, func(line string) bool { return line == "serving" })
	if err != nil || !slices.Equal(got, []string{"booting", "serving"}) || seen < 2 {
		t.Errorf("console %q, %d lines seen, %v", got, seen, err)
	}
}

func TestRunTellsWhyAGuestDidNotEndAsItShould(t *testing.T) {
	boots(t)
	never := func(string) bool { return false }
	prints := func(end ending) string { return guest(t, "hi\n", end) }
	canceled, cancel := context.WithCancel(t.Context())
	cancelAt := func(time.Time, string) { cancel() }
	for _, c := range []struct {
		name  string
		ctx   context.Context
		m     Machine
		until func(string) bool
		is    error  // nil for any
		says  string // in the error
	}{
		{"reset", t.Context(), Machine{Image: prints(reset), NoReboot: true},
			nil, nil, "guest-reset"},
		{"power-off too early", t.Context(), Machine{Image: prints(powerOff)},
			never, nil, "before the line"},
		{"limit", t.Context(), Machine{Image: prints(spin), Limit: time.Second},
			nil, ErrLimit, "last lines:\nhi"},
		{"context", canceled, Machine{Image: prints(spin), OnLine: cancelAt},
			nil, context.Canceled, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.m.Limit == 0 {
				c.m.Limit = testLimit
			}
			got, err := Run(c.ctx, c.m, c.until)
			if err == nil || c.is != nil && !errors.Is(err, c.is) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %v, %q", err, c.is, c.says)
			}
			if !slices.Equal(got, []string{"hi"}) {
				t.Errorf("console %q", got)
			}
		})
	}
}

func TestTheVerdictOnARun(t *testing.T) {
	off := Exit{Shutdown: "guest-shutdown"}
	for _, c := range []struct {
		name          string
		exit          Exit
		wanted, found bool
		ok            bool
	}{
		{"powered off", off, false, false, true},
		{"ended without power-off", Exit{}, false, false, false},
		{"reset", Exit{Shutdown: "guest-reset"}, false, false, false},
		{"QEMU failed after power-off", Exit{Code: 1, Shutdown: "guest-shutdown"}, false, false, false},
		{"found", Exit{Shutdown: "host-qmp-quit"}, true, true, true},
		{"found, and had to be killed", Exit{Code: -1, Signal: syscall.SIGKILL}, true, true, true},
		{"not found", off, true, false, false},
		{"limit", Exit{Code: -1, Cause: ErrLimit}, false, false, false},
		{"console lost", Exit{Shutdown: "guest-shutdown", Lost: 1}, false, false, false},
		{"found, but console lost before", Exit{Lost: 1}, true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := verdict(c.exit, c.wanted, c.found); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAStartThatFailsSaysWhy(t *testing.T) {
	boots(t)
	image := guest(t, "", spin)
	noTrace := traces(t)
	for _, c := range []struct {
		m    Machine
		says string
	}{
		{Machine{Extra: []string{"-no-such-option"}}, "invalid option"}, // QEMU's own words
		{Machine{Extra: []string{"-version"}}, "exit status 0"},
		{Machine{Net: Ethernet{}}, "socket path of 0 bytes"},
		{Machine{Binary: "/dev/null"}, os.ErrPermission.Error()},
	} {
		c.m.Name, c.m.Image, c.m.Limit = "n7", image, testLimit
		_, err := Start(t.Context(), c.m)
		if err == nil || !strings.HasPrefix(err.Error(), "qemu n7: ") ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("error %v, want %q", err, c.says)
		}
	}
	noTrace()
}

func TestAnEndedMachineLeavesNoTrace(t *testing.T) {
	boots(t)
	image := guest(t, "x\n", spin)
	noTrace := traces(t)
	quit := func(p *Process) Exit { return p.Quit(t.Context()) }
	for _, end := range []func(*Process) Exit{quit, (*Process).Kill} {
		p, err := Start(t.Context(), Machine{Image: image, Limit: testLimit})
		if err != nil {
			t.Fatal(err)
		}
		end(p)
	}
	noTrace()
}

// traces counts this process's goroutines and open files. The function it returns waits until there
// are no more than that: what reported its last result may still be on its way out.
func traces(t *testing.T) func() {
	t.Helper()
	spawner() // the one goroutine that stays
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	collect := debug.SetGCPercent(-1) // the collector closes forgotten files, too
	t.Cleanup(func() { debug.SetGCPercent(collect) })
	goroutines, before := runtime.NumGoroutine(), files()
	return func() {
		t.Helper()
		eventually(t, "the goroutines have ended", func() bool {
			return runtime.NumGoroutine() <= goroutines
		})
		eventually(t, "the files are closed", func() bool { return files() <= before })
	}
}

func TestAConsoleWhoseReceiverStandsStillFreezesNeitherGuestNorQMP(t *testing.T) {
	gate := make(chan struct{})
	first := make(chan struct{}, 1)
	var raw bytes.Buffer
	p, _ := run(t, Machine{
		Image: guest(t, "0123456789012345678901234567890123456789\n", nil, forever),
		Raw:   &raw,
		OnLine: func(time.Time, string) {
			select {
			case first <- struct{}{}:
			default:
			}
			<-gate
		},
	})
	get(t, first, "a line")
	// QEMU would stand still at the 279th byte that nobody reads.
	backlogged := func() int {
		p.backlog.mu.Lock()
		defer p.backlog.mu.Unlock()
		return p.backlog.size
	}
	const enough = 64 << 10 // in the queue, a hundred times what the socket takes
	eventually(t, "the guest has printed enough", func() bool { return backlogged() > enough })
	status, err := p.Execute(t.Context(), "query-status", nil)
	if err != nil || !strings.Contains(string(status), `"running"`) {
		t.Errorf("query-status: %s, %v", status, err)
	}
	p.Signal(syscall.SIGKILL)
	eventually(t, "QEMU is gone", func() bool { return p.Signal(syscall.Signal(0)) != nil })
	select {
	case <-p.Done():
		t.Error("done before the last line was delivered")
	default:
	}
	close(gate)
	exit := p.Wait()
	if exit.Signal != syscall.SIGKILL || exit.Cause != nil || exit.Lost != 0 || exit.RawErr != nil {
		t.Errorf("exit %+v", exit)
	}
	if n := raw.Len(); n < 4096 || raw.Bytes()[40] != '\n' {
		t.Errorf("raw console has %d bytes", n)
	}
}

func TestWhatIsTypedReachesTheGuest(t *testing.T) {
	p, lines := run(t, Machine{Image: guest(t, "ready\n", echo)})
	get(t, lines, "ready")
	if _, err := p.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	if line := get(t, lines, "the echo"); line != "hello" {
		t.Errorf("echo %q", line)
	}
	exit := p.Quit(t.Context())
	if exit.Code != 0 || exit.Shutdown != "host-qmp-quit" || exit.Cause != nil {
		t.Errorf("exit %+v", exit)
	}
	if err := p.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a signal to an ended machine: %v", err)
	}
	if _, err := p.Execute(t.Context(), "query-status", nil); !errors.Is(err, qmp.ErrClosed) {
		t.Errorf("a command to an ended machine: %v", err)
	}
}

func TestPauseAndResumeAreReportedAsEvents(t *testing.T) {
	events := make(chan string, 16)
	p, lines := run(t, Machine{
		Image:   guest(t, "ready\n", echo),
		OnEvent: func(_ time.Time, name string, _ json.RawMessage) { events <- name },
	})
	get(t, lines, "ready")
	if err := errors.Join(p.Pause(t.Context()), p.Resume(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RESUME", "STOP", "RESUME"} { // the first is the start's
		if got := get(t, events, want); got != want {
			t.Errorf("event %s, want %s", got, want)
		}
	}
}

func TestADebuggerStopsTheMachineAtAnInstruction(t *testing.T) {
	p, lines := run(t, Machine{Image: guest(t, "ready\n", echo)})
	get(t, lines, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	status := func() string {
		answer, err := p.Execute(ctx, "query-status", nil)
		if err != nil {
			t.Fatal(err)
		}
		var status struct{ Status string }
		if err := json.Unmarshal(answer, &status); err != nil {
			t.Fatal(err)
		}
		return status.Status
	}
	c, err := p.Debug(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Where the guest takes what was typed: behind the printer's 8 instructions and the loop's 3.
	if err := c.Break(ctx, guestBase+4*(8+3)); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "paused" {
		t.Errorf("with its debugger the machine is %s", got)
	}
	if err := c.Go(ctx); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "running" {
		t.Errorf("before anything was typed the machine is %s", got)
	}
	if _, err := p.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	if err := c.Stopped(ctx); err != nil {
		t.Fatal(err)
	}
	if got := status(); got != "debug" {
		t.Errorf("at the breakpoint the machine is %s", got)
	}
}

func TestQuitEndsAStoppedMachine(t *testing.T) {
	p, lines := run(t, Machine{Image: guest(t, "ready\n", spin)})
	get(t, lines, "ready")
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if exit := p.Quit(ctx); exit.Signal != syscall.SIGKILL || exit.Cause != nil {
		t.Errorf("exit %+v", exit)
	}
}

// monitor runs a command of QEMU's human monitor.
func monitor(t *testing.T, p *Process, command string) string {
	t.Helper()
	answer, err := p.Execute(t.Context(), "human-monitor-command",
		map[string]string{"command-line": command})
	if err != nil {
		t.Fatal(err)
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAMachineHasWhatWasAskedFor(t *testing.T) {
	dir := t.TempDir()
	nvram := filepath.Join(dir, "ee")
	if err := os.WriteFile(nvram, make([]byte, EEPROMSize), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := run(t, Machine{
		Image: guest(t, "", spin),
		RAM:   "64M",
		Dir:   dir,
		NVRAM: nvram,
		Clock: &Clock{Base: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)},
		Loads: []Load{{0x80090000, []byte("seed")}, {0x80091000, []byte("line")}},
		MAC:   net.HardwareAddr{2, 0, 0, 0, 0, 10},
		Net:   UserNet{Forward: []uint16{80, 7070}},
	})
	for _, c := range []struct{ command, says string }{
		{"info qtree", `at24c-eeprom`},
		{"info qtree", `rom-size = 8192`},
		{"info qtree", `ds1338`},
		{"info network", `macaddr=02:00:00:00:00:0a`},
		{"info mtree", `0000000080000000-0000000083ffffff (prio 0, ram)`},
		{"xp /4cb 0x80090000", `'s' 'e' 'e' 'd'`},
		{"xp /4cb 0x80091000", `'l' 'i' 'n' 'e'`},
	} {
		if text := monitor(t, p, c.command); !strings.Contains(text, c.says) {
			t.Errorf("%s does not say %q:\n%s", c.command, c.says, text)
		}
	}
	for _, port := range []uint16{80, 7070} {
		c, err := net.Dial("tcp", p.Forwarded(port).String())
		if err != nil {
			t.Errorf("port %d: %v", port, err)
			continue
		}
		c.Close()
	}
	if p.Forwarded(80) == p.Forwarded(7070) || p.Forwarded(443).IsValid() {
		t.Errorf("forwarded %v, %v, %v", p.Forwarded(80), p.Forwarded(7070), p.Forwarded(443))
	}
}

func TestQEMUBindsItsEndOfTheEthernet(t *testing.T) {
	dir, remove, err := TempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	e := Ethernet{Local: filepath.Join(dir, "n0.vm"), Remote: filepath.Join(dir, "n0.sw")}
	run(t, Machine{Image: guest(t, "", spin), Net: e})
	c, err := net.Dial("unixgram", e.Local)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestTheVersionOfThisMachinesQEMU(t *testing.T) {
	boots(t)
	if v, err := Version(t.Context()); err != nil || v == "" || !('0' <= v[0] && v[0] <= '9') {
		t.Errorf("version %q, %v", v, err)
	}
}
