//go:build !arm

package kernel

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/board"
)

const (
	bufferAt = benchData + 256
	eventsAt = benchData + 512
)

// open makes the running thread open a path.
func (b *bench) open(path string) int32 {
	b.t.Helper()
	copy(bytesAt(benchData+1024, 256), path+"\x00")
	return b.call(callOpenat, 0xffffff9c, benchData+1024, 2)
}

// watch puts fd into the epoll set.
func (b *bench) watch(ep, fd int32, events uint32) {
	b.t.Helper()
	b.store(eventsAt, events, 0, uint32(fd), 0xdead)
	b.want("epoll_ctl", b.call(callEpollCtl, uint32(ep), epollAdd, uint32(fd), eventsAt), 0)
}

// poll returns what is ready now, as "fd:events" words.
func (b *bench) poll(ep int32) string {
	b.t.Helper()
	return b.events(b.call(callEpollPwait, uint32(ep), eventsAt, 8, 0))
}

func (b *bench) events(n int32) string {
	var words []string
	for i := range uint32(max(n, 0)) {
		e := eventsAt + eventSize*i
		if *word(e + 12) != 0xdead {
			b.t.Errorf("event %d has lost its data", i)
		}
		words = append(words, fmt.Sprintf("%d:%d", *word(e + 8), *word(e)))
	}
	return strings.Join(words, " ")
}

func TestInterruptsHaveNames(t *testing.T) {
	for path, want := range map[string]uint32{
		"/dev/irq/32": 32, "/dev/irq/150": 150, "/dev/irq/159": 159, "/dev/irq/0087": 87,
		"/dev/irq/": 0, "/dev/irq/31": 0, "/dev/irq/160": 0, "/dev/irq/4294967328": 0, "/dev/irq/87x": 0,
		"/dev/irq/-1": 0, "/dev/ir": 0, "/dev/irq": 0, "": 0, "/dev/irq/ 87": 0,
		"/dev/irq/" + strings.Repeat("0", pathMax-12) + "87": 87,
	} {
		var name [pathMax]byte
		copy(name[:], path)
		if id, ok := irqOfPath(&name); ok != (want != 0) || ok && id != want {
			t.Errorf("%q: %d, %v", path, id, ok)
		}
	}
}

func TestOpenKnowsTheNullDeviceAndInterruptsOnly(t *testing.T) {
	b := newBench(t)
	b.want("null", b.open("/dev/null"), 3)
	b.want("interrupt", b.open("/dev/irq/87"), 4)
	b.want("the same again", b.open("/dev/irq/87"), -eBUSY)
	b.want("the console's", b.open(fmt.Sprint("/dev/irq/", board.IRQUART1)), -eBUSY)
	b.want("a file", b.open("/etc/hosts"), -eNOENT)
	b.want("null and more", b.open("/dev/nullx"), -eNOENT)
	b.want("a long name", b.open("/dev/irq/"+strings.Repeat("0", 60)+"87"), -eNOENT)
	b.want("a name at the end of memory", b.call(callOpen, kernelEnd-1), -eFAULT)
	b.want("write to null", b.call(callWrite, 3, 0, 1000), 1000)
	b.want("read from null", b.call(callRead, 3, 0, 1000), 0)
	b.want("close", b.call(callClose, 4), 0)
	b.want("close again", b.call(callClose, 4), -eBADF)
	b.want("open after close", b.open("/dev/irq/87"), 4)
	for n := 5; n < filesMax; n++ {
		b.want("fill the table", b.open("/dev/null"), int32(n))
	}
	b.want("one too many", b.open("/dev/null"), -eMFILE)
	b.want("an interrupt too many", b.open("/dev/irq/88"), -eMFILE)
}

func TestAnInterruptWaitsForItsReader(t *testing.T) {
	b := newBench(t)
	ep, fd := b.call(callEpollCreate1, 0), b.open("/dev/irq/87")
	b.watch(ep, fd, epollIn|epollET)
	read := func() int32 { return b.call(callRead, uint32(fd), bufferAt, 8) }

	b.gic.pending = []uint32{87}
	b.interrupts()
	if len(b.gic.pending) != 1 {
		t.Error("an interrupt arrived that nobody had asked for")
	}
	b.want("the first read", read(), -eAGAIN) // unmasks
	b.interrupts()
	if got := b.poll(ep); got != fmt.Sprintf("%d:%d", fd, epollIn) {
		t.Errorf("poll after the interrupt: %q", got)
	}
	if got := b.poll(ep); got != "" {
		t.Errorf("the same edge again: %q", got)
	}
	b.interrupts(87)
	if len(b.gic.pending) != 1 {
		t.Error("the interrupt is not masked until its reader has seen to the device")
	}
	b.want("read", read(), 8)
	if n := load64(bufferAt); n != 1 {
		t.Errorf("count %d", n)
	}
	b.want("read again", read(), -eAGAIN)
	b.interrupts()
	b.want("read what was pending", read(), 8)
	b.want("a short buffer", b.call(callRead, uint32(fd), bufferAt, 7), -eINVAL)
	b.want("a bad buffer", b.call(callRead, uint32(fd), 8, 8), -eFAULT)
	b.call(callClose, uint32(fd))
	b.gic.pending = nil
	b.interrupts(87)
	if len(b.gic.pending) != 1 {
		t.Error("a closed interrupt is not masked")
	}
}

func TestAnInterruptEndsAWaitAtOnce(t *testing.T) {
	b := newBench(t)
	ep, fd := b.call(callEpollCreate1, 0), b.open("/dev/irq/87")
	b.watch(ep, fd, epollIn|epollET)
	b.call(callRead, uint32(fd), bufferAt, 8)
	poller := b.spawn()
	b.call(callYield)
	b.call(callEpollPwait, uint32(ep), eventsAt, 8, forever)
	b.wantRunning("while the poller waits", 0)
	b.pass(grainUS)
	b.interrupts(87)
	b.wantRunning("after the interrupt", poller)
	if got := b.events(int32(b.running().regs[0])); got != fmt.Sprintf("%d:%d", fd, epollIn) {
		t.Errorf("events %q", got)
	}
}

func TestAnEventfdCountsAndIsAlwaysWritable(t *testing.T) {
	b := newBench(t)
	b.want("blocking", b.call(callEventfd2, 0, 0), -eINVAL)
	ep, fd := b.call(callEpollCreate1, 0), b.call(callEventfd2, 0, eventNonBlocking)
	b.watch(ep, fd, epollIn) // level-triggered, as the runtime has it
	write := func(v uint64) int32 {
		store64(bufferAt, v)
		return b.call(callWrite, uint32(fd), bufferAt, 8)
	}
	if got := b.poll(ep); got != "" {
		t.Errorf("poll of an empty one: %q", got)
	}
	b.want("read of an empty one", b.call(callRead, uint32(fd), bufferAt, 8), -eAGAIN)
	b.want("write", write(3), 8)
	b.want("write", write(1<<40), 8)
	for range 2 {
		if got := b.poll(ep); got != fmt.Sprintf("%d:%d", fd, epollIn) {
			t.Errorf("poll: %q", got)
		}
	}
	b.want("read", b.call(callRead, uint32(fd), bufferAt, 8), 8)
	if n := load64(bufferAt); n != 1<<40+3 {
		t.Errorf("count %d", n)
	}
	b.want("the most", write(^uint64(0)-1), 8)
	b.want("more than the most", write(1), -eAGAIN)
	b.want("what no counter can hold", write(^uint64(0)), -eINVAL)
	b.want("a short write", b.call(callWrite, uint32(fd), bufferAt, 7), -eINVAL)
	b.want("a bad buffer", b.call(callWrite, uint32(fd), 8, 8), -eFAULT)
}

func TestAWriteWakesThePollerOnceAndATimeoutOrSignalDoesToo(t *testing.T) {
	b := newBench(t)
	ep, fd := b.call(callEpollCreate1, 0), b.call(callEventfd2, 0, eventNonBlocking)
	b.watch(ep, fd, epollIn)
	poller := b.spawn()
	b.call(callYield)
	wait := func(ms uint32) {
		b.wantRunning("before the wait", poller)
		b.call(callEpollPwait, uint32(ep), eventsAt, 8, ms)
		b.wantRunning("during the wait", 0)
	}
	wait(5)
	b.pass(5_010)
	b.wantRunning("after the timeout", poller)
	b.want("timeout", int32(b.running().regs[0]), 0)

	wait(forever)
	store64(bufferAt, 1)
	b.want("write", b.call(callWrite, uint32(fd), bufferAt, 8), 8)
	b.want("woken", int32(b.threads[poller].regs[0]), 1)
	b.call(callYield)
	b.call(callRead, uint32(fd), bufferAt, 8)

	wait(forever)
	b.signals.actions[sigURG] = action{handler: benchCode}
	b.call(callTgkill, processID, uint32(poller)+1, sigURG)
	b.want("signal", int32(b.threads[poller].regs[0]), -eINTR)
	store64(bufferAt, 1)
	b.want("a write that nobody waits for", b.call(callWrite, uint32(fd), bufferAt, 8), 8)
	b.want("does not end the wait twice", int32(b.threads[poller].regs[0]), -eINTR)
}

func TestAPollersBufferThatIsGoneIsAnError(t *testing.T) {
	b := newBench(t)
	ep, fd := b.call(callEpollCreate1, 0), b.call(callEventfd2, 0, eventNonBlocking)
	b.watch(ep, fd, epollIn)
	out := uint32(b.call(callMmap2, 0, pageSize, 3, anonymous))
	poller := b.spawn()
	b.call(callYield)
	b.call(callEpollPwait, uint32(ep), out, 8, forever)
	b.want("unmap its buffer", b.call(callMunmap, out, pageSize), 0)
	store64(bufferAt, 1)
	b.want("write", b.call(callWrite, uint32(fd), bufferAt, 8), 8)
	b.want("the poller's result", int32(b.threads[poller].regs[0]), -eFAULT)
}

func TestTheEpollSetRefuses(t *testing.T) {
	b := newBench(t)
	ep := b.call(callEpollCreate1, 0)
	fd := b.call(callEventfd2, 0, eventNonBlocking)
	b.want("a second set", b.call(callEpollCreate1, 0), -eMFILE)
	for _, tt := range []struct {
		name string
		args []uint32
		want int32
	}{
		{"the console", []uint32{uint32(ep), epollAdd, 1, eventsAt}, -ePERM},
		{"itself", []uint32{uint32(ep), epollAdd, uint32(ep), eventsAt}, -ePERM},
		{"no file", []uint32{uint32(ep), epollAdd, 40, eventsAt}, -eBADF},
		{"no set", []uint32{40, epollAdd, uint32(fd), eventsAt}, -eBADF},
		{"a set that is none", []uint32{uint32(fd), epollAdd, uint32(fd), eventsAt}, -eINVAL},
		{"a bad event", []uint32{uint32(ep), epollAdd, uint32(fd), 8}, -eFAULT},
		{"an operation that is none", []uint32{uint32(ep), 4, uint32(fd), eventsAt}, -eINVAL},
		{"modify before add", []uint32{uint32(ep), epollModify, uint32(fd), eventsAt}, -eNOENT},
		{"delete before add", []uint32{uint32(ep), epollDelete, uint32(fd), 0}, -eNOENT},
		{"add", []uint32{uint32(ep), epollAdd, uint32(fd), eventsAt}, 0},
		{"add twice", []uint32{uint32(ep), epollAdd, uint32(fd), eventsAt}, -eEXIST},
		{"modify", []uint32{uint32(ep), epollModify, uint32(fd), eventsAt}, 0},
		{"delete", []uint32{uint32(ep), epollDelete, uint32(fd), 0}, 0},
	} {
		b.want(tt.name, b.call(callEpollCtl, tt.args...), tt.want)
	}
	b.want("wait for nothing", b.call(callEpollPwait, uint32(ep), eventsAt, 0, 0), -eINVAL)
	b.want("wait for too much", b.call(callEpollPwait, uint32(ep), eventsAt, 1<<30, 0), -eINVAL)
	b.want("wait into nowhere", b.call(callEpollPwait, uint32(ep), 8, 8, 0), -eFAULT)
	b.want("wait on a file", b.call(callEpollPwait, uint32(fd), eventsAt, 8, 0), -eINVAL)
	b.want("wait on nothing", b.call(callEpollPwait, 40, eventsAt, 8, 0), -eBADF)
	b.want("close the set", b.call(callClose, uint32(ep)), 0)
	b.want("and make another", b.call(callEpollCreate1, 0), ep)
}

func TestTheKeyboardIsReadWhenSomethingWasTyped(t *testing.T) {
	b := newBench(t)
	ep := b.call(callEpollCreate1, 0)
	b.watch(ep, 0, epollIn|epollET)
	b.want("nothing typed", b.call(callRead, 0, bufferAt, 8), -eAGAIN)
	b.want("nothing wanted", b.call(callRead, 0, bufferAt, 0), 0)
	b.uart.typed = []byte("hello")
	b.interrupts(board.IRQUART1)
	if got := b.poll(ep); got != fmt.Sprintf("0:%d", epollIn) {
		t.Errorf("poll: %q", got)
	}
	b.want("a bad buffer", b.call(callRead, 0, 8, 8), -eFAULT)
	b.want("some of it", b.call(callRead, 0, bufferAt, 3), 3)
	b.want("the rest", b.call(callRead, 0, bufferAt+3, 9), 2)
	if got := string(bytesAt(bufferAt, 5)); got != "hello" {
		t.Errorf("read %q", got)
	}
	flags := b.call(callFcntl, 0, fcntlGetFlags)
	if flags&openNonBlocking == 0 {
		t.Error("package os would block a thread on the keyboard")
	}
}

func TestFilesHaveFlagsAndAreCharacterDevices(t *testing.T) {
	b := newBench(t)
	fd := uint32(b.open("/dev/irq/87"))
	b.want("blocking at first", b.call(callFcntl, fd, fcntlGetFlags), openReadWrite)
	b.want("set", b.call(callFcntl64, fd, fcntlSetFlags, openNonBlocking|openReadWrite), 0)
	b.want("non-blocking", b.call(callFcntl, fd, fcntlGetFlags), openReadWrite|openNonBlocking)
	b.want("close-on-exec", b.call(callFcntl, fd, fcntlSetFD, 1), 0)
	b.want("duplicate", b.call(callFcntl, fd, 0, 0), -eINVAL)
	b.want("of no file", b.call(callFcntl, 40, fcntlGetFlags), -eBADF)
	b.want("stat", b.call(callFstat64, fd, bufferAt), 0)
	if mode := *word(bufferAt + stat64Mode); mode != characterDevice {
		t.Errorf("mode %o", mode)
	}
	b.want("stat of no file", b.call(callFstat64, 40, bufferAt), -eBADF)
}
