package main

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What a commit costs between two kernels, from the client's request to its answer. The client's
// connection stays open. Background, which is what the mesh does by itself (leases, pings, ticks),
// is measured on the idle pair for a while of the guests' time and taken off; so is what the two
// readings cost.
const (
	commits    = 200 // for one figure
	firsts     = 40  // with a capability that was never seen
	handshakes = 8
	quiet      = 5 * time.Second // in which the background is measured
	pace       = time.Second / 2 // between two handshakes: a node takes four a second from one address
	clientsMax = 8
	perClient  = 100
)

// valueSize is that of the committed values, in bytes.
const valueSize = 64

// asked is one kind of commit.
type asked struct {
	node       int // whom the client asks
	object     string
	durability string
	token      string // empty: a new capability for each commit
}

func (p *pair) commit(ctx context.Context, a asked) error {
	token := a.token
	if token == "" {
		token = p.mint(a.node, a.object)
	}
	page, err := p.send(ctx, a.node, http.MethodPut, "/objects/"+a.object,
		strings.Repeat("v", valueSize),
		http.Header{"Authorization": {"Holdfast " + token}, "Durability": {a.durability}})
	if err == nil && field(page, "durability") != a.durability {
		err = errors.New("asked for " + a.durability + ": " + page)
	}
	return err
}

// gauge counts the instructions of both nodes.
type gauge struct {
	*pair
	idle  [pairNodes]float64 // background, instructions in a millisecond
	probe [pairNodes]float64 // of a reading
}

// calibrate measures what is to be taken off.
func (p *pair) calibrate(ctx context.Context) (*gauge, error) {
	g := &gauge{pair: p}
	for i := range pairNodes {
		var r [3]reading
		for k := range r {
			if k == 2 {
				p.client.CloseIdleConnections() // a node would, in the meantime
				select {
				case <-time.After(quiet): // the measured time itself
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				if _, err := p.read(ctx, i); err != nil { // opens the connection again
					return nil, err
				}
			}
			var err error
			if r[k], err = p.read(ctx, i); err != nil {
				return nil, err
			}
		}
		g.probe[i], _ = busy(r[0], r[1])
		all, ms := busy(r[1], r[2])
		g.idle[i] = (all - 2*g.probe[i]) / ms
	}
	return g, nil
}

// cost is what one of n repetitions of do costs on both nodes together, on average.
func (g *gauge) cost(ctx context.Context, n int, do func() error) (float64, error) {
	if err := do(); err != nil { // pays for what is made once
		return 0, err
	}
	var before, after [pairNodes]reading
	for i := range before {
		var err error
		if before[i], err = g.read(ctx, i); err != nil {
			return 0, err
		}
	}
	for range n {
		if err := do(); err != nil {
			return 0, err
		}
	}
	total := 0.0
	for i := range after {
		var err error
		if after[i], err = g.read(ctx, i); err != nil {
			return 0, err
		}
		all, ms := busy(before[i], after[i])
		total += all - g.probe[i] - ms*g.idle[i]
	}
	return total / float64(n), nil
}

// meshCounted fills the rows about two nodes that are instruction counts.
func meshCounted(ctx context.Context, t *table, built images) error {
	p, err := bootPair(ctx, built.node, true)
	if err != nil {
		return err
	}
	defer p.Close()
	there, here := p.homedAt(0, 1)[0], p.homedAt(1, 1)[0]
	for _, a := range []asked{ // an object begins with a replicated commit, whatever is asked for
		{1, there, "replicated", ""}, {1, here, "replicated", ""},
	} {
		if err := p.commit(ctx, a); err != nil {
			return err
		}
	}
	g, err := p.calibrate(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		row string
		n   int
		asked
	}{
		{commitFirst, firsts, asked{1, there, "replicated", ""}},
		{commitAgain, commits, asked{1, there, "replicated", p.mint(1, there)}},
		{commitLocal, commits, asked{1, there, "local", p.mint(1, there)}},
		{homeFirst, firsts, asked{1, here, "replicated", ""}},
		{homeCommit, commits, asked{1, here, "replicated", p.mint(1, here)}},
		{homeLocalCommit, commits, asked{1, here, "local", p.mint(1, here)}},
	} {
		cost, err := g.cost(ctx, c.n, func() error { return p.commit(ctx, c.asked) })
		if err != nil {
			return err
		}
		t.set(c.row, cost/1e6)
	}
	certificate, err := selfSigned(p.cast.Nodes[played].Key)
	if err != nil {
		return err
	}
	cost, err := g.cost(ctx, handshakes, func() error { return p.shake(ctx, certificate) })
	t.set(handshakeCost, cost/1e6)
	return err
}

// selfSigned is a certificate as a node's own are (package link): nothing in it but the key counts.
func selfSigned(key ed25519.PrivateKey) (tls.Certificate, error) {
	c := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(nil, c, c, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// meshTimed fills the rows about two nodes that depend on the host.
func meshTimed(ctx context.Context, t *table, built images) error {
	p, err := bootPair(ctx, built.node, false)
	if err != nil {
		return err
	}
	defer p.Close()
	var clients []asked
	for _, object := range p.homedAt(0, clientsMax) {
		clients = append(clients, asked{1, object, "replicated", p.mint(1, object)})
	}
	for _, a := range clients {
		if err := p.commit(ctx, a); err != nil {
			return err
		}
	}
	for row, durability := range map[string]string{commitTime: "replicated", localTime: "local"} {
		a := clients[0]
		a.durability = durability
		var took []time.Duration
		for range commits {
			start := time.Now()
			if err := p.commit(ctx, a); err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		t.set(row, took[len(took)/2].Seconds()*1e3)
	}
	for row, n := range map[string]int{oneClient: 1, eightClients: clientsMax} {
		rate, err := p.rate(ctx, clients[:n])
		if err != nil {
			return err
		}
		t.set(row, rate)
	}
	return nil
}

// rate is how many commits a second clients get answered that each ask for their own object, again
// and again.
func (p *pair) rate(ctx context.Context, clients []asked) (float64, error) {
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	start := time.Now()
	for _, a := range clients {
		group.Go(func() {
			for range perClient {
				if err := p.commit(ctx, a); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(len(clients)*perClient) / time.Since(start).Seconds(), nil
}
