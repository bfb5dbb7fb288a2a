//go:build !arm

package kernel

import "testing"

const (
	handler  = benchCode + 0x800
	altBase  = benchData + 2*pageSize
	altBytes = 4096
	usr1     = 10
	usr2     = 12
)

// handle installs the handler for a signal, through the system call.
func (b *bench) handle(sig, flags uint32, mask uint64) {
	b.t.Helper()
	b.store(benchData+128, handler, flags, 0, uint32(mask), uint32(mask>>32))
	b.want("sigaction", b.call(callSigaction, sig, benchData+128, 0, 8), 0)
}

// onAltStack gives the running thread a signal stack.
func (b *bench) onAltStack() {
	b.t.Helper()
	b.store(benchData+128, altBase, 0, altBytes)
	b.want("sigaltstack", b.call(callSigaltstack, benchData+128, 0), 0)
}

// signalSelf makes the running thread send itself a signal.
func (b *bench) signalSelf(sig uint32) {
	b.t.Helper()
	b.call(callTgkill, processID, uint32(b.runs())+1, sig)
}

func TestAHandlerRunsAndTheProgramGoesOnAsIfNothingHadHappened(t *testing.T) {
	b := newBench(t)
	b.onAltStack()
	b.handle(usr1, actionOnStack, bit(usr2))
	th := b.running()
	th.regs = [15]uint32{8: 88, 10: 1010, 13: threadStackTop - 512, 14: 1414}
	th.pc, th.cpsr, th.mask = 0x80205678, 0x600f0000|modeSystem, bit(sigURG)
	b.signalSelf(usr1)
	before := *th

	if th.pc != handler || th.regs[14] != sigretPage || th.regs[0] != usr1 || th.regs[10] != 1010 {
		t.Fatalf("not in the handler: %+v", th.regs)
	}
	sp := th.regs[13]
	if sp%8 != 0 || sp < altBase || sp+sigframeSize > altBase+altBytes {
		t.Errorf("frame at %#x", sp)
	}
	if th.mask != bit(sigURG)|bit(usr1)|bit(usr2) {
		t.Errorf("mask %#x", th.mask)
	}
	f := (*sigframe)(ptr(sp))
	if th.regs[1] != sp || th.regs[2] != sp+contextAt ||
		f.info.signo != usr1 || f.info.code != codeTkill {
		t.Errorf("siginfo %+v", f.info)
	}
	f.context.regs[4] = 44 // what the handler changes
	f.context.cpsr |= 1<<9 | 1<<5 | 0x80
	th.regs = [15]uint32{13: sp}
	b.call(callSigreturn)
	want := before
	want.regs = [15]uint32{4: 44, 7: callTgkill, 8: 88, 10: 1010, 13: threadStackTop - 512, 14: 1414}
	want.regs[1], want.regs[2] = 1, usr1 // tgkill's own arguments, and its answer in r0
	if th.regs != want.regs || th.pc != 0x80205678 || th.mask != bit(sigURG) {
		t.Errorf("after sigreturn\n got %v pc %#x mask %#x\nwant %v", th.regs, th.pc, th.mask, want.regs)
	}
	if th.cpsr != 0x600f0000|modeSystem {
		t.Errorf("cpsr %#x: the handler has changed the mode", th.cpsr)
	}
}

func TestASignalInTheHandlerUsesTheSameStackFurtherDown(t *testing.T) {
	b := newBench(t)
	b.onAltStack()
	b.handle(usr1, actionOnStack, 0)
	b.handle(usr2, actionOnStack, 0)
	b.signalSelf(usr1)
	first := b.running().regs[13]
	b.signalSelf(usr1)
	if b.running().regs[13] != first {
		t.Error("a signal interrupted its own handler")
	}
	b.signalSelf(usr2)
	if second := b.running().regs[13]; second >= first || second < altBase {
		t.Errorf("frames at %#x and %#x", first, second)
	}
}

func TestASignalWithoutAnAltStackUsesTheThreadsOwn(t *testing.T) {
	b := newBench(t)
	b.handle(usr1, actionOnStack|actionNoDefer, 0)
	own := b.running().regs[13]
	b.signalSelf(usr1)
	if sp := b.running().regs[13]; sp >= own || sp < own-2*sigframeSize {
		t.Errorf("frame at %#x, stack %#x", sp, own)
	}
	if b.running().mask != 0 {
		t.Errorf("mask %#x in spite of SA_NODEFER", b.running().mask)
	}
}

func TestABlockedSignalWaitsAndTheLowestComesFirst(t *testing.T) {
	b := newBench(t)
	b.onAltStack()
	b.handle(usr1, actionOnStack, bit(usr2))
	b.handle(usr2, actionOnStack, bit(usr1))
	store64(benchData+128, bit(usr1)|bit(usr2)|bit(sigKILL))
	b.want("block", b.call(callSigprocmask, maskBlock, benchData+128, 0, 8), 0)
	if b.running().mask&bit(sigKILL) != 0 {
		t.Error("SIGKILL can be blocked")
	}
	b.signalSelf(usr2)
	b.signalSelf(usr1)
	if b.running().pc == handler {
		t.Fatal("a blocked signal was delivered")
	}
	store64(benchData+128, 0)
	b.call(callSigprocmask, maskSet, benchData+128, 0, 8)
	if b.running().pc != handler || b.running().regs[0] != usr1 {
		t.Errorf("signal %d first", b.running().regs[0])
	}
	b.call(callSigreturn)
	if b.running().pc != handler || b.running().regs[0] != usr2 {
		t.Errorf("signal %d second", b.running().regs[0])
	}
}

func TestMasksAndActionsCanBeRead(t *testing.T) {
	b := newBench(t)
	b.running().mask = 5
	b.want("read", b.call(callSigprocmask, 99, 0, bufferAt, 8), 0)
	if load64(bufferAt) != 5 {
		t.Errorf("mask %d", load64(bufferAt))
	}
	b.want("a bad way to set", b.call(callSigprocmask, 3, bufferAt, 0, 8), -eINVAL)
	store64(bufferAt, 4)
	b.want("unblock", b.call(callSigprocmask, maskUnblock, bufferAt, bufferAt, 8), 0)
	if b.running().mask != 1 || load64(bufferAt) != 5 {
		t.Errorf("mask %d, was %d", b.running().mask, load64(bufferAt))
	}
	b.handle(usr1, 0x1234, 7)
	b.want("read", b.call(callSigaction, usr1, 0, bufferAt, 8), 0)
	if *word(bufferAt) != handler || *word(bufferAt + 4) != 0x1234 || load64(bufferAt+12) != 7 {
		t.Error("the action reads differently")
	}
	for _, sig := range []uint32{0, sigKILL, sigSTOP, signalsMax + 1} {
		b.want("an action for a signal that has none", b.call(callSigaction, sig, bufferAt, 0, 8),
			-eINVAL)
	}
	b.store(bufferAt, altBase, 0, altStackMin-1)
	b.want("a stack too small", b.call(callSigaltstack, bufferAt, 0), -eNOMEM)
	b.onAltStack()
	b.store(bufferAt, 0, altDisabled, 0)
	b.want("no stack", b.call(callSigaltstack, bufferAt, bufferAt+16), 0)
	if *word(bufferAt + 16) != altBase || b.running().alt != (altStack{flags: altDisabled}) {
		t.Error("the old stack is not given back, or the new one is not taken")
	}
}

func TestASignalThatNobodyWantsIsDropped(t *testing.T) {
	b := newBench(t)
	b.signals.actions[usr1].handler = handlerIgnore
	pc := b.running().pc
	for _, sig := range []uint32{0, usr1, sigURG, sigCHLD, sigCONT, sigWNCH} {
		b.signalSelf(sig)
	}
	if b.running().pc != pc || b.running().pending != 0 {
		t.Error("a signal was delivered, or is pending")
	}
	for _, args := range [][]uint32{
		{1, 1, 65}, {1, 0, usr1}, {1, 2, usr1}, {1, 65, usr1}, {1, 1 << 31, usr1},
	} {
		b.want("tgkill", b.call(callTgkill, args...), -eINVAL)
	}
	b.want("kill", b.call(callKill, 1, 65), -eINVAL)
}

func TestKillChoosesAThreadThatDoesNotBlockTheSignal(t *testing.T) {
	b := newBench(t)
	b.handle(usr1, 0, 0)
	other := b.spawn()
	b.running().mask = bit(usr1)
	b.want("kill", b.call(callKill, processID, usr1), 0)
	if b.threads[0].pending != 0 || b.threads[other].pending != bit(usr1) {
		t.Errorf("pending %#x and %#x", b.threads[0].pending, b.threads[other].pending)
	}
}

// A call that is done in pieces is not interrupted by a signal: its progress would be lost.
func TestASignalWaitsForTheEndOfAnUnfinishedCall(t *testing.T) {
	b := newBench(t)
	b.handle(usr1, 0, 0)
	th := b.running()
	th.regs = [15]uint32{1, bufferAt, 2*pieceMax + 1, 7: callWrite, 13: threadStackTop - 64}
	pc := th.pc
	for piece := 0; ; piece++ {
		b.trap(causeCall)
		if th.pc == handler {
			if th.done != 0 || piece != 2 || b.console.queued != 2*pieceMax+1 {
				t.Errorf("delivered after piece %d with %d bytes written", piece, b.console.queued)
			}
			return
		}
		if th.pc != pc-4 {
			t.Fatalf("pc %#x", th.pc)
		}
		th.pc = pc
		b.send(0, usr1)
	}
}

func TestAFaultIsASignalWithItsAddress(t *testing.T) {
	for _, tt := range []struct {
		name               string
		cause, status, sig uint32
	}{
		{"no page", causeData, 0x807, sigSEGV}, {"no section", causeData, 0x005, sigSEGV},
		{"read-only", causeData, 0x80f, sigSEGV}, {"unaligned", causeData, 0x001, sigBUS},
		{"no device", causeData, 0x008, sigBUS}, {"no device, asynchronously", causeData, 0x406, sigBUS},
		{"not executable", causeFetch, 0x00f, sigSEGV},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.onAltStack()
			b.handle(tt.sig, actionOnStack, 0)
			host.status, host.address = tt.status, 0x60000004
			b.trap(tt.cause)
			th := b.running()
			if th.pc != handler || th.regs[0] != tt.sig {
				t.Fatalf("pc %#x, signal %d", th.pc, th.regs[0])
			}
			f := (*sigframe)(ptr(th.regs[13]))
			if f.info.address != 0x60000004 || f.context.address != 0x60000004 || f.info.code != codeFault {
				t.Errorf("siginfo %+v", f.info)
			}
		})
	}
}

func TestAFirstTouchIsNoFault(t *testing.T) {
	b := newBench(t)
	before := *b.running()
	host.status, host.address = 0x807, benchZero
	b.trap(causeData)
	if *b.running() != before {
		t.Error("the thread has changed")
	}
	if *entry(benchZero) != benchZero|pageRW {
		t.Errorf("entry %#x", *entry(benchZero))
	}
}

func TestProfilingSignalsWhateverRuns(t *testing.T) {
	b := newBench(t)
	b.onAltStack()
	b.handle(sigPROF, actionOnStack, 0)
	b.store(bufferAt, 0, 10_000, 0, 10_000)
	b.want("the wrong timer", b.call(callSetitimer, 0, bufferAt, 0), -eINVAL)
	b.want("100 Hz", b.call(callSetitimer, timerProfiling, bufferAt, 0), 0)
	signals := 0
	for range 100 {
		b.pass(1_000)
		if b.running().pc == handler {
			if code := (*sigframe)(ptr(b.running().regs[13])).info.code; code != codeKernel {
				t.Fatalf("code %#x", code)
			}
			signals++
			b.call(callSigreturn)
		}
	}
	if signals < 9 || signals > 10 {
		t.Errorf("%d signals in 100 ms", signals)
	}
	b.store(bufferAt, 0, 0, 0, 0)
	b.want("off", b.call(callSetitimer, timerProfiling, bufferAt, 0), 0)
	b.pass(50_000)
	if b.running().pc == handler {
		t.Error("a signal after the end")
	}
}

func TestTheSignalReturnIsTwoInstructions(t *testing.T) {
	newBench(t)
	if *word(sigretPage) != 0xe3a07000|callSigreturn || *word(sigretPage + 4) != 0xef000000 {
		t.Errorf("%#x %#x", *word(sigretPage), *word(sigretPage + 4))
	}
}
