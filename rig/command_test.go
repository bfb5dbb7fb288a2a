package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/qemu"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// quickEnd, in GORACE, keeps a program with the race detector from lingering a second at its end.
const quickEnd = "atexit_sleep_ms=0"

// TestCommandLine runs the scripts in testdata: what a user types, and what must come of it.
func TestCommandLine(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			const reset = `{"event":"RESET","data":{"guest":true,"reason":"guest-reset"}}`
			e.Setenv("PANIC", "booting\npanic: mesh: two homes of lab-3\n\n"+
				"goroutine 1 [running]:\n"+reset+"\n")
			e.Setenv("GARBAGE", "booting\nmesh-fail: suspect who=knows\n")
			e.Setenv("NOISE", strings.Repeat("a line of no consequence\n", 2000))
			e.Setenv("BYTES", "\xff\xfe\x1b[2J\x01~~~\nmesh\n: =\n\x80\n")
			e.Setenv("HANG", "mesh-node: start node=9171465a641adea497929d4a1a9fd2a7 "+
				"role=authority boot=c3d2e1f0a9b8c7d6 epoch=1 ip=10.7.0.10 seed=nvram at=40\n")
			e.Setenv("RESET", reset)
			stored, err := filepath.Abs("scenario/testdata")
			if err != nil {
				return err
			}
			e.Setenv("STORED", stored)
			e.Setenv("GORACE", quickEnd)
			e.Setenv("LONG", strings.Repeat("x", 298))
			return os.WriteFile(filepath.Join(e.WorkDir, "arm.elf"), emptyImage(t), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "hide-qemu": hideQEMU, "recorded": recorded,
		},
	})
}

// exits runs a command and checks its exit code: exits 64 rig --bogus.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// hideQEMU leaves the rig alone in PATH.
func hideQEMU(ts *testscript.TestScript, _ bool, _ []string) {
	folder := ts.MkAbs("only-rig")
	ts.Check(os.Mkdir(folder, 0o755))
	self, err := os.Executable()
	ts.Check(err)
	ts.Check(os.Symlink(self, filepath.Join(folder, "rig")))
	ts.Setenv("PATH", folder)
}

// emptyImage is an ELF file for the board's processor with nothing in it.
func emptyImage(t *testing.T) []byte {
	header := elf.Header32{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_ARM), Version: uint32(elf.EV_CURRENT),
		Ehsize: 52, Phentsize: 32, Shentsize: 40,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, &header); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// standInRun is a run with two machines that say hello and nothing else.
type standInRun struct {
	*exec.Cmd
	stderr io.ReadCloser
	pids   string // folder with a file named by the process id of each machine
	latest string // folder of the run
}

// waitingRun starts one and returns when it waits for a machine to say more.
func waitingRun(t *testing.T) *standInRun {
	t.Helper()
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rig", qemu.Binary} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := &standInRun{
		pids: filepath.Join(folder, "pids"), latest: filepath.Join(folder, "runs", "latest"),
	}
	image := filepath.Join(folder, "arm.elf")
	err = errors.Join(os.Mkdir(r.pids, 0o755), os.WriteFile(image, emptyImage(t), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.CommandContext(t.Context(), filepath.Join(folder, "rig"),
		"run", "--fault", "none", "--image", image, "--out", filepath.Join(folder, "runs"))
	r.Env = append(os.Environ(), "PATH="+folder, "GORACE="+quickEnd,
		standInPIDs+"="+r.pids, standInScript+"=hello\n")
	if r.stderr, err = r.StderrPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	progress := bufio.NewScanner(r.stderr)
	for progress.Scan() && !strings.Contains(progress.Text(), "waiting for `mesh-join: confirmed") {
	}
	return r
}

// machines returns the process ids of the two machines.
func (r *standInRun) machines(t *testing.T) []int {
	t.Helper()
	children, err := os.ReadDir(r.pids)
	if err != nil || len(children) != 2 {
		t.Fatalf("%d machines were started, %v; want 2", len(children), err)
	}
	var pids []int
	for _, c := range children {
		pid, err := strconv.Atoi(c.Name())
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// TestCtrlCEndsEveryChild interrupts a run while it waits for two machines that say nothing.
func TestCtrlCEndsEveryChild(t *testing.T) {
	rig := waitingRun(t)
	if err := rig.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(rig.stderr)
	var exit *exec.ExitError
	if err := rig.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the rig ended with %v, want exit status 3; it said:\n%s", err, rest)
	}
	for _, pid := range rig.machines(t) {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("machine %d is still there: %v", pid, err)
		}
	}
	records, err := readJournal(rig.latest)
	if err != nil {
		t.Fatal(err)
	}
	run, checks := journal.Split(records)
	if end := run[len(run)-1].End; end == nil || end.Outcome != journal.Interrupted {
		t.Errorf("the journal ends with %+v, want that it was interrupted", end)
	}
	if len(checks) == 0 {
		t.Error("the verdict is not in the journal")
	}
	for _, name := range []string{"result.json", "n0.console", "n1.console", "wire.pcapng"} {
		if _, err := os.Stat(filepath.Join(rig.latest, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestAKilledRigLeavesAJournal kills a run without a word. What had happened is there to be judged,
// and its machines die with it.
func TestAKilledRigLeavesAJournal(t *testing.T) {
	rig := waitingRun(t)
	machines := rig.machines(t)
	if err := rig.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// A machine that lives has the rig's standard error open: reading it to its end is waiting.
	io.Copy(io.Discard, rig.stderr)
	rig.Wait()
	for _, pid := range machines {
		for alive(pid) {
			if t.Context().Err() != nil {
				t.Fatalf("machine %d outlives its rig", pid)
			}
		}
	}
	j, err := judgeStored(rig.latest)
	if err != nil {
		t.Fatal(err)
	}
	if j.whole || j.result.Exit != judge.CodeInconclusive ||
		!strings.HasPrefix(j.result.Reason, "its journal has no end") {
		t.Errorf("exit %d, reason %q, whole: %v", j.result.Exit, j.result.Reason, j.whole)
	}
	if err := j.keepChecks(rig.latest); err != nil {
		t.Error(err)
	}
	if records, err := readJournal(rig.latest); err != nil || len(records) != len(j.run.Records) {
		t.Errorf("judging it has changed it: %d records, %v", len(records), err)
	}
}

// alive says whether a process is there and not just waiting for its parent to take note.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
