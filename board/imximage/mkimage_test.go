package imximage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mkimage runs U-Boot's tool and returns what it says. Its exit code is no evidence: it is 0 for an
// image that it does not recognise. Without the tool the test is skipped, unless
// HOLDFAST_REQUIRE_MKIMAGE is set.
func mkimage(t *testing.T, arguments ...string) string {
	t.Helper()
	path, err := exec.LookPath("mkimage")
	if err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_MKIMAGE") != "" {
			t.Fatal(err)
		}
		t.Skip("no mkimage here; Debian has it in u-boot-tools")
	}
	said, _ := exec.CommandContext(t.Context(), path, arguments...).CombinedOutput()
	return string(said)
}

func TestMkimageReadsTheImage(t *testing.T) {
	b := build(t, small())
	file := filepath.Join(t.TempDir(), "small.imx")
	write := func(b []byte) {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(b)
	said := mkimage(t, "-l", file)
	for _, want := range []string{
		"Image Type:   Freescale IMX Boot Image",
		"Image Ver:    2 (i.MX53/6/7 compatible)",
		"Mode:         DCD",
		"Data Size:    5120 Bytes", // from the card's first byte
		"Load Address: 801ff420",   // of the boot data
		"Entry Point:  80200104",
	} {
		if !strings.Contains(said, want+"\n") && !strings.Contains(said, want+" ") {
			t.Errorf("mkimage does not say %q but\n%s", want, said)
		}
	}
	// The other way round: it does not take anything for an image.
	b[0] ^= 1
	write(b)
	if said := mkimage(t, "-l", file); strings.Contains(said, "Freescale IMX Boot Image") {
		t.Errorf("mkimage takes a damaged image for one:\n%s", said)
	}
}

// TestMkimageBuildsTheSame has the tool make an image of the same settings and payload. It can only
// start at the payload's first byte, and it pads differently.
func TestMkimageBuildsTheSame(t *testing.T) {
	folder := t.TempDir()
	var config strings.Builder
	config.WriteString("IMAGE_VERSION 2\nBOOT_FROM sd\n")
	for _, w := range EVK() {
		fmt.Fprintf(&config, "DATA 4 %#08x %#08x\n", w.Address, w.Value)
	}
	i := small()
	i.Entry = i.Load
	cfg, in, out := filepath.Join(folder, "evk.cfg"), filepath.Join(folder, "payload"),
		filepath.Join(folder, "theirs.imx")
	for file, content := range map[string]string{cfg: config.String(), in: string(i.Payload)} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said := mkimage(t, "-n", cfg, "-T", "imximage", "-e", fmt.Sprintf("%#x", i.Entry), "-d", in, out)
	theirs, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v; mkimage says\n%s", err, said)
	}
	ours := build(t, i)
	binary.LittleEndian.PutUint32(theirs[bootDataOffset+4:], uint32(len(ours)+CardOffset))
	if !bytes.Equal(theirs[:PayloadOffset], ours[:PayloadOffset]) {
		t.Error("the headers differ")
	}
	if !bytes.HasPrefix(theirs[PayloadOffset:], i.Payload) {
		t.Error("the payloads differ")
	}
}
