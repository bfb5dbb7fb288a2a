package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"

	"holdfast/qemu/qmp"
	"holdfast/qemu/rsp"
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

// Debug connects to the running guest as its debugger, which stops it: see package rsp. It may be
// called once. The guest stays as it is when the session ends or QEMU does.
func (p *Process) Debug(ctx context.Context) (*rsp.Client, error) {
	c, err := p.debug(ctx)
	if err != nil {
		return nil, fmt.Errorf("qemu %s: debugger: %w", p.name, err)
	}
	return c, nil
}

func (p *Process) debug(ctx context.Context) (*rsp.Client, error) {
	// QMP has no command of its own for it.
	said, err := p.Execute(ctx, "human-monitor-command",
		map[string]string{"command-line": "gdbserver tcp:127.0.0.1:0"})
	if err != nil {
		return nil, err
	}
	address, err := askGDB(ctx, p.qmp)
	if err != nil {
		return nil, fmt.Errorf("%w; gdbserver said %s", err, said)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp4", address.String())
	if err != nil {
		return nil, err
	}
	c := rsp.New(conn)
	if err := c.Stopped(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
