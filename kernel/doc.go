// Package kernel runs an unmodified Go program, built for GOOS=linux GOARCH=arm by the stock
// toolchain, on a board with no operating system. The Go runtime keeps making Linux system calls;
// this package, linked into the same image and entered first, answers the few that it makes.
//
// To be used it only has to be imported; package kernel/sys has what a program may ask of it. All
// code here runs in the processor's SVC mode with interrupts masked, runs to completion, and never
// nests or blocks. It knows nothing of networks, of the mesh, or of any device but the console, the
// interrupt controller, the timer, and the two ways to end. Drivers are ordinary goroutine code
// with interrupts as files.
//
// # The way through the code
//
//	entry_arm.s   from reset to boot, from exceptions to trap, back to a thread
//	boot.go       the order of start, one call a line
//	silicon.go    what it takes on the chip and not in QEMU
//	trap.go       what an exception means       syscall.go  the table of system calls
//	thread.go     threads, clone, long calls    sched.go    which thread runs  queue.go  their order
//	futex.go      sleeping on a word            timer.go    deadlines          clock.go  time
//	memory.go     frames at the first touch     mmap.go     the calls for it
//	pagemap.go    sets of pages
//	mmu.go        page tables and protection    user.go     pointers from the program
//	file.go       descriptors                   epoll.go    who is ready       irqfile.go  interrupts
//	console.go    what goes out                 keyboard.go what comes in
//	interrupt.go  the interrupt controller
//	signal.go     signals                       sigframe.go what a handler finds on its stack
//	vdso.go       the clock without a trap      random.go   getrandom
//	image.go      the program's segments        args.go     arguments, environment, auxiliary vector
//	epitaph.go    what a crash leaves for the next boot
//	masked.go     how long interrupts are masked
//	settings.go   the Go runtime's settings     end.go      every way to end   figures.go  counters
//	kernel.go     all data                      layout.go   all addresses
//	cpu_arm.s     what Go can not say           cpu_host.go the same for tests on the host
//
// # Memory
//
//	0x00a00000  interrupt controller          device, XN
//	0x02000000  peripherals, 3 MB             device, XN
//	0x80000000  L1 page table                 16 KiB
//	0x80004000  vectors                       RX
//	0x80005000  clock data for the vDSO       RW
//	0x80006000  vDSO; signal return           RX
//	0x80008000  seed; arguments               RW, written by the loader
//	0x8000a000  epitaph of a crash, 12 KiB    RW, XN, not cached; survives a reset
//	0x80010000  kernel stack, 16 KiB          RW, a guard page below
//	0x80018000  fault stack, 8 KiB            RW, a guard page below
//	0x8001a000  the kernel struct             RW: all data of the kernel
//	0x80040000  thread 0's stack, 256 KiB     RW, a guard page below
//	0x80080000  L2 page tables, 512 KiB       RW: for 512 MB of addresses
//	0x80100000  DMA pool, 1 MB                RW, XN, not cached
//	0x80200000  image                         RX, R, RW as the linker says; zeros at first touch
//	behind it   pool of mmap, to 0xa0000000   RW, XN, at first touch
//
// What is not listed is not mapped, page 0 included. Addresses up to the end of the image's loaded
// part are physical addresses. Behind that a page has whatever frame was free when it was touched.
//
// # Exceptions
//
// While a thread runs, SP_svc points into its thread struct, so that a vector saves everything
// without a register to spare:
//
//	threads[i].pc     <- SRSDB sp, #SVC stores the return address and the status register
//	          .cpsr      in the two words below SP_svc
//	          .regs   <- SP_svc: STMIA sp, {r0-r14}^ stores the registers of the user bank
//	          .fp        only when another thread gets the processor, and in signal frames
//
// The way back is CLREX; LDMIA sp, {r0-r14}^; RFEDB sp. The program runs in System mode, which is
// privileged and has the registers of user mode: drivers need no call to reach their device. So
// kernel and program are one domain of trust; protection is against mistakes, not against malice.
//
// Data aborts, instruction aborts and undefined instructions can also happen to the kernel. Their
// vectors look at the mode they came from before they touch a stack; a fault of the kernel is
// reported on a stack of its own, and the board is reset.
//
// # Rules for code in this package
//
// The g register points at a dummy (see dummyG): stack checks work, everything that wants an M or
// the heap faults. Therefore:
//
//   - no allocation, no map, channel, defer, panic, print, interface call, escaping closure;
//   - no pointer stored outside the stack: a write barrier would look for g.m. The kernel struct
//     holds indices and addresses as uint32;
//   - no variable: see TestTheKernelHasNoVariables;
//   - no floating point: its registers are the running thread's;
//   - no 64-bit division, which is long and in software: multiply and shift;
//   - no dereference of an address that came from the program but after readable or writable;
//   - no loop whose length the program decides: do a piece and call pause. No entry masks
//     interrupts for more than some 25,000 instructions;
//   - a broken invariant ends in die, which prints "panic: kernel: ..." and resets.
//
// TestTheKernelCallsNothingThatMayNotRunInItsMode follows every call in the built image and holds
// the code to the first four.
//
// # System calls
//
// Numbers and arguments are Linux's for ARM EABI, so are the errors. What is special:
//
//	mmap2            anonymous only, never executable. Promises no more than there are frames.
//	                 256 MB and more: ENOMEM
//	munmap, madvise  the pool only. MADV_DONTNEED gives zeros, other advice does nothing
//	clone            threads only; 64 at most
//	futex            WAIT and WAKE; futex_time64 too
//	epoll            one set; eventfds, interrupts, the keyboard; edge- and level-triggered
//	eventfd2         non-blocking only
//	read             0 is the keyboard, non-blocking; eventfds; interrupts: see irqfile.go
//	write            1 and 2 are the console, which may wait for room: see console.go; eventfds
//	open             /dev/null, /dev/irq/N for N of 32 and more
//	rt_sig*, tgkill  as Linux; frames on the alternate stack; SIGSEGV, SIGBUS and SIGILL for
//	                 faults; setitimer for the profiler
//	clock_gettime    also in the vDSO; settimeofday moves the time of day only
//	getrandom        never waits; see random.go on what the seed is
//	prlimit64        64 files, whatever was asked
//	access, stat, readlink, getcwd, ...   there is no file system: ENOENT
//	prctl, mincore, ioctl, _llseek, timer_create, ...   what the runtime can do without
//	exit_group       status 0 switches the board off, another one resets it
//	0x0f4801...      package kernel/sys: see figures.go
//
// Every other number is ENOSYS, and the console names it once.
//
// # Ends
//
// The program's return from main switches the board off. Every other end, of the program or of the
// kernel, shows exactly one console line that starts with "panic: ", a trace where there is one to
// show, and resets the board: see end.go. The next boot finds them in memory: see epitaph.go.
package kernel
