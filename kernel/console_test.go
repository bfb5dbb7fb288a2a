//go:build !arm

package kernel

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/board"
)

const textAt = benchData + 1024 // of up to a page and a half

// write makes the running thread write to the console, in one call that may not be done yet.
func (b *bench) write(s string) {
	copy(bytesAt(textAt, uint32(len(s))), s)
	th := b.running()
	th.regs = [15]uint32{1, textAt, uint32(len(s)), 7: callWrite, 13: threadStackTop - 64}
	b.trap(causeCall)
}

// resume makes the system call again that the running thread has not finished.
func (b *bench) resume() {
	b.running().pc += 4
	b.trap(causeCall)
}

func TestWhatIsWrittenGoesOutWithTheInterrupts(t *testing.T) {
	b := newBench(t)
	b.print("one\ntwo\n")
	if len(b.uart.sent) != 0 {
		t.Errorf("a write sends by itself: %q", b.uart.sent)
	}
	if got := b.sent(); got != "one\r\ntwo\r\n" {
		t.Errorf("sent %q", got)
	}
	if b.uart.control&uartTransmitInterrupt != 0 {
		t.Error("an empty ring keeps the interrupt on")
	}
}

func TestAnInterruptSendsNoMoreThanThePortHolds(t *testing.T) {
	b := newBench(t)
	b.print(strings.Repeat("x", 600))
	b.trap(causeInterrupt) // the GIC has nothing: no interrupt, no byte
	b.interrupts(board.IRQUART1)
	if n := len(b.uart.sent); n != 32 {
		t.Errorf("%d bytes in one interrupt", n)
	}
	b.uart.full = true
	b.interrupts(board.IRQUART1)
	if n := len(b.uart.sent); n != 32 {
		t.Errorf("%d bytes into a full port", n-32)
	}
}

// fill leaves less room in the ring than a piece needs.
func (b *bench) fill() (written int) {
	for ringSize-b.console.queued >= pieceMax {
		b.print(strings.Repeat("f", pieceMax-1) + "\n")
		written += pieceMax
	}
	return written
}

func TestAThreadWaitsForRoomAndLosesNothing(t *testing.T) {
	b := newBench(t)
	other := b.spawn()
	before := b.fill()
	th := b.running()
	line := strings.Repeat("w", pieceMax-1) + "\n"
	b.write(line)
	b.wantRunning("while the ring is full", other)
	if b.console.waits != 1 {
		t.Errorf("%d waits counted", b.console.waits)
	}
	b.handle(usr1, 0, 0)
	b.send(0, usr1)
	b.wantRunning("a signal does not end the wait", other)
	th.pending = 0
	for b.running() != th {
		b.interrupts(board.IRQUART1)
		b.pass(grainUS)
	}
	if b.console.queued > ringSize/2 {
		t.Errorf("woken with %d bytes in the ring", b.console.queued)
	}
	b.resume()
	b.want("write", int32(th.regs[0]), int32(len(line)))
	sent := strings.ReplaceAll(b.sent(), "\r", "")
	if len(sent) != before+len(line) || !strings.HasSuffix(sent, line) {
		t.Errorf("%d bytes sent, want %d, the last %q", len(sent), before+len(line), sent[len(sent)-9:])
	}
}

func TestTheKernelsOwnWordsDoNotWait(t *testing.T) {
	b := newBench(t)
	b.fill()
	b.print(strings.Repeat("x", int(ringSize-b.console.queued)))
	b.want("unknown", b.call(300), -eNOSYS)
	if b.console.leftOut == 0 {
		t.Error("what finds no room is not counted")
	}
}

func TestTheEndSendsWhatTheRingHolds(t *testing.T) {
	for _, text := range []string{"", "a line\n", "a\n\nb", strings.Repeat("0123456\n", 600)} {
		for taken := range 4 { // so many interrupts come before it
			b := newBench(t)
			for rest := text; rest != ""; {
				n := min(len(rest), pieceMax)
				b.print(rest[:n])
				rest = rest[n:]
			}
			for range taken {
				b.interrupts(board.IRQUART1)
			}
			how, console := b.ends(func() { b.call(callExitGroup, 3) })
			want := text
			if want != "" && !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			want += "panic: kernel: the program ended with exit status 3\n"
			if how != "reset" || console != want {
				t.Fatalf("%q: ended by %s, console %q", text, how, console)
			}
			b.shutdown()
		}
	}
}

// A line feed whose carriage return is out already gets no second one.
func TestTheEndKnowsOfACarriageReturnThatIsOut(t *testing.T) {
	b := newBench(t)
	b.print(strings.Repeat("x", 31) + "\nlast\n")
	b.interrupts(board.IRQUART1) // 31 bytes and the carriage return
	b.ends(func() { b.call(callExitGroup, 0) })
	if want := strings.Repeat("x", 31) + "\r\nlast\r\n"; string(b.uart.sent) != want {
		t.Errorf("sent %q", b.uart.sent)
	}
}

func TestWhatIsWrittenComesOutOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		defer b.shutdown()
		var want bytes.Buffer
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 1500), 1, 40).Draw(rt, "lengths") {
			text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), n, n, n).Draw(rt, "text")
			for len(text) != 0 {
				piece := text[:min(len(text), pieceMax)]
				for ringSize-b.console.queued < uint32(len(piece)) {
					b.interrupts(board.IRQUART1)
				}
				b.print(piece)
				want.WriteString(piece)
				text = text[len(piece):]
			}
			for range rapid.IntRange(0, 3).Draw(rt, "interrupts") {
				b.interrupts(board.IRQUART1)
			}
		}
		got := b.sent()
		if got != strings.ReplaceAll(want.String(), "\n", "\r\n") {
			rt.Fatalf("sent %d bytes that are not what was written", len(got))
		}
	})
}

func TestAFullKeyboardTakesNothingUntilItIsRead(t *testing.T) {
	b := newBench(t)
	typed := strings.Repeat("x", keyboardSize) + "rest"
	b.uart.typed = []byte(typed)
	b.interrupts(board.IRQUART1)
	if b.uart.control&uartReceiveInterrupt != 0 || len(b.uart.typed) != 4 {
		t.Fatalf("UCR1 %#x, %d characters left at the port", b.uart.control, len(b.uart.typed))
	}
	b.want("read", b.call(callRead, 0, bufferAt, 16), 16)
	if b.uart.control&uartReceiveInterrupt == 0 {
		t.Error("the interrupt stays off when there is room again")
	}
	b.interrupts(board.IRQUART1)
	if n := b.console.keyboard.received; n != keyboardSize-16+4 {
		t.Errorf("received %d", n)
	}
}

func TestAnOverrunIsCounted(t *testing.T) {
	b := newBench(t)
	b.uart.overrun = true
	b.interrupts(board.IRQUART1)
	b.interrupts(board.IRQUART1)
	if n := b.console.keyboard.lost; n != 1 {
		t.Errorf("%d overruns counted", n)
	}
}
