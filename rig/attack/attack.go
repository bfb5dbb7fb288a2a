// Package attack is a stranger on a run's Ethernet: a station with an address of its own that does
// to a node what whoever reaches the wire could do, one attack at a time, for a time. It speaks TCP
// by a stack of its own, and puts frames on the wire past it.
//
// It owns the attacks and their tallies. It must never judge what a node makes of them, or pass for
// another station: it sends from its own Ethernet address, and never from an IP address that
// somebody has. A station that answers ARP in another's name, or fills the wire, makes its victim
// silent on any Ethernet; what a mesh does about silence is what the other faults are about.
//
// Everything that an attack sends is drawn from the run's seed; when it is sent depends on how fast
// the node and this host are. Sources: RFC 791, 826, 894, 8446, 9110, 9293; the fault is the one of
// docs/decisions/0013-strangers.md.
package attack

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/netstack"
	"holdfast/qemu/relay"
	"holdfast/rig/provision"
)

// Target is the node that is attacked.
type Target struct {
	MAC     [6]byte
	Address netip.Addr
}

// Attack is one thing that a stranger does.
type Attack struct {
	Name  string
	About string // what it does, for people
	Time  time.Duration
	// Rate is how many connections or frames a second it offers; 0: as fast as the node lets it.
	Rate int
	do   func(*assault)
}

// Tally is what an attack came to.
type Tally struct {
	Offered uint64 // connections begun, or frames sent
	Taken   uint64 // connections that the node's TCP took
}

// Station is the stranger.
type Station struct {
	port  *relay.Port
	stack *netstack.Stack
	seed  uint64
	// stranger has a key that nobody allows, insider one that the authority does.
	stranger, insider *tls.Config
}

// Open puts the stranger on a port of the relay. insider is a key that the authority allows and no
// node of the run has.
func Open(port *relay.Port, seed uint64, insider, stranger ed25519.PrivateKey) (*Station, error) {
	stack, err := netstack.New(port, netstack.Config{
		MAC: provision.MAC(provision.Attacker), Addr: provision.Attacker,
	})
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	s := &Station{port: port, stack: stack, seed: seed}
	if s.insider, err = client(insider); err == nil {
		s.stranger, err = client(stranger)
	}
	if err != nil {
		stack.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the station.
func (s *Station) Close() { s.stack.Close() }

// client is how a key dials: it would take any authority.
func client(key ed25519.PrivateKey) (*tls.Config, error) {
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("attack: making a certificate: %w", err)
	}
	return &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519},
		InsecureSkipVerify: true,
	}, nil
}

// Run attacks until the attack's time is over or ctx is done, and returns when everything that it
// has begun is over.
func (s *Station) Run(ctx context.Context, a Attack, on Target) Tally {
	ctx, cancel := context.WithTimeout(ctx, a.Time)
	defer cancel()
	x := &assault{Attack: a, Station: s, target: on, ctx: ctx}
	a.do(x)
	x.group.Wait()
	return Tally{x.offered.Load(), x.taken.Load()}
}

// assault is an attack at work.
type assault struct {
	Attack
	*Station
	target Target
	ctx    context.Context
	group  sync.WaitGroup

	number         atomic.Uint64 // of the random streams in use
	offered, taken atomic.Uint64
}

// random is a stream of numbers for one goroutine.
func (x *assault) random() *rand.Rand {
	return rand.New(rand.NewPCG(x.seed, x.number.Add(1)))
}

// crowd has so many do something again and again.
func (x *assault) crowd(size int, do func(*rand.Rand)) {
	for range size {
		r := x.random()
		x.group.Go(func() {
			for x.ctx.Err() == nil {
				do(r)
			}
		})
	}
}

const (
	// beat is how often a paced attack looks how many are due.
	beat = 5 * time.Millisecond
	// underWay is how many of a paced attack may be under way: more than the highest rate begins
	// while one waits for a node that takes nobody.
	underWay = 4096
)

// paced begins something Rate times a second, each time on a goroutine of its own. What is due
// while too many are under way is left out: then the node, or this host, is the slower one.
func (x *assault) paced(do func(*rand.Rand)) {
	var busy atomic.Int64
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	begin, begun := time.Now(), 0
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-ticker.C:
		}
		for due := int(time.Since(begin).Seconds() * float64(x.Rate)); begun < due; begun++ {
			if busy.Load() >= underWay {
				continue
			}
			busy.Add(1)
			r := x.random()
			x.group.Go(func() {
				defer busy.Add(-1)
				do(r)
			})
		}
	}
}

// patience bounds one connection of an attack that does not hold on to it.
const patience = 2 * time.Second

// dial connects to a port of the node; nil when it does not take the connection. Whatever the
// connection waits for ends with the attack.
func (x *assault) dial(port uint16) net.Conn {
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	x.offered.Add(1)
	c, err := x.stack.Dial(ctx, netip.AddrPortFrom(x.target.Address, port))
	if err != nil {
		return nil
	}
	x.taken.Add(1)
	stop := context.AfterFunc(x.ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	return &held{c, stop}
}

// held is a connection that no longer listens for the end of the attack once it is closed.
type held struct {
	net.Conn
	stop func() bool
}

func (h *held) Close() error {
	h.stop()
	return h.Conn.Close()
}
