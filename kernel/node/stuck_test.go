package node

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/tty"
	"holdfast/kernel/node/web"
)

func TestStuckClientsAndAStuckConsoleDoNotDelayTheMesh(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		stuck := &stuckConsole{release: release}
		m := &testMachine{chip: chip(t, rootEnv(), &root, true)}
		machine := m.machine()
		n := Boot(machine)
		n.log.screen = tty.NewScreen(stuck) // from now on; the boot's rows are written at once
		host := w.net.Host(rootIP)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- n.Run(ctx, host) }()
		synctest.Wait()

		// Clients that say nothing, in the place of each that is cut off.
		crowd := w.net.Host("10.7.0.2")
		for i := range web.ConnectionsMax {
			from := w.rig
			if i >= web.AddressMax {
				from = crowd
			}
			go func() {
				for ctx.Err() == nil {
					c, err := from.Dial(ctx, netip.MustParseAddrPort(rootIP+":80"))
					if err != nil {
						return
					}
					c.Read(make([]byte, 1))
					c.Close()
				}
			}()
		}
		other := w.boot(chip(t, memberEnv(), &member, true))
		has(t, other.await("mesh-join", "confirmed"), "epoch=2")
		<-time.After(time.Minute)
		has(t, other.status("/mesh")[0], "mesh=joined", "mutable=1")
		other.kill()
		<-time.After(13 * time.Second)
		words := make(map[string]int)
		for _, row := range n.log.After(0) {
			for _, word := range []string{"suspect", "failed", "removed", "recovered"} {
				if row.Line.Is("mesh-fail", word) {
					words[word]++
				}
			}
		}
		if words["suspect"] != 1 || words["failed"] != 1 || words["removed"] != 1 {
			t.Errorf("rows %v", words)
		}
		if late := n.loop.stats.lateTick.Load(); late != 0 {
			t.Errorf("%d ticks were late", late)
		}
		cancel()
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
