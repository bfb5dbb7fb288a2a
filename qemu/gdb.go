package qemu

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"

	"holdfast/qemu/qmp"
)

// gdbAddress is where QEMU's debugger stub listens, in the name that QMP gives its character
// device.
var gdbAddress = regexp.MustCompile(`tcp:(127\.0\.0\.1:\d+)`)

// askGDB asks where the debugger stub listens: the kernel has chosen the port.
func askGDB(ctx context.Context, c *qmp.Client) (netip.AddrPort, error) {
	answer, err := c.Execute(ctx, "query-chardev", nil)
	if err != nil {
		return netip.AddrPort{}, err
	}
	var devices []struct {
		Label    string `json:"label"`
		Filename string `json:"filename"`
	}
	if err := json.Unmarshal(answer, &devices); err != nil {
		return netip.AddrPort{}, fmt.Errorf("query-chardev: %w", err)
	}
	for _, d := range devices {
		if m := gdbAddress.FindStringSubmatch(d.Filename); d.Label == "gdb" && m != nil {
			return netip.ParseAddrPort(m[1])
		}
	}
	return netip.AddrPort{}, fmt.Errorf("query-chardev shows no debugger: %s", answer)
}
