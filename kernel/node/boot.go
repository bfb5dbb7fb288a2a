package node

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"

	"holdfast/kernel/node/clock"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/nvram"
	"holdfast/nvram/config"
)

// Why a node has no mesh: the reasons of the `mesh=single` row. When several apply, the first in
// this order is said: what the operator wrote comes before what the machine has.
const (
	reasonEnv       = "env"        // the environment cannot be read, or a value that decides is wrong
	reasonNoPeer    = "no-peer"    // mesh.peer is absent
	reasonNoKey     = "no-key"     // mesh.root is absent
	reasonIdentity  = "identity"   // no identity record, or its boot cannot be counted
	reasonNoEntropy = "no-entropy" // nothing to seed the generator with, so no TLS
)

// Boot reads the NVRAM and seeds the random generator, in the order of spec/system.md section 2:
// environment, identity, entropy. It comes before everything that takes a random number. It never
// fails: what is wrong is a row, and a node without a mesh. It writes three records. An authority
// reads its marks as well.
func Boot(m Machine) *Node {
	if m.Waits == nil {
		m.Waits = clock.System
	}
	if m.NVRAM != nil {
		m.NVRAM = &sharedChip{chip: m.NVRAM}
	}
	n := &Node{machine: m, log: newLog(m.Console)}
	n.printEpitaph()
	store := n.openNVRAM()
	envReason := n.loadEnvironment(store)
	key, boots := n.loadIdentity(store)
	n.seededFrom = n.seed(store, boots)
	n.single, n.singleNote = n.decide(envReason, key)
	if n.singleNote != "" {
		n.log.Note(n.singleNote)
	}
	if n.single == "" && n.mesh.Role == mesh.Authority {
		n.loadMarks(store)
	}
	if n.single != "" {
		n.print(evidence.New(evidence.Single).Str("reason", n.single))
	}
	return n
}

// epitaphLines is how much of an epitaph the console shows: the panic and where it came from.
const epitaphLines = 16

// printEpitaph shows what the boot before left of its crash. No line of it begins as it did then,
// or it would count as a crash of this boot.
func (n *Node) printEpitaph() {
	shown := 0
	for line := range strings.Lines(n.machine.Epitaph) {
		if shown++; shown > epitaphLines {
			n.log.Note("epitaph: more at GET /epitaph")
			return
		}
		n.log.Note("epitaph: " + strings.TrimSuffix(line, "\n"))
	}
}

// openNVRAM is the chip's records, nil without a chip.
func (n *Node) openNVRAM() *nvram.Store {
	if n.machine.NVRAM == nil {
		n.log.Note("nvram: no chip answers")
		return nil
	}
	store, err := nvram.Open(n.machine.NVRAM)
	if err != nil {
		n.log.Note(err.Error())
		return nil
	}
	return store
}

// loadEnvironment sets the configuration. It returns the reason for which there can be no mesh
// whatever the configuration says: an environment that was there and is lost, or cannot be read,
// may have had a mesh in it. A blank one has none.
func (n *Node) loadEnvironment(store *nvram.Store) (reason string) {
	n.config = config.Parse(new(nvram.Environment), nil)
	if store == nil {
		return reasonEnv
	}
	r, err := store.LoadEnvironment()
	var absent *nvram.AbsentError
	switch {
	case errors.As(err, &absent):
		n.print(evidence.New("mesh-env", "none").Str("reason", string(absent.Reason())))
		if absent.Reason() == nvram.ReasonBlank {
			return ""
		}
		return reasonEnv
	case err != nil:
		n.log.Note(err.Error())
		return reasonEnv
	}
	n.config = config.Load(r)
	n.print(evidence.New("mesh-env", "loaded").Str("copy", r.Copy.String()).
		Uint("seq", uint64(r.Sequence)).Int("bytes", int64(r.Bytes)))
	for _, name := range n.config.Unknown {
		n.print(evidence.New("mesh-env", "unknown").Str("key", name))
	}
	for _, refused := range n.config.Refused {
		n.print(evidence.New("mesh-env", "refused").Str("key", refused.Key).
			Str("reason", string(refused.Reason)))
	}
	if n.config.RefusesMesh() {
		return reasonEnv
	}
	return ""
}

// loadIdentity counts this boot and returns the node's key, nil without an identity.
func (n *Node) loadIdentity(store *nvram.Store) (key ed25519.PrivateKey, boots uint64) {
	if store == nil {
		return nil, 0
	}
	identity, err := store.CountBoot()
	if err != nil {
		n.log.Note("identity: " + err.Error())
		return nil, 0
	}
	key = ed25519.NewKeyFromSeed(identity.Seed[:])
	clear(identity.Seed[:])
	n.id = id.NodeOf(key.Public().(ed25519.PublicKey))
	return key, identity.Boots
}

// decide makes the mesh's configuration, or returns why there is no mesh, with a note where the
// reason alone does not say enough.
func (n *Node) decide(envReason string, key ed25519.PrivateKey) (reason, note string) {
	c := &n.config
	switch {
	case envReason != "":
		return envReason, ""
	case c.Peer.IsZero():
		return reasonNoPeer, ""
	case c.Root.IsZero():
		return reasonNoKey, ""
	}
	times := timingOf(c)
	if err := cmp.Or(times.Check(), times.CheckLab(c.Lab)); err != nil { // rules L3 and L14
		n.print(evidence.New("mesh-fail", "refused").Str("reason", refusal.Timing.String()))
		key := config.KeyTime
		if c.AcksAll {
			key = config.KeyAcks
		}
		return reasonEnv, key + ": " + err.Error()
	}
	switch {
	case !c.Address.IsValid():
		return reasonEnv, "a mesh needs " + config.KeyIP
	case key == nil:
		return reasonIdentity, ""
	}
	public := key.Public().(ed25519.PublicKey)
	root := public
	if !c.Root.Self {
		root = c.Root.Key[:]
		if public.Equal(root) {
			return reasonEnv, config.KeyRoot + " is this node's own key: the authority's says self"
		}
	}
	if n.seededFrom == "" {
		return reasonNoEntropy, ""
	}
	n.mesh = meshConfig(c, key, root, times)
	n.mesh.Both = n.machine.Second != nil
	return "", ""
}

// meshConfig is called once the random generator has its key.
func meshConfig(c *config.Config, key ed25519.PrivateKey, root ed25519.PublicKey,
	times timing.Timing) mesh.Config {
	m := mesh.Config{
		Role: mesh.Member, Key: key, Root: root, Boot: newBoot(), Epoch: id.Epoch(c.Epoch),
		Timing: times, Detect: c.Fail, Route: c.Route, Lab: c.Lab,
	}
	if c.Root.Self {
		m.Role = mesh.Authority
	}
	_, _ = rand.Read(m.Seed[:]) // never fails: crypto/rand ends the program instead
	for _, allowed := range c.Allow {
		m.Allow = append(m.Allow, id.Node(allowed))
	}
	if c.Lab {
		for i := range id.LabObjects {
			m.LabObject = append(m.LabObject, id.LabName(i))
		}
	}
	return m
}

// newBoot names this boot.
func newBoot() id.Boot {
	var b [8]byte
	for {
		_, _ = rand.Read(b[:])
		if boot := id.Boot(binary.LittleEndian.Uint64(b[:])); boot != 0 {
			return boot
		}
	}
}

// timingOf is mesh.time and mesh.acks in the mesh's own terms.
func timingOf(c *config.Config) timing.Timing {
	t := c.Timing
	if t == (config.Timing{}) {
		times := timing.Default
		times.AcksAll = c.AcksAll
		return times
	}
	return timing.Timing{
		AcksAll:    c.AcksAll,
		Heartbeat:  when.Span(t.Heartbeat.Milliseconds()),
		Suspect:    when.Span(t.Suspect.Milliseconds()),
		Fail:       when.Span(t.Fail.Milliseconds()),
		WriteLease: when.Span(t.Lease.Milliseconds()),
	}
}

// Address is where the node is on its network, and the next hop to others. An invalid address means
// that net.ip was refused: the node has no network. An invalid gateway means that there is none.
func (n *Node) Address() (address netip.Prefix, gateway netip.Addr) {
	return n.config.Address, n.config.Gateway
}
