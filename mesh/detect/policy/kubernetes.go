package policy

import (
	"holdfast/mesh/detect"
	"holdfast/mesh/when"
)

// Kubernetes' defaults (k8s.io/kubernetes, pkg/controller/nodelifecycle and the controller
// manager's flags; the grace period was 40 s before 1.32).
const (
	KubeRenewMS   = 10_000  // the kubelet renews its Lease
	KubeCheckMS   = 5_000   // the node controller looks at all Leases
	KubeGraceMS   = 50_000  // without a renewal seen: unreachable
	KubeEvictMS   = 300_000 // unreachable for that long: the pods are evicted
	KubeLargeZone = 50      // nodes; a zone of at most that many is a small one
)

// Zone says how a zone of nodes does.
type Zone uint8

// The states of a zone.
const (
	ZoneNormal Zone = iota
	ZonePartial
	ZoneFull
)

// ZoneOf is the state of a zone of ready and notReady nodes: disrupted in full when nothing is
// ready, in part when at least 55 % and at least three nodes are not.
func ZoneOf(ready, notReady int) Zone {
	switch {
	case ready == 0 && notReady > 0:
		return ZoneFull
	case notReady > 2 && float32(notReady)/float32(notReady+ready) >= 0.55:
		return ZonePartial
	}
	return ZoneNormal
}

// EvictionEvery is the time between the evictions of two nodes in a zone of that state and size, 0
// for never. A zone in full disruption is treated as if it were normal as long as another zone is
// not; everyFull says that none is.
func EvictionEvery(z Zone, nodes int, everyFull bool) when.Span {
	const usual, slow = 10_000, 100_000
	switch {
	case z == ZoneFull && everyFull:
		return 0
	case z != ZonePartial:
		return usual
	case nodes <= KubeLargeZone:
		return 0
	}
	return slow
}

// Kube is the chain of timeouts from a kubelet that renews its Lease to the eviction of its pods:
// Suspect is the condition Unknown with the taint unreachable, Failed the eviction. The controller
// looks only every check, and counts from when it saw a renewal, not from when it was made.
type Kube struct {
	check, grace, evict when.Span
	zone                Zone
	nodes               int

	renewed bool // since the latest look
	begun   bool
	next    when.Instant // look
	seen    when.Instant // when a look saw the latest renewal
	health  detect.Health
	since   when.Instant // unreachable
}

// NewKube makes the chain with Kubernetes' own figures. ready and notReady are the other nodes of
// the peer's zone, the only one.
func NewKube(ready, notReady int) *Kube {
	return &Kube{check: KubeCheckMS, grace: KubeGraceMS, evict: KubeEvictMS,
		zone: ZoneOf(ready, notReady+1), nodes: ready + notReady + 1}
}

// Take implements Policy. A heartbeat is a renewal: whoever drives this policy sends one every
// KubeRenewMS.
func (p *Kube) Take(_ when.Instant, e Evidence) {
	if isLife(e.Kind) {
		p.renewed = true
	}
}

// Judge implements Policy.
func (p *Kube) Judge(now when.Instant) Judgement {
	if !p.begun {
		p.begun, p.next, p.seen = true, now, now
	}
	if now >= p.next {
		p.look(now)
		p.next = p.next.Add(max(p.check, now.Sub(p.next)/p.check*p.check))
	}
	return Judgement{Health: p.health, Level: share(now.Sub(p.seen), p.grace+p.evict)}
}

// look is one pass of the controller. The controller asks for more than the grace; but a pass takes
// time, so that the first one at which the grace is over by the clock is late enough.
func (p *Kube) look(now when.Instant) {
	if p.renewed {
		p.renewed, p.seen, p.health = false, now, detect.Alive
		return
	}
	if p.health == detect.Alive && now.Sub(p.seen) >= p.grace {
		p.health, p.since = detect.Suspect, now
	}
	if p.health == detect.Suspect && now.Sub(p.since) >= p.evict &&
		EvictionEvery(p.zone, p.nodes, p.zone == ZoneFull) > 0 {
		p.health = detect.Failed
	}
}

// Clone implements Policy.
func (p *Kube) Clone() Policy { c := *p; return &c }
