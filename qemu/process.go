package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"holdfast/qemu/qmp"
)

const (
	// startTimeout bounds the time from the child's start to the guest's first instruction. It
	// takes 0.1 s on a quiet machine.
	startTimeout = 30 * time.Second
	// quitTimeout is how long QEMU may take to end when asked to, before it is killed.
	quitTimeout = 5 * time.Second
	// inputTimeout bounds Write: a guest that does not read its UART takes nothing.
	inputTimeout = 5 * time.Second
	// afterlife bounds the reading of sockets and pipes after QEMU has ended. The kernel closes
	// them with the process, so that it only matters if something else inherited them.
	afterlife = 2 * time.Second
)

// ErrLimit is the cause of an Exit by Machine.Limit.
var ErrLimit = errors.New("time limit reached")

// errKilled is the cause for which Kill ends a machine's context; it is not worth an Exit.Cause.
var errKilled = errors.New("killed")

// Process is a started machine. Its methods may be called from any goroutine, also from the
// machine's callbacks; from these, only Wait and Quit must not be, since they wait for them.
type Process struct {
	name     string
	cmd      *exec.Cmd
	console  net.Conn
	qmp      *qmp.Client
	backlog  *backlog
	stderr   *tail
	forwards forwards
	gdb      netip.AddrPort
	ctx      context.Context // ends when QEMU is to be killed, with the cause
	release  context.CancelCauseFunc

	drained chan struct{} // closed when the last line was delivered
	rawErr  error         // Raw's error; valid once drained is closed

	mu       sync.Mutex
	shutdown string // the reason in the last SHUTDOWN event

	done chan struct{}
	exit Exit // valid once done is closed
}

// Start starts m and returns when its guest runs, or with GDB when its debugger can come. ctx
// bounds the start and then the whole life: when it ends, QEMU is killed. ErrNoQEMU, wrapped, says
// that there is no emulator.
func Start(ctx context.Context, m Machine) (*Process, error) {
	p, err := start(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("qemu %s: %w", m.name(), err)
	}
	return p, nil
}

func start(ctx context.Context, m Machine) (*Process, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	if m.Binary == "" {
		path, err := Find()
		if err != nil {
			return nil, err
		}
		m.Binary = path
	}
	for i, l := range m.Loads {
		if err := os.WriteFile(m.loadFile(i), l.Data, 0o600); err != nil {
			return nil, fmt.Errorf("memory contents for %#x: %w", l.Addr, err)
		}
	}
	p, control, err := launch(ctx, &m)
	if err != nil {
		return nil, err
	}
	if err := p.connect(control, &m); err != nil {
		if errors.Is(err, qmp.ErrClosed) { // QEMU is ending by itself: let it say why
			select {
			case <-p.done:
			case <-time.After(afterlife):
			}
		}
		p.release(err)
		control.Close()
		<-p.done
		return nil, fmt.Errorf("%w (%v)", err, p.exit)
	}
	return p, nil
}

// launch starts QEMU, stopped, with everything that serves it but the QMP client, and returns the
// connection for that.
func launch(ctx context.Context, m *Machine) (*Process, net.Conn, error) {
	console, consoleEnd, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer consoleEnd.Close()
	control, controlEnd, err := socketPair()
	if err != nil {
		console.Close()
		return nil, nil, err
	}
	defer controlEnd.Close()

	const firstExtra = 3 // the child's descriptor for ExtraFiles[0]
	args, err := m.args(firstExtra, firstExtra+1)
	p := &Process{
		name:    m.name(),
		console: console,
		backlog: newBacklog(),
		stderr:  new(tail),
		drained: make(chan struct{}),
		done:    make(chan struct{}),
	}
	if err == nil {
		p.cmd = exec.Command(m.Binary, args...)
		p.cmd.ExtraFiles = []*os.File{consoleEnd, controlEnd}
		p.cmd.Stdout, p.cmd.Stderr = p.stderr, p.stderr
		p.cmd.WaitDelay = afterlife
		err = spawn(p.cmd)
	}
	if err != nil {
		console.Close()
		control.Close()
		return nil, nil, err
	}
	go drain(console, p.backlog)
	go func() {
		defer close(p.drained)
		p.rawErr = deliver(p.backlog, m.Raw, m.OnLine)
	}()
	limited, cancel := context.WithTimeoutCause(ctx, m.Limit, ErrLimit)
	p.ctx, p.release = context.WithCancelCause(limited)
	context.AfterFunc(p.ctx, func() { p.cmd.Process.Kill() }) // an ended process needs none
	go func() {
		defer cancel()
		p.reap()
	}()
	return p, control, nil
}

// connect attaches the QMP client, asks for what Start has to report, and lets the guest run.
func (p *Process) connect(control net.Conn, m *Machine) error {
	ctx, cancel := context.WithTimeoutCause(p.ctx, startTimeout,
		fmt.Errorf("not started within %v", startTimeout))
	defer cancel()
	client, err := qmp.New(ctx, control, func(e qmp.Event) {
		p.note(e)
		if m.OnEvent != nil {
			m.OnEvent(e.At, e.Name, e.Data)
		}
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.qmp = client
	p.mu.Unlock()
	if user, ok := m.Net.(UserNet); ok && len(user.Forward) > 0 {
		if p.forwards, err = askForwards(ctx, client, user.Forward); err != nil {
			return err
		}
	}
	if m.GDB { // the debugger lets it run
		p.gdb, err = askGDB(ctx, client)
		return err
	}
	_, err = client.Execute(ctx, "cont", nil)
	return err
}

// note keeps the reason of a SHUTDOWN event for the Exit.
func (p *Process) note(e qmp.Event) {
	if e.Name != "SHUTDOWN" {
		return
	}
	var data struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(e.Data, &data) == nil {
		p.mu.Lock()
		p.shutdown = data.Reason
		p.mu.Unlock()
	}
}

// reap waits for QEMU's end and for the delivery of everything it left, and reports it.
func (p *Process) reap() {
	waitErr := p.cmd.Wait()
	state := p.cmd.ProcessState
	cause := context.Cause(p.ctx)
	p.release(errKilled)

	p.console.SetReadDeadline(time.Now().Add(afterlife))
	<-p.drained
	p.console.Close()
	p.mu.Lock()
	client := p.qmp
	p.mu.Unlock()
	if client != nil {
		select {
		case <-client.Done():
		case <-time.After(afterlife):
			client.Close()
			<-client.Done()
		}
	}

	p.exit = Exit{Code: state.ExitCode(), Cause: cause, Stderr: p.stderr.String(), RawErr: p.rawErr}
	p.exit.Lost = p.backlog.dropped()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.Signal = status.Signal()
	}
	if p.exit.Signal != syscall.SIGKILL || errors.Is(cause, errKilled) {
		p.exit.Cause = nil // it ended by itself before a kill could reach it, or Kill was called
	}
	if errors.Is(waitErr, exec.ErrWaitDelay) {
		p.exit.Stderr += "[output cut: something else held the pipe]\n"
	}
	p.mu.Lock()
	p.exit.Shutdown = p.shutdown
	p.mu.Unlock()
	close(p.done)
}

// socketPair returns a connected pair: a connection for this program, a file for the child.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	ours := os.NewFile(uintptr(fds[0]), "qemu socket")
	defer ours.Close() // FileConn makes its own descriptor
	theirs := os.NewFile(uintptr(fds[1]), "qemu socket, child's end")
	conn, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return conn, theirs, nil
}
