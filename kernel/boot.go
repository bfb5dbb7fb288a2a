package kernel

import (
	"holdfast/board"
	"holdfast/board/core"
	"holdfast/board/timer"
)

// boot runs once, on the kernel stack, with the MMU off. The entry code found megabytes of memory.
// When it returns, thread 0 is about to enter the runtime the way Linux would have started it.
func boot(megabytes uint32) { theKernel().boot(megabytes) }

func (k *kernel) boot(megabytes uint32) {
	if !core.Emulated() {
		k.wakeBoard()
	}
	size := ramSize(megabytes)
	k.console.init()
	k.console.epitaph.init()
	k.image.read()
	k.checkMemory(size)
	k.clock.init(timer.Hz(), timer.Counter())
	k.random.init()
	buildVDSO()
	buildSigreturn()
	buildTables(&k.image) // after this the two above are read-only
	enableMMU(l1Table | tableWalkCached)
	initInterrupts()
	k.files.init()
	port.SetReceiveInterrupt(true)
	k.masked.on = bootNumber(measureLine, 1) != 0
	k.startProgram()
}

// ramSize is the one place that decides how much memory there is: what answered at the entry, less
// if the loader says so, and not more than the page tables have room for. The board's size is not
// asked for: on silicon all of it answers.
func ramSize(megabytes uint32) uint32 {
	size := megabytes * megabyte
	if said := bootNumber(ramLine, megabytesMax); said != 0 {
		size = min(size, said*megabyte)
	}
	return min(size, board.DRAMSizeMax)
}

// checkMemory sets the memory up, or says how much would be needed.
func (k *kernel) checkMemory(size uint32) {
	if k.memory.init(size, k.image.fileEnd, k.image.end) {
		return
	}
	c := &k.console
	c.lastWords()
	c.text(panicPrefix)
	c.text("kernel: ")
	c.decimal(size / megabyte)
	c.text(" MiB of memory are too little, this image needs ")
	c.decimal((k.image.fileEnd - board.DRAM + framesMin*pageSize + megabyte - 1) / megabyte)
	c.text("\n")
	k.dying = dyingMark
	k.reset()
}

// startProgram makes thread 0.
func (k *kernel) startProgram() {
	s, t := &k.sched, &k.threads[0]
	s.quantum = int32(k.clock.hz / quantaPerSecond)
	s.grain = uint64(k.clock.hz / grainsPerSecond)
	s.charged = timer.Counter()
	*t = thread{used: true, left: s.quantum, alt: altStack{flags: altDisabled}}
	t.pc, t.cpsr = runtimeEntry(), modeSystem
	t.regs[13] = k.startStack()
	s.runnable, s.alive = set(0), 1
	k.setCurrent(0)
	k.armTimer(s.charged)
	s.started = timer.Counter()
}
