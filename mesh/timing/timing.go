// Package timing holds the mesh's timing constants and the relations between them that safety rests
// on. A build whose constants break a relation does not compile; a configuration that breaks one is
// refused with a reason (rules L3 and L14 of spec/system.md section 9; ADR-0008 sections 1 and 4).
//
// What keeps an old home from committing is one of two things: its write lease, which the failure
// window has to outlast (L3), or, with AcksAll, the acknowledgement of the authority, without which
// no commit is answered. Then no time is a matter of safety, and the window has to outlast only
// what a member that lives may be silent for (docs/decisions/0012-acks-all.md).
package timing

import (
	"errors"

	"holdfast/mesh/when"
)

// The constants of ADR-0008, in milliseconds.
const (
	HeartbeatMS  = 5_000   // transmit-idle time after which a Ping is sent
	SuspectMS    = 6_000   // silence that makes a member Suspect
	FailMS       = 12_000  // silence that makes a member Failed
	WriteLeaseMS = 6_000   // mutable service after the sending of an acknowledged LeaseReq
	ReadLeaseMS  = 120_000 // reads after the last accepted frame of the authority
)

// The bounds of rule L3.
const (
	// DriftPercent is how far two nodes' counters may differ in rate from true time, each.
	DriftPercent = 1
	// HandlerMS is D: how long a step and what carries out its effects may take.
	HandlerMS = 250
	// GrainMS is eps: truncation to milliseconds, on both sides, with room.
	GrainMS = 50
	// SecondClockMS is the resolution of the second clock that times a lease too (rule L6). By that
	// clock a lease lasts up to its next whole number of these, and one more.
	SecondClockMS = 1_000
	// FenceMS is the least time after the last LeaseAck to a node from which its objects may be
	// served elsewhere: at least (W+1)/(1-rho)+D+eps, W in whole seconds,
	// rounded up.
	FenceMS = 7_500
	// TickMS is the longest time between two steps of a healthy node.
	TickMS = 250
	// PauseMS is the gap between two steps above which the node itself was not running (rule L5).
	PauseMS = 1_000
	// marginMS: a bound must hold by more than this, since a lease is valid at now == until while a
	// conviction happens at >=, and both sides truncate.
	marginMS = 2
)

// Compile errors when broken: a negative constant does not fit a uint.
const (
	// L3: (W+1)/(1-rho) + D + eps <= F/(1+rho), multiplied by (100-rho)(100+rho)/100, with W in
	// whole seconds, rounded up.
	_ uint = FailMS*fast - longestMS*slow - spare*scale/100 - 1
	// The ADR's own margin: heartbeat + write lease < failure window.
	_ uint = FailMS - (HeartbeatMS + WriteLeaseMS) - marginMS - 1
	// W < FENCE < F, and FENCE covers the lease with drift and handling.
	_ uint = FenceMS - WriteLeaseMS - 1
	_ uint = FailMS - FenceMS - 1
	_ uint = FenceMS*(100-DriftPercent) - longestMS*100 -
		(HandlerMS+GrainMS)*(100-DriftPercent)
	// Suspicion comes before failure, after a heartbeat could have been heard.
	_ uint = FailMS - SuspectMS - 1
	_ uint = SuspectMS - HeartbeatMS - 1
)

const (
	fast  = 100 - DriftPercent
	slow  = 100 + DriftPercent
	scale = fast * slow
	spare = HandlerMS + GrainMS + marginMS

	// longestMS is how long a lease may last by the second clock.
	longestMS = (WriteLeaseMS+SecondClockMS-1)/SecondClockMS*SecondClockMS + SecondClockMS
)

// Timing is one node's timing configuration, the same on every node of a mesh.
type Timing struct {
	Heartbeat, Suspect, Fail, WriteLease when.Span

	// AcksAll says that the write lease gives no right: every commit needs the acknowledgement of
	// all members, the authority's among them. What is left of the lease is how long a member goes
	// on taking commits after the authority last answered it.
	AcksAll bool
}

// What keeps an old home from committing: the words of FencedBy.
const (
	FenceLease = "lease" // its write lease is over before anybody else begins
	FenceAcks  = "acks"  // nobody acknowledges its commits any more
)

// FencedBy names what keeps an old home from committing in a mesh with this timing.
func (t Timing) FencedBy() string {
	if t.AcksAll {
		return FenceAcks
	}
	return FenceLease
}

// Default is the ADR's.
var Default = Timing{Heartbeat: HeartbeatMS, Suspect: SuspectMS, Fail: FailMS,
	WriteLease: WriteLeaseMS}

// Fast is near the shortest that rule L3 leaves to nodes whose second clock counts whole seconds.
var Fast = Timing{Heartbeat: 300, Suspect: 1_200, Fail: 2_400, WriteLease: 400}

// OneSecond finds a node that is gone in about a second, which no lease leaves the time for.
var OneSecond = Timing{Heartbeat: 300, Suspect: 600, Fail: 1_000, WriteLease: 600, AcksAll: true}

// The reasons a Timing is refused.
var (
	ErrOrder = errors.New("timing: want 0 < heartbeat < suspect < fail <= 3600000 and 0 < lease")
	ErrADR   = errors.New("timing: heartbeat + write lease must be less than fail")
	ErrL3    = errors.New("timing: (lease in whole seconds + 1 s)/(1-1%) + 300 ms must be " +
		"at most fail/(1+1%)")
	ErrAcks = errors.New("timing: (two thirds of the lease + a quarter of fail, at most 1 s)/(1-1%) " +
		"+ 300 ms must be at most fail/(1+1%)")
	ErrLab = errors.New("timing: a lab step commits locally, which nobody may without a lease")
)

const maxFailMS = 3_600_000

// Check reports which relation t breaks, if any. Every mesh node calls it before it joins.
func (t Timing) Check() error {
	switch {
	case t.Heartbeat <= 0 || t.WriteLease <= 0 || t.Suspect <= t.Heartbeat ||
		t.Fail <= t.Suspect || t.Fail > maxFailMS:
		return ErrOrder
	case t.Fail-(t.Heartbeat+t.WriteLease) <= marginMS:
		return ErrADR
	case t.Fail*fast > t.outlasts()*slow+spare*scale/100:
		return nil
	case t.AcksAll:
		return ErrAcks
	}
	return ErrL3
}

// CheckLab reports why nodes with these times cannot carry out the lab's steps, if that is asked
// for.
func (t Timing) CheckLab(lab bool) error {
	if lab && t.AcksAll {
		return ErrLab
	}
	return nil
}

// outlasts is what the failure window has to be longer than: the lease of the member that is to be
// convicted; without leases, its silence if it lives, when one of its questions is lost and it
// stands still for a time that it does not notice.
func (t Timing) outlasts() when.Span {
	if t.AcksAll {
		return 2*t.Ask() + t.Pause()
	}
	return t.longest()
}

// longest is how long a lease may last by the second clock, which counts whole seconds: one that
// ends within a second is told from an older one only when that second is over, and the reading may
// be as old as a second itself.
func (t Timing) longest() when.Span {
	return (t.WriteLease+SecondClockMS-1)/SecondClockMS*SecondClockMS + SecondClockMS
}

// Spare is the true time that rule L3 leaves between what a lease allowed and the conviction, with
// drift, handling and truncation at their worst, rounded down; negative when the rule is broken.
// Without leases, it is what is left beyond the longest silence of a member that lives.
func (t Timing) Spare() when.Span {
	left := (t.Fail*fast - t.outlasts()*slow - spare*scale/100) * 100
	whole := left / scale
	if left%scale < 0 {
		whole--
	}
	return whole
}

// Tick is the longest time between two steps: min(250 ms, W/8) (rule L5).
func (t Timing) Tick() when.Span { return max(1, min(TickMS, t.WriteLease/8)) }

// Pause is the gap between two steps above which this node was not running: min(1 s, W/4) (rule
// L5); a quarter of the failure window where a pause can cost no more than a false suspicion.
func (t Timing) Pause() when.Span {
	if t.AcksAll {
		return max(1, min(PauseMS, t.Fail/4))
	}
	return max(1, min(PauseMS, t.WriteLease/4))
}

// Ask is the time between two LeaseReqs: a third of the lease (failure.md, U23).
func (t Timing) Ask() when.Span { return max(1, t.WriteLease/3) }

// Fence is the time after the last LeaseAck to a node from which its objects may be served
// elsewhere (rule L16): at once where no lease gives a right.
func (t Timing) Fence() when.Span {
	if t.AcksAll {
		return 0
	}
	return (t.longest()*100+fast-1)/fast + FenceMS - fenceDefault
}

// fenceDefault is what Fence's formula gives for the default lease, without rounding FENCE up.
const fenceDefault = (longestMS*100 + fast - 1) / fast
