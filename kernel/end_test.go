//go:build !arm

package kernel

import (
	"strings"
	"testing"

	"holdfast/board"
	"holdfast/board/mmio"
)

// board's power switches end the test's flow the way they end everything.
type (
	powerSwitch struct{ what string }
	ended       struct{ how string }
)

func (p powerSwitch) ReadRegister(uint32, int) uint32         { return 0 }
func (p powerSwitch) WriteRegister(_ uint32, _ int, v uint32) { panic(ended{p.what}) }

// ends runs f, which must end in a reset or a power-off, and returns which, and the console.
func (b *bench) ends(f func()) (how, console string) {
	b.t.Helper()
	defer mmio.Install(board.WDOG1, 0x4000, powerSwitch{"reset"})()
	defer mmio.Install(board.SNVS, 0x4000, powerSwitch{"power off"})()
	defer func() {
		e, ok := recover().(ended)
		if !ok {
			b.t.Error("it did not end")
		}
		how, console = e.how, strings.ReplaceAll(string(b.uart.sent), "\r", "")
	}()
	f()
	return
}

func (b *bench) print(s string) {
	b.t.Helper()
	a := uint32(benchData + 1024)
	copy(bytesAt(a, uint32(len(s))), s)
	b.want("write", b.call(callWrite, 1, a, uint32(len(s))), int32(len(s)))
}

func TestTheEndIsOnePanicLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prints []string
		end    func(b *bench)
		how    string
		want   string
	}{
		{"success", []string{"done\n"}, func(b *bench) { b.call(callExitGroup, 0) },
			"power off", "done\n"},
		{"success in the middle of a line", []string{"done"}, func(b *bench) { b.call(callExitGroup, 0) },
			"power off", "done\n"},
		{"an exit status", []string{"x\n"}, func(b *bench) { b.call(callExitGroup, 7) },
			"reset", "x\npanic: kernel: the program ended with exit status 7\n"},
		{"a panic", []string{"panic: no\n", "\ntrace\n"}, func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "panic: no\n\ntrace\n"},
		{"a panic in pieces", []string{"pa", "nic: no", "\n"},
			func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "panic: no\n"},
		{"a panic without an end of line", []string{"panic: no"},
			func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "panic: no\n"},
		{"the word elsewhere", []string{"a panic: no\n"}, func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "a panic: no\npanic: kernel: the program ended with exit status 2\n"},
		{"a fatal error", []string{"fatal error: ", "no more\n", "trace\n"},
			func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "fatal error: no more\ntrace\npanic: runtime: no more\n"},
		{"a fatal error that names the runtime", []string{"fatal error: runtime: no more\n"},
			func(b *bench) { b.call(callExitGroup, 2) },
			"reset", "fatal error: runtime: no more\npanic: runtime: no more\n"},
		{"a panic and then a fatal error", []string{"panic: no\nfatal error: no more\n"},
			func(b *bench) { b.call(callExitGroup, 2) }, "reset", "panic: no\nfatal error: no more\n"},
		{"a signal", nil, func(b *bench) { b.signalSelf(sigKILL) },
			"reset", "panic: kernel: the program was killed by signal 9\n"},
		{"a long line", []string{strings.Repeat("x", 5000) + "panic: no\n"},
			func(b *bench) { b.call(callExitGroup, 1) }, "reset",
			strings.Repeat("x", 5000) + "panic: no\npanic: kernel: the program ended with exit status 1\n"},
		{"on request", nil, func(b *bench) { b.call(CallReset) }, "reset", ""},
		{"on request, off", nil, func(b *bench) { b.call(CallPowerOff) }, "power off", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			for _, s := range tt.prints {
				b.print(s)
			}
			how, console := b.ends(func() { tt.end(b) })
			if how != tt.how || console != tt.want {
				t.Errorf("ended by %s, console %q\nwant %s, %q", how, console, tt.how, tt.want)
			}
		})
	}
}

func TestAFaultThatCanNotBeASignalIsReported(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){
		"no handler": func(b *bench) {},
		"blocked": func(b *bench) {
			b.onAltStack()
			b.handle(sigSEGV, 0, 0)
			b.running().mask = bit(sigSEGV)
		},
		"no signal stack": func(b *bench) { b.handle(sigSEGV, 0, 0) },
		"bad signal stack": func(b *bench) {
			b.onAltStack()
			b.handle(sigSEGV, actionOnStack, 0)
			b.running().alt.base = 0
		},
		"bad thread's stack": func(b *bench) {
			b.onAltStack()
			b.handle(sigSEGV, 0, 0)
			b.running().regs[13] = 64
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			prepare(b)
			host.status, host.address = statusTranslationSection, 0x60000000
			b.running().regs[4] = 0x12345678
			how, console := b.ends(func() { b.trap(causeData) })
			for _, want := range []string{
				"panic: kernel: a fault that the program can not handle, signal 11\n",
				"address 60000000, thread 1\n", "r4 12345678", "code addresses on the stack:",
			} {
				if how != "reset" || strings.Count(console, want) != 1 {
					t.Errorf("ended by %s; no %q in\n%s", how, want, console)
				}
			}
		})
	}
}

func TestAKernelFaultIsReportedOnce(t *testing.T) {
	b := newBench(t)
	b.print("a line")
	b.kernel.abort = abortFrame{3: 0x33333333, 13: kernelStackTop - 64, 15: 0x80201010}
	*word(kernelStackTop - 60) = benchCode + 8
	host.status, host.address = statusTranslationPage, 0x0badadd0
	how, console := b.ends(func() { kernelFault(causeData) })
	want := "a line\npanic: kernel: data abort at 0badadd0, status 00000007, pc 80201010\n"
	if how != "reset" || !strings.HasPrefix(console, want) ||
		!strings.Contains(console, "r3 33333333") || !strings.Contains(console, "stack: 80201008\n") {
		t.Errorf("ended by %s, console\n%s", how, console)
	}
	b.uart.sent = nil
	if how, console := b.ends(func() { kernelFault(causeData) }); how != "reset" || console != "" {
		t.Errorf("a fault of the report: ended by %s, console %q", how, console)
	}
}

func TestEachUnknownCallIsNamedOnce(t *testing.T) {
	b := newBench(t)
	for range 3 {
		b.want("unknown", b.call(123), -eNOSYS)
		b.want("unknown", b.call(511), -eNOSYS)
	}
	b.want("beyond", b.call(callsMax), -eNOSYS)
	defer func() { // there is a bound to what one can have it say
		b.uart.sent = nil
		for n := range uint32(100) {
			b.want("beyond", b.call(callsMax+1+n), -eNOSYS)
		}
		if n := strings.Count(b.sent(), "no system call"); n != beyondMax-1 {
			t.Errorf("%d named", n)
		}
	}()
	want := "kernel: no system call 123\nkernel: no system call 511\nkernel: no system call 512\n"
	if got := strings.ReplaceAll(b.sent(), "\r", ""); got != want {
		t.Errorf("console %q, want %q", got, want)
	}
	if b.calls.count[123] != 3 {
		t.Errorf("counted %d", b.calls.count[123])
	}
}

func TestALineEndsWithACarriageReturnAndALineFeed(t *testing.T) {
	b := newBench(t)
	b.print("one\n\ntwo\n")
	if got, want := b.sent(), "one\r\n\r\ntwo\r\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestNumbersArePrinted(t *testing.T) {
	b := newBench(t)
	for _, v := range []uint32{0, 7, 10, 4294967295} {
		b.console.decimal(v)
		b.console.put(' ')
		b.console.hex(v)
		b.console.put(' ')
	}
	const want = "0 00000000 7 00000007 10 0000000a 4294967295 ffffffff "
	if got := b.sent(); got != want {
		t.Errorf("printed %q", got)
	}
}
