package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/board"
	"holdfast/internal/imagebuild"
	"holdfast/internal/imagebuild/imagetest"
	"holdfast/qemu"
)

// limit is how long one machine may run. A run takes one or two seconds; the rest is for a machine
// that has other things to do.
const limit = 90 * time.Second

// guests builds each guest once.
var guests = struct {
	sync.Mutex
	dir    string
	images map[string]string
}{images: map[string]string{}}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holdfast-guests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernel:", err)
		os.Exit(1)
	}
	guests.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// guest is the image of kernel/internal/guest/NAME.
func guest(t *testing.T, name string) string {
	t.Helper()
	guests.Lock()
	defer guests.Unlock()
	if guests.images[name] == "" {
		out := filepath.Join(guests.dir, name+".elf")
		if err := imagebuild.BuildWithSymbols("holdfast/kernel/internal/guest/"+name, out); err != nil {
			t.Fatal(err)
		}
		guests.images[name] = out
	}
	return guests.images[name]
}

// machine is a machine for one guest with lines on its boot page. It skips the test where there is
// no QEMU, unless the environment says that there has to be one.
func machine(t *testing.T, name string, lines ...string) qemu.Machine {
	t.Helper()
	imagetest.NeedsQEMU(t)
	m := qemu.Machine{Image: guest(t, name), Dir: t.TempDir(), NoReboot: true, Limit: limit}
	if len(lines) != 0 {
		page := strings.Join(lines, "\n") + "\n\x00"
		m.Loads = []qemu.Load{{Addr: board.BootPage, Data: []byte(page)}}
	}
	return m
}

// run runs m until it powers off or resets and returns its console and how it ended.
func run(t *testing.T, m qemu.Machine) (lines []string, shutdown string) {
	t.Helper()
	m.OnLine = func(_ time.Time, line string) { lines = append(lines, line) }
	p, err := qemu.Start(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	exit := p.Wait()
	if exit.Cause != nil || exit.Lost != 0 {
		t.Fatalf("%v; console:\n%s", exit, strings.Join(lines, "\n"))
	}
	return lines, exit.Shutdown
}

const (
	poweredOff = "guest-shutdown"
	wasReset   = "guest-reset"
)

// selftestSeed is the entropy that the selftest expects.
const selftestSeed = "selftest seed selftest seed 0123"

func TestTheRuntimeFindsAllItNeedsOnTheBareMachine(t *testing.T) {
	const typed = "typed"
	m := machine(t, "selftest", "-verbose", "ram=128", "WORD=two words", "TYPED="+typed)
	m.RAM = "512M"
	m.Loads = append(m.Loads, qemu.Load{Addr: board.SeedPage, Data: []byte(selftestSeed)})
	var lines []string
	started := make(chan *qemu.Process, 1)
	m.OnLine = func(_ time.Time, line string) {
		lines = append(lines, line)
		if line == "selftest: type now" {
			p := <-started
			if _, err := p.Write([]byte(typed + "\r")); err != nil {
				t.Error(err)
			}
		}
	}
	p, err := qemu.Start(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	started <- p
	exit := p.Wait()
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "ok "); ok {
			name, detail, _ := strings.Cut(name, ":")
			t.Run(name, func(t *testing.T) { t.Log(detail) })
		}
		if name, ok := strings.CutPrefix(line, "FAIL "); ok {
			name, reason, _ := strings.Cut(name, ":")
			t.Run(name, func(t *testing.T) { t.Error(reason) })
		}
	}
	console := strings.Join(lines, "\n")
	passed := regexp.MustCompile(`selftest: \d+ ok, 0 failed$`).MatchString(console)
	if exit.Shutdown != poweredOff || !passed {
		t.Fatalf("%v; console:\n%s", exit, console)
	}
	for _, call := range []string{"123", "305419896"} {
		if n := strings.Count(console, "kernel: no system call "+call); n != 1 {
			t.Errorf("the unknown system call %s was named %d times, want once", call, n)
		}
	}
}

// The clock is exact at the counter frequencies of QEMU, of silicon, and at one that divides
// nothing. QEMU's own counter is up to 4 % off what it claims, which is why nothing here is
// compared with the host's clock.
func TestTheClockWorksAtEveryCounterFrequency(t *testing.T) {
	for _, hz := range []string{"62500000", "8000000", "24000000", "999500"} {
		t.Run(hz+" Hz", func(t *testing.T) {
			t.Parallel()
			m := machine(t, "selftest", "ONLY=clock")
			m.Extra = []string{"-global", "cortex-a7-arm-cpu.cntfrq=" + hz}
			lines, shutdown := run(t, m)
			if shutdown != poweredOff || lines[len(lines)-1] != "selftest: 2 ok, 0 failed" {
				t.Errorf("%s; console:\n%s", shutdown, strings.Join(lines, "\n"))
			}
		})
	}
}

func TestItRunsInWhateverMemoryThereIs(t *testing.T) {
	for _, tt := range []struct {
		size, line string
		want       string // megabytes, "" when it is too little
	}{
		{"16M", "", "16"}, {"64M", "", "64"}, {"100M", "", "100"}, {"128M", "", "128"},
		{"256M", "", "256"}, {"512M", "", "512"}, {"1G", "", "512"},
		{"512M", "ram=64", "64"}, {"64M", "ram=512", "64"}, {"128M", "ram=x", "128"},
		{"128M", "ram=99999999999", "128"},
		{"8M", "", ""}, {"512M", "ram=8", ""},
	} {
		t.Run(tt.size+" "+tt.line, func(t *testing.T) {
			t.Parallel()
			m := machine(t, "hello", tt.line, "-argument")
			m.RAM = tt.size
			if tt.want == "" {
				refused(t, m)
				return
			}
			lines, shutdown := run(t, m)
			want := "hello [-argument] in " + tt.want + " MiB"
			if shutdown != poweredOff || lines[0] != want {
				t.Errorf("%s; want %q; console:\n%s", shutdown, want, strings.Join(lines, "\n"))
			}
		})
	}
}

// refused waits until a machine has said twice that its memory is too little: it was reset in
// between. (With NoReboot it would be gone before QEMU has told that it runs.)
func refused(t *testing.T, m qemu.Machine) {
	t.Helper()
	want := regexp.MustCompile(`^panic: kernel: 8 MiB of memory are too little, this image needs \d+$`)
	m.NoReboot = false
	said := 0
	lines, err := qemu.Run(context.Background(), m, func(line string) bool {
		if want.MatchString(line) {
			said++
		}
		return said == 2
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 {
		t.Errorf("console:\n%s", strings.Join(lines, "\n"))
	}
}

func TestEveryEndButSuccessIsOnePanicLineAndAReset(t *testing.T) {
	for _, tt := range []struct{ mode, want, trace string }{
		{"exit 3", "panic: kernel: the program ended with exit status 3", ""},
		{"panic", "panic: on purpose", "main.main()"},
		{"nil", "panic: runtime error: invalid memory address or nil pointer dereference", "main.main()"},
		{"deadlock", "panic: runtime: all goroutines are asleep - deadlock!", "main.main()"},
		{"out of memory", "panic: runtime: out of memory", "main.main()"},
		{"stack overflow", "panic: runtime: stack overflow", "main.overflow("},
		{"printed before", "panic: kernel: the program ended with exit status 4", ""},
		{"unfinished", "panic: kernel: the program ended with exit status 5", ""},
		{"killed", "panic: kernel: the program was killed by signal 9", ""},
		{"unhandled fault", "panic: kernel: a fault that the program can not handle, signal 11",
			"code addresses"},
		{"kernel data", "panic: kernel: data abort at 60000000, status 00000805, pc 8", "code addresses"},
		{"kernel fetch", "panic: kernel: instruction abort at 60000000, pc 60000000", "code addresses"},
		{"kernel undefined", "panic: kernel: undefined instruction, pc 8", "code addresses"},
		{"kernel call", "panic: kernel: a system call by the kernel itself, pc 8", "code addresses"},
		{"kernel stack", "panic: kernel: data abort at 8000fffc, status 00000807, pc 8",
			"code addresses"},
		{"kernel state", "panic: kernel: data abort at ", "code addresses"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			lines, shutdown := run(t, machine(t, "crash", "MODE="+tt.mode))
			console := strings.Join(lines, "\n")
			panics := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
				return !strings.HasPrefix(line, "panic: ")
			})
			if len(panics) != 1 || !strings.HasPrefix(panics[0], tt.want) {
				t.Errorf("panic lines %q, want one that starts with %q", panics, tt.want)
			}
			if !strings.Contains(console, tt.trace) {
				t.Errorf("no trace with %q", tt.trace)
			}
			if shutdown != wasReset {
				t.Errorf("ended by %s, want %s", shutdown, wasReset)
			}
			if t.Failed() {
				t.Log("console:\n" + console)
			}
		})
	}
}

// A crash leaves its last words in memory, and the next boot shows them: the guest switches the
// board off when it has found some.
func TestACrashIsKnownToTheNextBoot(t *testing.T) {
	for mode, want := range map[string][]string{
		"panic":         {"panic: on purpose", "main.main()"},
		"nil":           {"panic: runtime error: invalid memory", "[signal SIGSEGV", "main.main()"},
		"deadlock":      {"fatal error: all goroutines are asleep - deadlock!", "panic: runtime: all"},
		"out of memory": {"fatal error: runtime: out of memory", "panic: runtime: "},
		"exit 3":        {"panic: kernel: the program ended with exit status 3"},
		"kernel data":   {"panic: kernel: data abort at 60000000", "r0 ", "code addresses"},
		"kernel stack":  {"panic: kernel: data abort at 8000fffc", "code addresses"},
		"kernel state":  {"panic: kernel: data abort at ", "code addresses"},
		"long":          {"panic: " + strings.Repeat("x", 200), "main.main()"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m := machine(t, "crash", "MODE="+mode)
			m.NoReboot = false
			lines, shutdown := run(t, m)
			if shutdown != poweredOff {
				t.Errorf("ended by %s", shutdown)
			}
			console := strings.Join(lines, "\n")
			for i, w := range want {
				if n := strings.Count(console, "\nepitaph: "+w); n != 1 && (i == 0 || n == 0) {
					t.Errorf("%d lines that begin with %q", n, "epitaph: "+w)
				}
			}
			if t.Failed() {
				t.Log(console)
			}
		})
	}
}

func TestSuccessPowersTheBoardOff(t *testing.T) {
	for mode, want := range map[string]string{
		"return": poweredOff, "power off": poweredOff, "reset": wasReset,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			lines, shutdown := run(t, machine(t, "crash", "MODE="+mode))
			if shutdown != want || len(lines) != 1 || lines[0] != "crash: "+mode {
				t.Errorf("%s, want %s; console:\n%s", shutdown, want, strings.Join(lines, "\n"))
			}
		})
	}
}

// Instructions from reset, counted by QEMU: the same on every host.
func TestBootIsShort(t *testing.T) {
	const kernelMax, mainMax = 200000, 1200000
	m := machine(t, "hello")
	m.ICount = "shift=0"
	lines, _ := run(t, m)
	figures := regexp.MustCompile(`^instructions: kernel (\d+), main (\d+)$`).
		FindStringSubmatch(lines[1])
	if figures == nil {
		t.Fatalf("no figures; console:\n%s", strings.Join(lines, "\n"))
	}
	kernel, err1 := strconv.Atoi(figures[1])
	main, err2 := strconv.Atoi(figures[2])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Logf("reset to runtime %d, to main %d", kernel, main)
	if kernel > kernelMax || main > mainMax {
		t.Errorf("reset to runtime %d, to main %d instructions; at most %d and %d",
			kernel, main, kernelMax, mainMax)
	}
}
