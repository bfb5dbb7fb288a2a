// Flash makes of a node's image what an MCIMX6ULL-EVK boots: `make flash`. It writes two files and
// prints how to write the card, which it never does itself: a wrong device name would cost somebody
// a disk.
//
//	holdfast.imx   for a card that is in use: goes to its first KiB's end and keeps its partitions'
//	               table
//	holdfast.img   a whole card
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"holdfast/board/imximage"
	"holdfast/internal/imagebuild"
	"holdfast/internal/usage"
)

func main() {
	out := flag.String("o", "build", "the folder to write to")
	usage.Parse("flash [-o FOLDER] IMAGE.elf", func() bool { return flag.NArg() == 1 })
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "flash:", err)
		os.Exit(1)
	}
}

func run(elf, folder string) error {
	imx, err := imagebuild.Boot(elf)
	if err != nil {
		return err
	}
	card, err := imximage.Card(imx)
	if err != nil {
		return err
	}
	imxPath := filepath.Join(folder, "holdfast.imx")
	cardPath := filepath.Join(folder, "holdfast.img")
	for _, f := range []struct {
		path, what string
		content    []byte
	}{
		{imxPath, "for the boot ROM, at 1 KiB of a card", imx},
		{cardPath, "a whole SD card", card},
	} {
		if err := os.WriteFile(f.path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Printf("%s  %9d bytes  sha256 %x  %s\n", f.path, len(f.content),
			sha256.Sum256(f.content), f.what)
	}
	fmt.Printf(`
Write a card; all that is on it is lost (sdX: see lsblk):
  sudo dd if=%s of=/dev/sdX bs=1M conv=fsync status=progress
or renew the image on a card that has one:
  sudo dd if=%s of=/dev/sdX bs=1k seek=1 conv=notrunc,fsync status=progress
Then set the board's switches for the SD card: docs/hardware.md.
`, cardPath, imxPath)
	return nil
}
