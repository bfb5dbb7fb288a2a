package qemu

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperImage is set for the child that TestQEMUDiesWithItsParent kills: the image it starts.
const helperImage = "HOLDFAST_QEMU_TEST_IMAGE"

func TestMain(m *testing.M) {
	if image := os.Getenv(helperImage); image != "" {
		startAndWait(image)
	}
	os.Exit(m.Run())
}

// startAndWait is the child's program: it starts a machine, prints its process id, and waits.
func startAndWait(image string) {
	p, err := Start(context.Background(), Machine{Image: image, Limit: testLimit})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	p.Wait()
	os.Exit(1)
}

func TestQEMUDiesWithItsParent(t *testing.T) {
	boots(t)
	// QEMU becomes this process's child when its parent is gone, so that its end can be waited for
	// and its reason be known.
	const setChildSubreaper = 36 // prctl(2)
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		t.Fatal(errno)
	}
	defer syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 0, 0)

	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), helperImage+"="+guest(t, "", spin))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := spawn(parent); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent says %q", line)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()

	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		state, err := child.Wait()
		if err == nil && state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			err = fmt.Errorf("QEMU ended: %v", state)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testLimit / 4):
		child.Kill()
		t.Fatal("QEMU lives on without its parent")
	}
}

func TestQEMUOutlivesTheThreadThatAskedForIt(t *testing.T) {
	boots(t)
	lines := make(chan string, 16)
	m := Machine{
		Image:  guest(t, "ready\n", echo),
		Limit:  testLimit,
		OnLine: func(_ time.Time, line string) { lines <- line },
	}
	var p *Process
	var err error
	thread := onDyingThread(func() { p, err = Start(t.Context(), m) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(filepath.Join("/proc/self/task", strconv.Itoa(thread)))
		return os.IsNotExist(err)
	})
	get(t, lines, "ready")
	if _, err := p.Write([]byte("alive\n")); err != nil {
		t.Fatal(err)
	}
	if line := get(t, lines, "the echo"); line != "alive" {
		t.Errorf("echo %q", line)
	}
}

// onDyingThread calls f on an OS thread that then ends, and returns the thread's number. A thread
// ends with a goroutine that is locked to it; only the first one of a program is kept.
func onDyingThread(f func()) (thread int) {
	result := make(chan int)
	go func() {
		runtime.LockOSThread()
		if syscall.Gettid() == syscall.Getpid() {
			defer runtime.UnlockOSThread()
			result <- onDyingThread(f) // this thread is taken, so that it gets another
			return
		}
		f()
		result <- syscall.Gettid()
	}()
	return <-result
}
