//go:build arm

package check

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"holdfast/board"
	"holdfast/kernel/sys"
)

const (
	randomCallsRound = 4000 // of one run
	scratchSize      = 1 << 20
)

// deadly is the calls that do what they should only by ending the program, by making a thread that
// has no code, or by blocking what the runtime needs: a program may do that to itself.
var deadly = []uintptr{
	syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP, syscall.SYS_CLONE, syscall.SYS_RT_SIGRETURN,
	syscall.SYS_KILL, syscall.SYS_TGKILL, syscall.SYS_RT_SIGACTION, syscall.SYS_RT_SIGPROCMASK,
	syscall.SYS_SIGALTSTACK, syscall.SYS_SETITIMER, syscall.SYS_CLOSE, syscall.SYS_SETTIMEOFDAY,
	0x0f4801, 0x0f4802, 0x0f4804, 0x0f4805, // the seed, the generator's key, reset, power off
}

// answers is every error that the kernel gives.
var answers = []syscall.Errno{
	0, syscall.EPERM, syscall.ENOENT, syscall.EINTR, syscall.EBADF, syscall.EAGAIN, syscall.ENOMEM,
	syscall.EFAULT, syscall.EBUSY, syscall.EEXIST, syscall.EINVAL, syscall.EMFILE, syscall.ENOTTY,
	syscall.ESPIPE, syscall.ENOSYS, syscall.ETIMEDOUT,
}

// randomCalls makes system calls of any number with arguments that make little sense. What memory
// they may change is a mapping of their own, and files that the program has no other use for. SEED
// in the environment repeats a run.
func randomCalls() (string, error) {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = s
	}
	r := rand.New(rand.NewPCG(seed, 0))
	scratch, err := guarded(scratchSize)
	if err != nil {
		return "", err
	}
	refused := 0
	for i := range randomCallsRound {
		nr, a := randomCall(r, uintptr(unsafe.Pointer(&scratch[0])))
		_, _, errno := syscall.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		if !slices.Contains(answers, errno) {
			return "", fmt.Errorf("seed %d, call %d: %d%x: %d, %v", seed, i, nr, a, errno, errno)
		}
		if errno != 0 {
			refused++
		}
	}
	if refused < randomCallsRound/2 {
		return "", fmt.Errorf("seed %d: only %d refused", seed, refused)
	}
	if err := unmap(scratch); err != nil {
		return "", fmt.Errorf("seed %d: %w", seed, err)
	}
	sys.ReadStats() // the kernel answers
	return fmt.Sprintf("%d of %d refused", refused, randomCallsRound), nil
}

// guarded is a mapping with a page behind it that nobody may use: what a call writes too much stops
// there.
func guarded(size uintptr) ([]byte, error) {
	b, err := mapping(size + pageSize)
	if err != nil {
		return nil, err
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_MMAP2, uintptr(unsafe.Pointer(&b[size])), pageSize,
		syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_FIXED, ^uintptr(0), 0)
	if errno != 0 {
		return nil, fmt.Errorf("mmap of the guard: %w", errno)
	}
	return b, nil
}

// randomCall is a number and its arguments.
func randomCall(r *rand.Rand, scratch uintptr) (nr uintptr, a [6]uintptr) {
	for {
		switch r.IntN(8) {
		case 0:
			nr = uintptr(r.Uint32())
		case 1:
			nr = 0x0f4800 + uintptr(r.IntN(12))
		default:
			nr = uintptr(r.IntN(460))
		}
		if !slices.Contains(deadly, nr) {
			break
		}
	}
	for i := range a {
		a[i] = harmless(randomArgument(r, scratch), scratch)
	}
	switch nr {
	case syscall.SYS_READ, syscall.SYS_WRITE, syscall.SYS_FCNTL, syscall.SYS_FCNTL64,
		syscall.SYS_EPOLL_CTL, sysEpollPwait, syscall.SYS_FSTAT64:
		a[0] = 40 + uintptr(r.IntN(1000)) // nobody's, most of them nothing's
	case syscall.SYS_MMAP2, syscall.SYS_MUNMAP, syscall.SYS_MADVISE:
		// What is given back or cleared is the scratch or not the pool's: the heap is the program's.
		a[0] = scratch + uintptr(r.IntN(scratchSize/4096))*4096 + uintptr(r.IntN(2)*r.IntN(4096))
		a[1] = uintptr(r.IntN(scratchSize / 2))
		if nr == syscall.SYS_MUNMAP || r.IntN(2) == 0 {
			a[0] = board.DRAM + uintptr(r.IntN(board.Image-board.DRAM))
			a[1] = uintptr(r.Uint32())
		} else if a[0]+a[1] > scratch+scratchSize {
			a[1] = scratch + scratchSize - a[0]
		}
		if nr == syscall.SYS_MMAP2 {
			a[3] |= syscall.MAP_FIXED
		}
	case syscall.SYS_FUTEX, sysFutexTime64, syscall.SYS_NANOSLEEP:
		a[0] = 0x60000000 + uintptr(r.IntN(1<<20)) // nobody sleeps for ever
	case sysEventfd2: // one that blocks, which does not exist
		a[1] = 0
	case syscall.SYS_OPEN, syscall.SYS_OPENAT, sysEpollCreate1:
		a[0], a[1] = uintptr(r.IntN(4096)), uintptr(r.IntN(4096)) // no file that stays open
	}
	return nr, a
}

// harmless moves an address of the program's own memory to where nothing is, but for the scratch's.
func harmless(a, scratch uintptr) uintptr {
	const stack, stackEnd = board.DRAM + 0x40000, board.DRAM + 0x80000 // thread 0's
	switch {
	case a >= scratch && a < scratch+scratchSize:
	case a >= stack && a < stackEnd, a >= board.DMA && a < board.DRAM+board.DRAMSizeMax:
		return a ^ 1<<30
	}
	return a
}

// randomArgument is a number, an address, or something that is neither.
func randomArgument(r *rand.Rand, scratch uintptr) uintptr {
	switch r.IntN(8) {
	case 0:
		return uintptr(r.IntN(8))
	case 1:
		return uintptr(r.IntN(1 << 16))
	case 2:
		return uintptr(r.Uint32())
	case 3:
		return scratch + uintptr(r.IntN(scratchSize-64))
	case 4:
		return 1 << r.IntN(32)
	case 5:
		return ^uintptr(0) << r.IntN(32)
	case 6:
		return board.DRAM + uintptr(r.IntN(0x180000))
	default:
		return uintptr(r.Uint32()) &^ 0xfff
	}
}
