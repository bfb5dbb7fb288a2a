// Hello is the smallest program on the kernel. It prints the counter at main, which under QEMU's
// -icount shift=0 says how many instructions it took to get there.
package main

import (
	"fmt"
	"os"

	"holdfast/kernel/sys"
)

func main() {
	at := sys.Counter()
	s := sys.ReadStats()
	fmt.Println("hello", os.Args[1:], "started", s.Started-s.Entered, "main", at-s.Entered, "touched", s.PagesTouched, "in use", s.PagesInUse)
}
