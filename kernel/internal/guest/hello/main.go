// Hello is the smallest program on the kernel: it says in how much memory it runs, and, in QEMU's
// -icount shift=0, how many instructions it took to get here.
package main

import (
	"fmt"
	"os"

	"holdfast/kernel/sys"
)

// instructionsPerTick is what a counter tick of 16 ns is under -icount shift=0.
const instructionsPerTick = 16

func main() {
	now := sys.Counter()
	s := sys.ReadStats()
	fmt.Println("hello", os.Args[1:], "in", s.RAM>>20, "MiB")
	fmt.Printf("instructions: kernel %d, main %d\n",
		(s.Started-s.Entered)*instructionsPerTick, (now-s.Entered)*instructionsPerTick)
}
