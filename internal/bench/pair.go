package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/capability"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/netstack"
	"holdfast/qemu"
	"holdfast/qemu/relay"
	"holdfast/rig/provision"
)

// pair is a mesh of two real kernels on the rig's Ethernet, n0 the authority and n1 a member, and a
// station of this program that asks them over HTTP, on connections that stay open. A third node is
// allowed in the mesh and never booted: this program plays it where it needs a key of its own.
type pair struct {
	cast    *provision.Cast
	relay   *relay.Relay
	station *netstack.Stack
	client  *http.Client
	nodes   []*qemu.Process
	close   []func()
	epoch   id.Epoch
}

const (
	seed      = 42 // of the nodes' keys
	pairNodes = 2
	played    = pairNodes // the index of the node that this program plays
	joinTime  = time.Minute
	joinPoll  = 100 * time.Millisecond
)

// bootPair boots two nodes and waits until both are in one view and may commit.
func bootPair(ctx context.Context, image string, icount bool) (p *pair, err error) {
	p = &pair{cast: provision.Draw(seed, pairNodes+1), relay: relay.New(relay.Options{Seed: seed})}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	dir, remove, err := qemu.TempDir()
	if err != nil {
		return p, err
	}
	p.close = append(p.close, remove, func() { p.relay.Close() })
	port, err := p.relay.Local("bench")
	if err != nil {
		return p, err
	}
	p.station, err = netstack.New(port, netstack.Config{
		MAC: provision.MAC(provision.Rig), Addr: provision.Rig,
	})
	if err != nil {
		return p, err
	}
	p.close = append(p.close, p.station.Close)
	p.client = &http.Client{Timeout: limit, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return nil, err
			}
			return p.station.Dial(ctx, to)
		},
		MaxIdleConnsPerHost: clientsMax,
	}}
	for i := range pairNodes {
		if err := p.bootNode(ctx, dir, image, i, icount); err != nil {
			return p, err
		}
	}
	return p, p.joined(ctx)
}

func (p *pair) bootNode(ctx context.Context, dir, image string, i int, icount bool) error {
	node := &p.cast.Nodes[i]
	environment, err := p.cast.Environment(i)
	if err != nil {
		return err
	}
	content, err := p.cast.EEPROM(i, environment)
	if err != nil {
		return err
	}
	eeprom := filepath.Join(dir, node.Name+".ee")
	if err := os.WriteFile(eeprom, content, 0o600); err != nil {
		return err
	}
	port, err := p.relay.Unix(node.Name, filepath.Join(dir, node.Name+".sw"),
		filepath.Join(dir, node.Name+".vm"))
	if err != nil {
		return err
	}
	station, switched := port.Sockets()
	mac := node.MAC()
	m := qemu.Machine{
		Name: node.Name, Image: image, RAM: ram, Dir: dir, NVRAM: eeprom, MAC: mac[:], Limit: limit,
		// The second clock goes with the counter, which -icount holds back behind the host's time.
		Clock: &qemu.Clock{Guest: true},
		Net:   qemu.Ethernet{Local: station, Remote: switched},
	}
	if icount {
		m.ICount = "shift=0"
	}
	process, err := qemu.Start(ctx, m)
	if err != nil {
		return err
	}
	p.nodes = append(p.nodes, process)
	p.close = append(p.close, func() { process.Kill() })
	return nil
}

// Close ends the machines and what is between them, the latest first.
func (p *pair) Close() {
	for i := len(p.close) - 1; i >= 0; i-- {
		p.close[i]()
	}
}

// joined waits until every node says that it may commit under one epoch of two members.
func (p *pair) joined(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, joinTime, errors.New("the nodes have not joined"))
	defer cancel()
	for i := 0; i < pairNodes; {
		page, err := p.get(ctx, i, "/mesh")
		if err == nil && strings.Contains(page, " mutable=1 ") &&
			strings.Count(page, "state=alive") == pairNodes {
			p.epoch, err = id.ParseEpoch(field(page, "epoch"))
			if err != nil {
				return err
			}
			i++
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: n%d: %q", context.Cause(ctx), i, page)
		case <-time.After(joinPoll):
		}
	}
	return nil
}

// field is a field's value in a page of evidence, its first one.
func field(page, key string) string {
	_, rest, _ := strings.Cut(page, " "+key+"=")
	value, _, _ := strings.Cut(rest, " ")
	return value
}

func (p *pair) get(ctx context.Context, node int, path string) (string, error) {
	return p.send(ctx, node, http.MethodGet, path, "", nil)
}

// send sends a request that must succeed and returns the answer's body.
func (p *pair) send(
	ctx context.Context, node int, method, path, body string, header http.Header,
) (string, error) {
	url := "http://" + p.cast.Nodes[node].Address.Addr().String() + path
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	if header != nil {
		q.Header = header
	}
	resp, err := p.client.Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("n%d: %s %s: %s %s", node, method, path, resp.Status, b)
	}
	return string(b), err
}

// reading is a node's own count at one instant.
type reading struct{ ms, busyTicks, hz float64 }

func (p *pair) read(ctx context.Context, node int) (r reading, err error) {
	page, err := p.get(ctx, node, "/mesh/stats")
	if err != nil {
		return r, err
	}
	for line := range strings.Lines(page) {
		key, text, _ := strings.Cut(strings.TrimSpace(line), "=")
		to, ok := map[string]*float64{
			"now_ms": &r.ms, "kernel_busy_ticks": &r.busyTicks, "counter_hz": &r.hz,
		}[key]
		if !ok {
			continue
		}
		if *to, err = strconv.ParseFloat(text, 64); err != nil {
			return r, err
		}
	}
	if r.hz == 0 || r.busyTicks == 0 {
		return r, errors.New("GET /mesh/stats does not count")
	}
	return r, nil
}

// busy is the instructions between two readings, and ms the guest's time.
func busy(a, b reading) (instructions, ms float64) {
	return (b.busyTicks - a.busyTicks) / b.hz * 1e9, b.ms - a.ms
}

// homedAt are the names of so many objects that are homed at a node.
func (p *pair) homedAt(node, count int) []string {
	var names []string
	members := p.cast.IDs()[:pairNodes]
	for i := 0; len(names) < count; i++ {
		name := "bench-" + strconv.Itoa(i)
		if home.Of(id.ObjectOf(name), members) == p.cast.Nodes[node].ID {
			names = append(names, name)
		}
	}
	return names
}

// mint is a new capability to commit an object through a node.
func (p *pair) mint(node int, object string) string {
	return p.cast.Mint(id.ObjectOf(object), p.cast.Nodes[node].ID, capability.RightCommit, p.epoch)
}

// shake makes one mutual handshake with the authority, as the node that was never booted, up to its
// greeting, and leaves.
func (p *pair) shake(ctx context.Context, certificate tls.Certificate) error {
	select {
	case <-time.After(pace): // the node's own limit
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	raw, err := p.station.Dial(ctx, netip.AddrPortFrom(p.cast.Nodes[0].Address.Addr(),
		provision.MeshPort))
	if err != nil {
		return err
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{
		Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true, // it is our own node
		MinVersion: tls.VersionTLS13,
		// As a member does: the offer of a post-quantum exchange is a second segment to take in.
		CurvePreferences: []tls.CurveID{tls.X25519},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, 2)) // the greeting: the authority has accepted
	return err
}
