//go:build arm

package check

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"holdfast/board"
	"holdfast/kernel/sys"
)

// Numbers that package syscall's list for ARM lacks.
const (
	sysFutexTime64  = 422
	sysEpollPwait   = 346
	sysEventfd2     = 356
	sysEpollCreate1 = 357
	sysGetrandom    = 384
)

// pointerCall is a system call that is given a pointer: its number and its arguments, of which bad
// stands for the pointer, poller for the netpoller's epoll set and event for an eventfd.
type pointerCall struct {
	name    string
	number  uintptr
	args    [4]uintptr
	nilIsOK bool // nil means "none"
}

const (
	bad    = 0xbad00001
	poller = 0xbad00002
	event  = 0xbad00003
	word   = 0xbad00004 // a good pointer to a zero
)

var pointerCalls = []pointerCall{
	{"write", syscall.SYS_WRITE, [4]uintptr{1, bad, 4}, false},
	{"read", syscall.SYS_READ, [4]uintptr{event, bad, 8}, false},
	{"write eventfd", syscall.SYS_WRITE, [4]uintptr{event, bad, 8}, false},
	{"futex wait", sysFutexTime64, [4]uintptr{bad, 128, 0, 0}, false},
	{"futex timeout", sysFutexTime64, [4]uintptr{word, 128, 0, bad}, true},
	{"epoll_ctl", syscall.SYS_EPOLL_CTL, [4]uintptr{poller, 1, event, bad}, false},
	{"epoll_pwait", sysEpollPwait, [4]uintptr{poller, bad, 4, 0}, false},
	{"nanosleep", syscall.SYS_NANOSLEEP, [4]uintptr{bad}, false},
	{"clock_gettime", syscall.SYS_CLOCK_GETTIME, [4]uintptr{1, bad}, false},
	{"settimeofday", syscall.SYS_SETTIMEOFDAY, [4]uintptr{bad}, false},
	{"getrandom", sysGetrandom, [4]uintptr{bad, 8}, false},
	{"uname", syscall.SYS_UNAME, [4]uintptr{bad}, false},
	{"open", syscall.SYS_OPEN, [4]uintptr{bad}, false},
	{"fstat", syscall.SYS_FSTAT64, [4]uintptr{1, bad}, false},
	{"sigaction", syscall.SYS_RT_SIGACTION, [4]uintptr{10, bad, 0, 8}, true},
	{"old sigaction", syscall.SYS_RT_SIGACTION, [4]uintptr{10, 0, bad, 8}, true},
	{"sigprocmask", syscall.SYS_RT_SIGPROCMASK, [4]uintptr{0, bad, 0, 8}, true},
	{"old sigprocmask", syscall.SYS_RT_SIGPROCMASK, [4]uintptr{0, 0, bad, 8}, true},
	{"sigaltstack", syscall.SYS_SIGALTSTACK, [4]uintptr{0, bad}, true},
	{"setitimer", syscall.SYS_SETITIMER, [4]uintptr{2, bad}, false},
	{"prlimit64", syscall.SYS_PRLIMIT64, [4]uintptr{0, 7, 0, bad}, true},
	{"sched_getaffinity", syscall.SYS_SCHED_GETAFFINITY, [4]uintptr{0, 64, bad}, false},
}

var badAddresses = map[string]uintptr{
	"nil":            0,
	"hole":           0x60000000,
	"registers":      board.UART1,
	"kernel state":   board.DRAM + 0x1a000,
	"page tables":    board.DRAM + 0x80000,
	"behind it all":  board.DRAM + board.DRAMSizeMax,
	"top":            0xfffffffe,
	"kernel's stack": board.DRAM + 0x13ff0,
}

// A bad pointer in a system call is EFAULT, whatever it points to and whoever gets it.
func badPointers() (string, error) {
	eventfd, _, errno := syscall.Syscall(sysEventfd2, 7, syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return "", errno
	}
	defer syscall.Close(int(eventfd))
	var zero uint32
	n := 0
	for name, address := range badAddresses {
		for _, c := range pointerCalls {
			if address == 0 && c.nilIsOK {
				continue
			}
			a := c.args
			for i, v := range a {
				switch v {
				case bad:
					a[i] = address
				case poller:
					a[i] = netpoller()
				case event:
					a[i] = eventfd
				case word:
					a[i] = uintptr(unsafe.Pointer(&zero))
				}
			}
			r, _, errno := syscall.RawSyscall6(c.number, a[0], a[1], a[2], a[3], 0, 0)
			if errno != syscall.EFAULT {
				return "", fmt.Errorf("%s with %s: %d, %v", c.name, name, r, errno)
			}
			n++
		}
	}
	text := **(**uintptr)(unsafe.Pointer(ptrTo(badPointers)))
	if _, _, errno := syscall.RawSyscall(sysGetrandom, text, 8, 0); errno != syscall.EFAULT {
		return "", fmt.Errorf("getrandom into code: %v", errno)
	}
	return fmt.Sprintf("%d refused", n), nil
}

// ptrTo is the address of a function value.
func ptrTo(f func() (string, error)) *func() (string, error) { return &f }

// netpoller is the descriptor of the runtime's epoll set: the one that epoll_ctl does not call a
// bad descriptor or not an epoll set.
func netpoller() uintptr {
	for fd := uintptr(3); fd < 64; fd++ {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, fd, syscall.EPOLL_CTL_DEL, fd, 0, 0, 0)
		if errno == syscall.EPERM {
			return fd
		}
	}
	panic("no epoll set")
}

// Calls that make no sense get an error number, and the unknown ones are named on the console.
func badCalls() (string, error) {
	for _, tt := range []struct {
		name string
		nr   uintptr
		a    [4]uintptr
		want syscall.Errno
	}{
		{"a call that does not exist", 123, [4]uintptr{}, syscall.ENOSYS},
		{"the same again", 123, [4]uintptr{}, syscall.ENOSYS},
		{"a number beyond all", 0x12345678, [4]uintptr{}, syscall.ENOSYS},
		{"fork", syscall.SYS_CLONE, [4]uintptr{uintptr(syscall.SIGCHLD)}, syscall.ENOSYS},
		{"read of a closed file", syscall.SYS_READ, [4]uintptr{63, 0, 0}, syscall.EBADF},
		{"read of no file", syscall.SYS_READ, [4]uintptr{1 << 31, 0, 0}, syscall.EBADF},
		{"write to the keyboard", syscall.SYS_WRITE, [4]uintptr{0, 0, 0}, syscall.EBADF},
		{"a second epoll set", sysEpollCreate1, [4]uintptr{}, syscall.EMFILE},
		{"executable memory", syscall.SYS_MMAP2,
			[4]uintptr{0, 4096, syscall.PROT_EXEC, syscall.MAP_ANON}, syscall.EPERM},
		{"memory of a file", syscall.SYS_MMAP2,
			[4]uintptr{0, 4096, syscall.PROT_READ, 0}, syscall.EINVAL},
		{"memory over the kernel", syscall.SYS_MMAP2, [4]uintptr{board.DRAM, 4096, syscall.PROT_READ,
			syscall.MAP_ANON | syscall.MAP_FIXED}, syscall.ENOMEM},
		{"more memory than there is", syscall.SYS_MMAP2,
			[4]uintptr{0, 1 << 31, syscall.PROT_READ, syscall.MAP_ANON}, syscall.ENOMEM},
		{"unmap of the image", syscall.SYS_MUNMAP, [4]uintptr{board.Image, 4096}, syscall.EINVAL},
		{"a signal that does not exist", syscall.SYS_TGKILL, [4]uintptr{1, 1, 65}, syscall.EINVAL},
		{"a thread that does not exist", syscall.SYS_TGKILL, [4]uintptr{1, 0, 23}, syscall.EINVAL},
		{"no handler for SIGKILL", syscall.SYS_RT_SIGACTION, [4]uintptr{9, 1, 0, 8}, syscall.EINVAL},
		{"a clock that does not exist", syscall.SYS_CLOCK_GETTIME, [4]uintptr{99, 0}, syscall.EINVAL},
	} {
		r, _, errno := syscall.RawSyscall6(tt.nr, tt.a[0], tt.a[1], tt.a[2], tt.a[3], ^uintptr(0), 0)
		if errno != tt.want {
			return "", fmt.Errorf("%s: %d, %v; want %v", tt.name, r, errno, tt.want)
		}
	}
	return "all refused", nil
}

func randomNumbers() (string, error) {
	var a, b [1000]byte // more than the kernel generates at a time
	rand.Read(a[:])
	rand.Read(b[:])
	if a == b || bytes.Contains(b[:], a[:16]) || isZero(a[:32]) || isZero(a[len(a)-32:]) {
		return "", errors.New("the generator repeats itself")
	}
	return fmt.Sprintf("%x...", a[:4]), nil
}

// kernelRanges is what of the kernel's megabyte is mapped and holds data.
var kernelRanges = []struct{ start, end uintptr }{
	{board.SeedPage, board.BootPage + pageSize},
	{board.DRAM + 0x10000, board.DRAM + 0x14000}, // the kernel's stack
	{board.DRAM + 0x1a000, board.DRAM + 0x3f000}, // its state
	{board.DRAM + 0x40000, board.DRAM + 0x80000}, // thread 0's stack
}

// The seed can be taken once, and stands nowhere afterwards.
func seed() (string, error) {
	s, ok := sys.TakeSeed()
	if !ok {
		return "", errors.New("the loader left none")
	}
	want := [board.SeedSize]byte([]byte("selftest seed selftest seed 0123"))
	if s != want {
		return "", fmt.Errorf("seed %q", s)
	}
	if _, ok := sys.TakeSeed(); ok {
		return "", errors.New("it could be taken twice")
	}
	needle := bytes.Clone(want[:16])
	for _, r := range kernelRanges {
		if i := bytes.Index(unsafe.Slice(at[byte](r.start), r.end-r.start), needle); i >= 0 {
			return "", fmt.Errorf("a copy stands at %#x", r.start+uintptr(i))
		}
	}
	sys.Rekey(&s)
	return "taken once", nil
}

func figures() (string, error) {
	s := sys.ReadStats()
	if s.RAM != sys.RAM() || s.RAM%(1<<20) != 0 || s.Started <= s.Entered {
		return "", fmt.Errorf("RAM %#x, entered %d, started %d", s.RAM, s.Entered, s.Started)
	}
	if s.Switches == 0 || s.Interrupts == 0 || s.Threads < 3 || s.IdleTicks > sys.Counter() {
		return "", fmt.Errorf("switches %d, interrupts %d, threads %d, idle %d",
			s.Switches, s.Interrupts, s.Threads, s.IdleTicks)
	}
	calls := 0
	for _, n := range s.Calls {
		calls += int(n)
	}
	return fmt.Sprintf("%d switches, %d interrupts, %d signals, %d threads, %d calls, %d pages",
		s.Switches, s.Interrupts, s.Signals, s.Threads, calls, s.PagesTouched), nil
}
