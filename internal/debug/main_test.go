package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"holdfast/internal/imagebuild/imagetest"
)

// needs skips the test where a program is missing, unless the environment says that it is required.
func needs(t *testing.T, variable string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv(variable) == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

func TestBreakpointsInKernelCodeHit(t *testing.T) {
	imagetest.NeedsQEMU(t)
	_, err := exec.LookPath(debugger)
	needs(t, "HOLDFAST_REQUIRE_GDB", err)
	var out strings.Builder
	code, err := run(session{
		image: "holdfast/kernel/internal/guest/hello", location: "holdfast/kernel.boot",
		batch: "delete; break 'holdfast/kernel.(*kernel).trap'; continue; backtrace; print cause; " +
			"print k.sched.started > k.sched.entered; delete; break main.main; continue; delete; continue",
		stdin: strings.NewReader(""), stdout: &out,
	})
	if err != nil || code != 0 {
		t.Errorf("gdb: %d, %v", code, err)
	}
	at := 0
	for _, want := range []string{ // in this order
		`Breakpoint 1, holdfast/kernel\.boot \(megabytes=128\) at holdfast/kernel/boot\.go:\d+`,
		`\d+\tfunc boot\(megabytes uint32\)`,
		`Breakpoint 2, holdfast/kernel\.\(\*kernel\)\.trap \(k=0x8001a000, cause=\d\)`,
		`#1 .* in holdfast/kernel\.trap `,
		`#2 .* in holdfast/kernel\.enter \(\) at holdfast/kernel/entry_arm\.s:\d+`,
		`\$1 = \d`,
		`\$2 = true`,
		`Breakpoint 3, main\.main \(\) at holdfast/kernel/internal/guest/hello/main\.go:\d+`,
		`exited normally|detached|Remote connection closed`,
	} {
		found := regexp.MustCompile(want).FindStringIndex(out.String()[at:])
		if found == nil {
			t.Fatalf("no %s in\n%s", want, out.String())
		}
		at += found[1]
	}
}
