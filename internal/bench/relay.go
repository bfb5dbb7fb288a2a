package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"

	"holdfast/netstack"
	"holdfast/qemu"
	"holdfast/qemu/relay"
)

// The guest's network is that of QEMU's user network everywhere; on the relay this program is the
// gateway.
var (
	guestAddress   = netip.MustParseAddr("10.0.2.15")
	gatewayAddress = netip.MustParsePrefix("10.0.2.2/24")
	gatewayMAC     = [6]byte{2, 0, 0, 0, 0, 2}
)

// relayed fills the rows about bulk data through the rig's relay.
func relayed(ctx context.Context, t *table, built images) error {
	m, done, err := bootOnRelay(ctx, built.guest)
	if err != nil {
		return err
	}
	defer done()
	return m.bulk(ctx, t, relayIn, relayOut)
}

// bootOnRelay is boot, counting instructions, on an Ethernet of the relay's. done ends all of it.
func bootOnRelay(ctx context.Context, image string) (m *machine, done func(), err error) {
	var end []func()
	done = func() {
		for i := len(end) - 1; i >= 0; i-- {
			end[i]()
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	dir, remove, err := qemu.TempDir()
	if err != nil {
		return nil, nil, err
	}
	r := relay.New(relay.Options{Seed: seed})
	end = append(end, remove, func() { r.Close() })
	own, err := r.Local("bench")
	if err != nil {
		return nil, nil, err
	}
	station, err := netstack.New(own, netstack.Config{MAC: gatewayMAC, Addr: gatewayAddress})
	if err != nil {
		return nil, nil, err
	}
	end = append(end, station.Close)
	port, err := r.Unix("guest", filepath.Join(dir, "sw"), filepath.Join(dir, "vm"))
	if err != nil {
		return nil, nil, err
	}
	m = newMachine()
	m.dial = func(ctx context.Context, port uint16) (net.Conn, error) {
		return station.Dial(ctx, netip.AddrPortFrom(guestAddress, port))
	}
	spec := m.spec(image, true)
	spec.Dir = dir
	local, remote := port.Sockets()
	spec.Net = qemu.Ethernet{Local: local, Remote: remote}
	if m.Process, err = qemu.Start(ctx, spec); err != nil {
		return nil, nil, err
	}
	end = append(end, func() { m.Kill() })
	return m, done, nil
}

// latency fills the rows about interrupts, on a machine of its own: a goroutine is busy for ever.
func latency(ctx context.Context, t *table, built images) error {
	m, err := boot(ctx, built.guest, true)
	if err != nil {
		return err
	}
	defer m.Kill()
	<-m.main
	if _, err := m.get("/busy"); err != nil {
		return err
	}
	text, err := m.get("/latency")
	if err != nil {
		return err
	}
	var median, tail float64
	if _, err := fmt.Sscanf(text, "median=%g p99=%g", &median, &tail); err != nil {
		return err
	}
	t.set(irqMedian, median)
	t.set(irqTail, tail)
	return nil
}
