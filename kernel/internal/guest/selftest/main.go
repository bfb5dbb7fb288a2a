//go:build arm

// Selftest runs on the bare machine and tries everything that the runtime asks of the kernel. It
// prints one line for each check, "ok NAME: DETAIL" or "FAIL NAME: REASON", then a line with the
// counts, and ends with exit status 0 if nothing failed. The kernel's boot test judges the lines.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// check is one property. It returns a detail worth printing, or what is wrong.
type check struct {
	name string
	run  func() (string, error)
}

var checks = []check{
	{"arguments and environment", arguments},
	{"runtime settings", settings},
	{"channels", channels},
	{"timers", timers},
	{"garbage collection", collection},
	{"demand-zero memory", demandZero},
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
	{"write and execute", writeExecute},
	{"unmapped registers", unmappedRegisters},
	{"random numbers", randomNumbers},
	{"seed", seed},
	{"figures", figures},
}

func main() {
	only := os.Getenv("ONLY")
	ok, failed := 0, 0
	for _, c := range checks {
		if only != "" && !strings.Contains(c.name, only) {
			continue
		}
		detail, err := c.protect()
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %v\n", c.name, err)
			continue
		}
		ok++
		fmt.Printf("ok %s: %s\n", c.name, detail)
	}
	fmt.Printf("selftest: %d ok, %d failed\n", ok, failed)
	if failed != 0 {
		os.Exit(1)
	}
}

// protect turns a panic of the check into its failure.
func (c check) protect() (detail string, err error) {
	defer func() {
		if r := recover(); r != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", r, buf[:runtime.Stack(buf, false)])
		}
	}()
	return c.run()
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
