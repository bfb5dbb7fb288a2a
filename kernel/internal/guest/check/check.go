//go:build arm

// Package check is what a program on this kernel may rely on, as checks that a guest runs on the
// machine itself: each tries one thing that the Go runtime, or a driver, asks of the kernel, and
// says what is wrong. Those of Lasting may be run at the same time and again and again. The package
// prints nothing but what a check needs a host for, and decides nothing: the guests print, the
// host's tests judge.
package check

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// Check is one property. Run returns a detail worth printing, or what is wrong.
type Check struct {
	Name string
	Run  func() (string, error)
}

// All is every check, in the order in which they work.
var All = []Check{
	{"arguments and environment", arguments},
	{"runtime settings", settings},
	{"channels", channels},
	{"timers", timers},
	{"garbage collection", collection},
	{"demand-zero memory", demandZero},
	{"scattered mappings", scattered},
	{"memory given back", givenBack},
	{"zeroed sections", zeroedSections},
	{"recovered faults", recoveredFaults},
	{"deep stacks", deepStacks},
	{"locked threads", lockedThreads},
	{"preemption of loops without calls", preemption},
	{"floating point across preemption", floatingPoint},
	{"clock", clock},
	{"clock set", clockSet},
	{"interrupt files", interrupts},
	{"console input", consoleInput},
	{"bad pointers", badPointers},
	{"bad calls", badCalls},
	{"random calls", randomCalls},
	{"write and execute", writeExecute},
	{"unmapped registers", unmappedRegisters},
	{"random numbers", randomNumbers},
	{"seed", seed},
	{"figures", figures},
}

// Lasting is the checks that can run beside each other and for ever.
var Lasting = []Check{
	{"garbage collection", collection},
	{"recovered faults", recoveredFaults},
	{"deep stacks", deepStacks},
	{"preemption of loops without calls", preemption},
	{"floating point across preemption", floatingPoint},
	{"channels", channels},
	{"bad pointers", badPointers},
	{"random calls", randomCalls},
	{"random numbers", randomNumbers},
}

// Protected is Run, but that a panic of the check is its failure.
func (c Check) Protected() (detail string, err error) {
	defer func() {
		if r := recover(); r != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", r, buf[:runtime.Stack(buf, false)])
		}
	}()
	return c.Run()
}

var errNoFault = errors.New("nothing happened")

// fault runs f and returns the runtime error that it ends in.
func fault(f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		e, ok := r.(runtime.Error)
		if !ok {
			err = fmt.Errorf("%w, recovered %v", errNoFault, r)
			return
		}
		err = e
	}()
	f()
	return errNoFault
}
