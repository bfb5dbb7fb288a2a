//go:build arm

// Selftest runs every check of package check on the bare machine. It prints one line for each, "ok
// NAME: DETAIL" or "FAIL NAME: REASON", then a line with the counts, and ends with exit status 0 if
// nothing failed. The kernel's boot test judges the lines.
package main

import (
	"fmt"
	"os"
	"strings"

	"holdfast/kernel/internal/guest/check"
	"holdfast/kernel/sys"
)

func main() {
	only := os.Getenv("ONLY")
	ok, failed := 0, 0
	for _, c := range check.All {
		if only != "" && !strings.Contains(c.Name, only) {
			continue
		}
		detail, err := c.Protected()
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %v\n", c.Name, err)
			continue
		}
		ok++
		fmt.Printf("ok %s: %s\n", c.Name, detail)
	}
	if s := sys.ReadStats(); s.MaskedTicks != 0 {
		fmt.Printf("selftest: masked ticks=%d cause=%d call=%d\n",
			s.MaskedTicks, s.MaskedCause, s.MaskedCall)
	}
	fmt.Printf("selftest: %d ok, %d failed\n", ok, failed)
	if failed != 0 {
		os.Exit(1)
	}
}
