// Package node is one node: it joins the pure protocol (package mesh) to links, HTTP, a console
// and the node's memory. It owns the order in which a node starts, the one event loop, and what
// becomes of everything that the protocol asks for. It has no hardware in it: the machine and its
// network are small interfaces, and its tests run it whole, several at a time, in virtual time. It
// must never decide anything about membership, homes or leases.
//
//	Boot   NVRAM -> environment -> identity -> entropy -> marks   rows: mesh-env, mesh=single
//	Run    console, HTTP, links, loop; until the context ends     rows: mesh-node, mesh-link, ...
//
// Who runs what, and who waits for whom:
//
//	link sessions ---+                        +--> link queues   (full: the session ends)
//	HTTP requests ---+--> one queue --> loop -+--> console queue (full: counted and said)
//	        timer ---+                        +--> HTTP replies  (a place for each request)
//	 marks' keeper --+                        +--> marks' keeper (one thing at a time)
//	operator's keys --+ (its commands)        +--> answers on the console (behind every line)
//
// The loop is one goroutine and owns the protocol's state. What feeds it may wait for it; it waits
// for nobody, but the millisecond that the second clock takes. A stuck peer, a slow client, a slow
// chip or a slow console therefore delays itself alone. The watchdog is fed by way of the same
// queue.
//
// A node without a mesh (`mesh=single`) runs console and HTTP only, and answers whatever needs one
// with the reason. Sources: spec/system.md sections 2, 3 and 6, evidence.md; ADR-0008 sections 7
// and 8.
package node

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"holdfast/kernel/node/link"
	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/nvram/config"
)

// httpPort is where the pages are.
const httpPort = 80

// Node is one boot of one node.
type Node struct {
	machine    Machine
	log        *log
	config     config.Config
	id         id.Node // zero without an identity
	seededFrom string  // where the entropy came from; empty: there is none
	single     string  // why there is no mesh; empty: there is one
	singleNote string  // more on that, in words; may be empty
	mesh       mesh.Config

	loop     *loop // nil without a mesh
	links    *link.Links
	keeper   *keeper // nil but at an authority whose chip answers
	admitted admission
	web      *web.Server
}

func (n *Node) print(l evidence.Line) { n.log.Add(l.At(n.machine.Clock())) }

// Run runs the node on its network, nil when it has none, until ctx is done. The error says what
// part of the node ended by itself, which none should.
func (n *Node) Run(ctx context.Context, network Network) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	run := func(part func(context.Context) error) {
		group.Go(func() {
			if err := part(ctx); err != nil {
				stop(fmt.Errorf("node: %w", err))
			}
		})
	}
	stopLog := n.log.Start()
	defer stopLog() // last: whatever ends has its last rows to say
	if err := n.start(network, run); err != nil {
		stop(fmt.Errorf("node: %w", err))
	} else if n.machine.Keyboard != nil {
		run(func(ctx context.Context) error {
			n.operate(ctx)
			return nil
		})
	}
	<-ctx.Done()
	group.Wait()
	if err := context.Cause(ctx); err != ctx.Err() {
		return err
	}
	return nil
}

// start hands every part of the node to run.
func (n *Node) start(network Network, run func(func(context.Context) error)) error {
	if network == nil {
		return nil
	}
	if n.single == "" {
		if err := n.startMesh(network, run); err != nil {
			return err
		}
	}
	listener, err := network.Listen(httpPort)
	if err != nil {
		return err
	}
	n.web = web.New(n.site())
	run(func(ctx context.Context) error { return n.web.Serve(ctx, listener) })
	return nil
}

// startMesh starts the protocol and its links.
func (n *Node) startMesh(network Network, run func(func(context.Context) error)) error {
	peer := n.config.Peer
	n.print(evidence.New("mesh-node", "start").Node("node", n.id).
		Str("role", n.mesh.Role.String()).Boot("boot", n.mesh.Boot).Epoch("epoch", n.mesh.Epoch).
		Str("ip", n.config.Address.Addr().String()).Str("seed", n.seededFrom))
	if n.machine.Second == nil {
		n.log.Note("clock: no second one: it is not noticed when this machine is stopped and goes on")
	}
	n.loop = newLoop(n.machine, n.log)
	if n.config.Tape {
		n.loop.tape = newRecorder(n.mesh.Boot)
	}
	links, err := link.New(link.Config{
		Key: n.mesh.Key, Pins: n.pins(), Deliver: n.loop.deliver, Clock: n.machine.Waits,
	})
	if err != nil {
		return err
	}
	n.links = links
	n.loop.links = links
	if k := n.keeper; k != nil {
		n.loop.want = k.want
		run(func(ctx context.Context) error {
			k.run(ctx, func(err error) { n.loop.post(ctx, saved{err}) })
			return nil
		})
	}
	if err := n.loop.begin(n.mesh); err != nil {
		return err
	}
	if n.mesh.Role == mesh.Authority {
		listener, err := network.Listen(peer.Port)
		if err != nil {
			return err
		}
		run(func(ctx context.Context) error { return links.Accept(ctx, listener) })
	} else {
		run(func(ctx context.Context) error {
			links.Connect(ctx, network.Dial, netip.AddrPortFrom(peer.Host, peer.Port))
			return nil
		})
	}
	run(n.loop.run)
	if n.machine.Watchdog != nil {
		run(func(ctx context.Context) error {
			n.feed(ctx)
			return nil
		})
	}
	return nil
}

// pins is whom the links may be with.
func (n *Node) pins() []id.Node {
	if n.mesh.Role == mesh.Authority {
		return n.mesh.Allow
	}
	return []id.Node{id.NodeOf(n.mesh.Root)}
}
