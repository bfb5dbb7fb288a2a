package qemu

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner returns the queue of the one OS thread that starts every child.
//
// PR_SET_PDEATHSIG, which kills a child when its parent dies, watches the *thread* that forked, not
// the process. Go ends threads (a goroutine that exits while locked to one takes it along), and a
// child started from such a thread would die at random. So one goroutine, locked to its thread and
// never ending, does every start.
var spawner = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// spawn starts cmd as a child that the kernel kills when this program ends, however it ends. The
// child gets a process group of its own, so that a Ctrl-C at the terminal reaches this program
// alone, which then ends its children in order.
func spawn(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	result := make(chan error)
	spawner() <- func() { result <- cmd.Start() }
	return <-result
}
