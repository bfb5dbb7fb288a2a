// Cmd builds a bootable image of a package: `make image` for people, the same command as the
// tests'.
package main

import (
	"flag"
	"fmt"
	"os"

	"holdfast/internal/imagebuild"
	"holdfast/internal/usage"
)

func main() {
	out := flag.String("o", "", "the image to write")
	symbols := flag.Bool("symbols", false, "keep symbols and debugging information")
	tags := flag.String("tags", imagebuild.Tags, "build tags")
	usage.Parse("cmd [-symbols] [-tags LIST] -o FILE PACKAGE",
		func() bool { return *out != "" && flag.NArg() == 1 })
	build := imagebuild.Build
	if *symbols {
		build = imagebuild.BuildWithSymbols
	}
	if err := build(flag.Arg(0), *out, "-tags", *tags); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
