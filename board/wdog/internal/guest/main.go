// Guest proves the watchdog on the machine itself. Every line it prints is a fact that the test
// beside it looks for, and in the end the board is reset:
//
//	(no argument)  armed for two seconds, fed for four, then left to starve
//	-panic         armed for two minutes; a panic must reset the board all the same
package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"holdfast/board"
	"holdfast/board/wdog"
	_ "holdfast/kernel" // links the kernel into this program
)

func main() {
	const dog = wdog.Watchdog(board.WDOG1)
	if slices.Contains(os.Args, "-panic") {
		dog.Start(wdog.TimeoutMax)
		panic("on purpose")
	}
	dog.Start(4)
	start := time.Now()
	for time.Since(start) < 4*time.Second {
		time.Sleep(200 * time.Millisecond)
		dog.Service()
	}
	fmt.Println("fed for 4 s")
	for {
		time.Sleep(time.Hour) // the runtime would end a program that waits for nothing
	}
}
