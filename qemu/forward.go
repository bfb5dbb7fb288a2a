package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"

	"holdfast/qemu/qmp"
)

// forwardLine is a row of the monitor's "info usernet": protocol[state], descriptor, host address
// and port, guest address and port. QMP itself has no command that tells.
var forwardLine = regexp.MustCompile(
	`(?m)TCP\[HOST_FORWARD\]\s+\d+\s+(\S+)\s+(\d+)\s+\S+\s+(\d+)\s`)

// forwards says which address on this host leads to a TCP port of the guest.
type forwards map[uint16]netip.AddrPort

func askForwards(ctx context.Context, c *qmp.Client, ports []uint16) (forwards, error) {
	answer, err := c.Execute(ctx, "human-monitor-command",
		map[string]string{"command-line": "info usernet"})
	if err != nil {
		return nil, err
	}
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return nil, fmt.Errorf("info usernet: %w", err)
	}
	return parseForwards(text, ports)
}

func parseForwards(text string, ports []uint16) (forwards, error) {
	found := make(forwards)
	for _, row := range forwardLine.FindAllStringSubmatch(text, -1) {
		host, err := netip.ParseAddrPort(net.JoinHostPort(row[1], row[2]))
		guest, err2 := strconv.ParseUint(row[3], 10, 16)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("info usernet: %w", err)
		}
		found[uint16(guest)] = host
	}
	for _, port := range ports {
		if _, ok := found[port]; !ok {
			return nil, fmt.Errorf("info usernet does not list guest port %d: %q", port, text)
		}
	}
	return found, nil
}
