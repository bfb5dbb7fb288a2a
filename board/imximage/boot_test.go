package imximage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/board"
	"holdfast/board/imximage"
	"holdfast/internal/imagebuild"
	"holdfast/internal/imagebuild/imagetest"
	"holdfast/qemu"
)

// limit ends a node that hangs; it needs a few seconds.
const limit = 2 * time.Minute

// TestTheImageBootsFromWhereTheROMWouldPutIt boots the node's own image, the very bytes that
// `make flash` writes, at the address that their vector table gives [QEMU]. The headers are in
// memory with it, as after the boot ROM.
func TestTheImageBootsFromWhereTheROMWouldPutIt(t *testing.T) {
	imagetest.NeedsQEMU(t)
	folder := t.TempDir()
	elf := filepath.Join(folder, "holdfast.elf")
	err := imagebuild.Build("holdfast/kernel/image", elf, "-tags", "nethttpomithttp2")
	if err != nil {
		t.Fatal(err)
	}
	imx, err := imagebuild.Boot(elf)
	if err != nil {
		t.Fatal(err)
	}
	image, err := imximage.Parse(imx)
	if err != nil {
		t.Fatal(err)
	}
	if image.Load != board.Image {
		t.Errorf("loaded to %#x, want %#x", image.Load, uint32(board.Image))
	}
	card, err := imximage.Card(imx)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "holdfast.imx")
	if err := os.WriteFile(file, card[imximage.CardOffset:][:len(imx)], 0o600); err != nil {
		t.Fatal(err)
	}
	lines, err := qemu.Run(t.Context(), qemu.Machine{
		Image: file,
		Flat:  &qemu.Flat{Addr: image.Load - imximage.PayloadOffset, Entry: image.Entry},
		Dir:   folder, Limit: limit,
	}, func(line string) bool { return strings.HasPrefix(line, "mesh=single reason=env ") })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(lines[0], "holdfast ") {
		t.Errorf("the first line is %q", lines[0])
	}
}
