package qemu

import (
	"context"
	"testing"
	"time"
)

const testLimit = time.Minute // for a run that takes a fraction of a second

func TestRunReturnsTheConsoleOfAGuestThatPowersOff(t *testing.T) {
	image := guest(t, "one\r\ntwo\r\nthe end", powerOff)
	lines, err := Run(context.Background(), Machine{Image: image, Limit: testLimit}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || lines[0] != "one" || lines[1] != "two" || lines[2] != "the end" {
		t.Errorf("console %q", lines)
	}
}
