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
			"exits": exits, "hide-qemu": hideQEMU,
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

// TestCtrlCEndsEveryChild interrupts a run while it waits for two machines that say nothing.
func TestCtrlCEndsEveryChild(t *testing.T) {
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
	pids, runs := filepath.Join(folder, "pids"), filepath.Join(folder, "runs")
	image := filepath.Join(folder, "arm.elf")
	err = errors.Join(os.Mkdir(pids, 0o755), os.WriteFile(image, emptyImage(t), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	rig := exec.CommandContext(t.Context(), filepath.Join(folder, "rig"),
		"run", "--fault", "none", "--image", image, "--out", runs)
	rig.Env = append(os.Environ(), "PATH="+folder, "GORACE="+quickEnd,
		standInPIDs+"="+pids, standInScript+"=hello\n")
	stderr, err := rig.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := rig.Start(); err != nil {
		t.Fatal(err)
	}
	progress := bufio.NewScanner(stderr)
	for progress.Scan() && !strings.Contains(progress.Text(), "waiting for `mesh-join: confirmed") {
	}
	if err := rig.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(stderr)
	var exit *exec.ExitError
	if err := rig.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the rig ended with %v, want exit status 3; it said:\n%s", err, rest)
	}

	children, err := os.ReadDir(pids)
	if err != nil || len(children) != 2 {
		t.Fatalf("%d machines were started, %v; want 2", len(children), err)
	}
	for _, c := range children {
		pid, err := strconv.Atoi(c.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("machine %d is still there: %v", pid, err)
		}
	}
	latest := filepath.Join(runs, "latest")
	records, err := readJournal(latest)
	if err != nil {
		t.Fatal(err)
	}
	if end := records[len(records)-1].End; end == nil || end.Outcome != journal.Interrupted {
		t.Errorf("the journal ends with %+v, want that it was interrupted", end)
	}
	for _, name := range []string{"result.json", "n0.console", "n1.console", "wire.pcapng"} {
		if _, err := os.Stat(filepath.Join(latest, name)); err != nil {
			t.Error(err)
		}
	}
}
