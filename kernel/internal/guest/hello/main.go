// Hello is the smallest program on the kernel: it says that main was reached.
package main

import (
	"fmt"
	"os"

	_ "holdfast/kernel"
)

func main() {
	fmt.Println("hello", os.Args[1:])
}
