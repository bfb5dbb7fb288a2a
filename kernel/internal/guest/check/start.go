//go:build arm

package check

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// The boot page of the test that runs this has the lines "-verbose", "ram=..." and "WORD=...".
func arguments() (string, error) {
	if want := []string{"holdfast", "-verbose"}; !slices.Equal(os.Args, want) {
		return "", fmt.Errorf("os.Args %q, want %q", os.Args, want)
	}
	if v := os.Getenv("WORD"); v != "two words" {
		return "", fmt.Errorf("WORD is %q", v)
	}
	if v, ok := os.LookupEnv("ram"); ok {
		return "", fmt.Errorf("the memory size reached the environment: %q", v)
	}
	return fmt.Sprint(os.Environ()), nil
}

func settings() (string, error) {
	if n := runtime.GOMAXPROCS(0); n != 4 {
		return "", fmt.Errorf("GOMAXPROCS %d", n)
	}
	if n := runtime.NumCPU(); n != 1 {
		return "", fmt.Errorf("NumCPU %d", n)
	}
	limit := debug.SetMemoryLimit(-1)
	if limit < 32<<20 || limit > 512<<20 {
		return "", fmt.Errorf("memory limit %d", limit)
	}
	if name, offset := time.Now().Zone(); name != "UTC" || offset != 0 {
		return "", fmt.Errorf("time zone %s %d", name, offset)
	}
	return fmt.Sprintf("memory limit %d MiB", limit>>20), nil
}
