package qemu

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	// Binary is the emulator's name, looked up in PATH.
	Binary = "qemu-system-arm"
	// InstallCommand installs it on Debian.
	InstallCommand = "apt-get install -y --no-install-recommends qemu-system-arm"

	versionTimeout = 20 * time.Second // QEMU answers in 20 ms; a loaded machine may take longer
)

// ErrNoQEMU says that there is no emulator on this machine, and how to get one.
var ErrNoQEMU = errors.New(Binary + " not found; as root: " + InstallCommand)

// Find returns the emulator's path, or ErrNoQEMU.
func Find() (string, error) {
	path, err := exec.LookPath(Binary)
	if errors.Is(err, exec.ErrNotFound) {
		return "", ErrNoQEMU
	}
	if err != nil {
		return "", fmt.Errorf("qemu: %w", err)
	}
	return path, nil
}

// Version returns the emulator's version, such as "7.2.22 (Debian 1:7.2+dfsg-7)".
func Version(ctx context.Context) (string, error) {
	path, err := Find()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("qemu: %s --version: %w", path, err)
	}
	return parseVersion(string(out))
}

// Datagrams says that the emulator can carry Ethernet frames in datagrams, or why it cannot: it is
// older than 7.2, or was built without.
func Datagrams(ctx context.Context) error {
	path, err := Find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-machine", "none", "-netdev", "help").Output()
	if err != nil {
		return fmt.Errorf("qemu: %s -netdev help: %w", path, err)
	}
	return findDatagrams(string(out))
}

func findDatagrams(help string) error {
	for line := range strings.Lines(help) {
		if strings.TrimSpace(line) == "dgram" {
			return nil
		}
	}
	return errors.New("qemu: it has no network device of kind dgram: version 7.2 is the first")
}

func parseVersion(out string) (string, error) {
	first, _, _ := strings.Cut(out, "\n")
	version, ok := strings.CutPrefix(strings.TrimSpace(first), "QEMU emulator version ")
	if !ok || version == "" {
		return "", fmt.Errorf("qemu: no version in %.80q", first)
	}
	return version, nil
}
