//go:build !arm

package kernel

import (
	"hash/crc32"
	"strings"
	"testing"

	"holdfast/board"
)

// nextBoot is the next boot on the same memory.
func (b *bench) nextBoot() {
	*b.kernel = kernel{}
	b.uart.control = 0
	b.boot(benchRAM / megabyte)
}

// left is what the boot before left.
func (b *bench) left() string {
	b.t.Helper()
	n := b.call(CallEpitaph, board.DMA, epitaphMax)
	if n < 0 {
		b.t.Fatal(n)
	}
	return string(bytesAt(board.DMA, uint32(n)))
}

func TestTheNextBootFindsTheEpitaphOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		prints string
		end    func(b *bench)
		want   string
	}{
		"a panic": {"before\npanic: no\n\ngoroutine 1\n", func(b *bench) { b.call(callExitGroup, 2) },
			"panic: no\n\ngoroutine 1\n"},
		"a fatal error": {"x\nfatal error: no\ntrace\n", func(b *bench) { b.call(callExitGroup, 2) },
			"fatal error: no\ntrace\npanic: runtime: no\n"},
		"an exit status": {"x\n", func(b *bench) { b.call(callExitGroup, 4) },
			"panic: kernel: the program ended with exit status 4\n"},
		"success":            {"panic: no\n", func(b *bench) { b.call(callExitGroup, 0) }, ""},
		"a reset on request": {"panic: no\n", func(b *bench) { b.call(CallReset) }, ""},
		"a panic without a line": {"panic: no", func(b *bench) { b.call(callExitGroup, 2) },
			"panic: no\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.print(tt.prints)
			b.ends(func() { tt.end(b) })
			b.nextBoot()
			for range 2 { // it can be read more than once
				if got := b.left(); got != tt.want {
					t.Errorf("left %q, want %q", got, tt.want)
				}
			}
			b.nextBoot()
			if got := b.left(); got != "" {
				t.Errorf("the boot after that finds %q", got)
			}
		})
	}
}

func TestAWatchdogThatBitesBehindAPanicFindsItWhole(t *testing.T) {
	b := newBench(t)
	b.print("panic: no\n\ngoroutine 1")
	b.nextBoot()
	if got := b.left(); got != "panic: no\n\ngoroutine 1" {
		t.Errorf("%q", got)
	}
}

func TestAnEpitaphHasABound(t *testing.T) {
	b := newBench(t)
	b.print("panic: no\n")
	line := strings.Repeat("t", 99) + "\n"
	for range epitaphMax/100 + 2 {
		b.print(line)
		b.sent()
	}
	b.nextBoot()
	if got := b.left(); len(got) != epitaphMax || !strings.HasPrefix(got, "panic: no\ntttt") {
		t.Errorf("%d bytes, %.20q", len(got), got)
	}
}

func TestADamagedEpitaphIsNone(t *testing.T) {
	for name, damage := range map[string]func(){
		"magic":           func() { *word(epitaphPage)++ },
		"no length":       func() { *word(epitaphPage + 4) = 0 },
		"length":          func() { *word(epitaphPage + 4)-- },
		"a long length":   func() { *word(epitaphPage + 4) = epitaphMax + 1 },
		"crc":             func() { *word(epitaphPage + 8) ^= 1 },
		"the first byte":  func() { *(*byte)(ptr(epitaphPage + epitaphHeader)) ^= 1 },
		"nothing at all":  func() { clear(bytesAt(epitaphPage, pageSize)) },
		"what power left": func() { copy(bytesAt(epitaphPage, 16), "\xa5\x5a\xa5\x5a\xff\xff\xff\xff") },
	} {
		b := newBench(t)
		b.print("panic: no\n")
		damage()
		b.nextBoot()
		if got := b.left(); got != "" {
			t.Errorf("%s: %q", name, got)
		}
		b.shutdown()
	}
}

func TestTheEpitaphsSumIsCRC32(t *testing.T) {
	b := newBench(t)
	b.print("panic: no\n")
	if got := *word(epitaphPage + 8); got != crc32.ChecksumIEEE([]byte("panic: no\n")) {
		t.Errorf("crc %08x", got)
	}
	b.want("a bad pointer", b.call(CallEpitaph, 64, 8), 0)
	b.nextBoot()
	b.want("a bad pointer", b.call(CallEpitaph, 64, 8), -eFAULT)
}
