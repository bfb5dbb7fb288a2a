package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// PID returns QEMU's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Starved returns for how long, since it began, the guest's processor has been ready to run while
// this host ran something else; 0 where the host does not count it (sched-stats.rst of Linux's
// documentation of its scheduler). The guest makes no headway meanwhile, and its clock goes on. Its
// processor is the thread of QEMU's that has run most.
func (p *Process) Starved() time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.PID()))
	var most, starved time.Duration
	for _, f := range files {
		text, _ := os.ReadFile(f) // the thread may have ended since
		if ran, waited := scheduled(string(text)); ran > most {
			most, starved = ran, waited
		}
	}
	return starved
}

// scheduled is how long a thread has run and how long it has waited to run: the first two, in
// nanoseconds, of the three numbers of its schedstat.
func scheduled(schedstat string) (ran, waited time.Duration) {
	var slices int
	if n, _ := fmt.Sscan(schedstat, &ran, &waited, &slices); n != 3 {
		return 0, 0
	}
	return ran, waited
}

// Signal sends QEMU a signal; os.ErrProcessDone says that it has ended. SIGKILL is a power cut.
// SIGSTOP and SIGCONT stall it: the guest's counter jumps by the time it was stopped, and a running
// watchdog fires at once. To freeze the guest's time as well, use Pause.
func (p *Process) Signal(signal os.Signal) error { return p.cmd.Process.Signal(signal) }

// Execute runs a QMP command: see qmp.Client.Execute.
func (p *Process) Execute(ctx context.Context, command string, args any) (json.RawMessage, error) {
	return p.qmp.Execute(ctx, command, args)
}

// Pause stops the guest together with its clock, as a hypervisor does (QMP stop). Frames that are
// sent to it wait in QEMU's socket until Resume.
func (p *Process) Pause(ctx context.Context) error {
	_, err := p.Execute(ctx, "stop", nil)
	return err
}

// Resume continues a paused guest (QMP cont).
func (p *Process) Resume(ctx context.Context) error {
	_, err := p.Execute(ctx, "cont", nil)
	return err
}

// Write types b on the console. A guest that does not read its UART leaves it in the socket's
// buffer, some hundred kilobytes; Write fails when there is no room within inputTimeout.
func (p *Process) Write(b []byte) (int, error) {
	if err := p.console.SetWriteDeadline(time.Now().Add(inputTimeout)); err != nil {
		return 0, err
	}
	return p.console.Write(b)
}

// Forwarded returns the address on this host that leads to the guest's TCP port; the zero AddrPort
// when UserNet.Forward does not name the port.
func (p *Process) Forwarded(port uint16) netip.AddrPort { return p.forwards[port] }

// GDB returns the address on this host at which a debugger finds the guest; the zero AddrPort
// without Machine.GDB.
func (p *Process) GDB() netip.AddrPort { return p.gdb }

// Lost counts console bytes that were dropped because Raw or OnLine did not keep up. Who judges by
// the console has to look at it: a line that is missing was not necessarily missing.
func (p *Process) Lost() uint64 { return p.backlog.dropped() }

// Done is closed when QEMU has ended and its last line and event were delivered.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done and tells how QEMU ended.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Kill ends QEMU at once and waits for Done.
func (p *Process) Kill() Exit {
	p.release(errKilled)
	return p.Wait()
}

// Quit asks QEMU to end, kills it when it does not within a few seconds (one that was stopped by a
// signal cannot) or when ctx ends, and waits for Done.
func (p *Process) Quit(ctx context.Context) Exit {
	ctx, cancel := context.WithTimeout(ctx, quitTimeout)
	defer cancel()
	p.Execute(ctx, "quit", nil) // an error means that it is ending already or has to be killed
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
	}
	return p.Wait()
}

// Exit says how QEMU ended.
type Exit struct {
	Code   int            // exit status; -1 when a signal ended it
	Signal syscall.Signal // that signal; 0 when none did
	// Cause is why this package killed it: ErrLimit, or the cause of Start's context; nil when it
	// ended otherwise.
	Cause error
	// Shutdown is the reason in QMP's last SHUTDOWN event: "guest-shutdown" (power-off),
	// "guest-reset" (with NoReboot), "host-qmp-quit"; empty when there was none.
	Shutdown string
	Stderr   string // the last of what QEMU itself wrote
	Lost     uint64 // see Process.Lost
	RawErr   error  // the error for which Machine.Raw got no more; nil when it got everything
}

// String tells the way it ended, and what QEMU said about it, on one line.
func (e Exit) String() string {
	var s string
	switch {
	case e.Signal != 0:
		s = fmt.Sprintf("ended by %v", e.Signal)
	default:
		s = fmt.Sprintf("exit status %d", e.Code)
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	if e.Shutdown != "" {
		s += ", " + e.Shutdown
	}
	if text := strings.TrimSpace(e.Stderr); text != "" {
		s += ": " + strings.ReplaceAll(text, "\n", "; ")
	}
	return s
}

// tail keeps the last maxTail bytes written to it.
type tail struct {
	mu    sync.Mutex
	bytes []byte
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, p...)
	if over := len(t.bytes) - maxTail; over > 0 {
		t.bytes = append(t.bytes[:0], t.bytes[over:]...)
	}
	return len(p), nil
}

// String returns what was kept, without QEMU's remark on the board's second, unconnected NIC, which
// it makes at every start.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var kept strings.Builder
	for line := range strings.Lines(string(t.bytes)) {
		if !strings.Contains(line, "warning: nic "+nicModel) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
