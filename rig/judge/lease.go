package judge

import (
	"fmt"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

const (
	writeLease = timing.WriteLeaseMS * time.Millisecond
	readLease  = timing.ReadLeaseMS * time.Millisecond
	// grain is what reading two clocks may cost a bound that spans both.
	grain = timing.GrainMS * time.Millisecond
)

// leaseIn is the write lease of nodes with that timing.
func leaseIn(t timing.Timing) time.Duration {
	return time.Duration(t.WriteLease) * time.Millisecond
}

// AuthorityLost asks whether an isolated member says once, in time and in these words that it has
// lost the authority: as soon as its write lease is over and the authority is silent for too long.
func AuthorityLost(epoch id.Epoch, member, authority string, t timing.Timing) Check {
	return Check{
		Name: "authority-lost", Source: "ADR 4, 6",
		Claim: fmt.Sprintf("%s says that it has lost %s when its lease is over and %s is suspect, "+
			"at most %v late; it is immutable then and reads under its lease",
			member, authority, authority, lateMost),
		ask: func(q *inquiry) { q.authorityLost(epoch, member, authority, t) },
	}
}

func (q *inquiry) authorityLost(
	epoch id.Epoch, member, authority string, t timing.Timing,
) {
	cut, ok := q.isolated(member)
	if !ok {
		return
	}
	lost, ok := q.only(member, "state=lost", "mesh-fail", "authority")
	if !ok {
		return
	}
	if !cut.within(lost.N) {
		q.violated("%s has lost %s while they were not cut off", member, authority)
	}
	q.want("the loss", lost.Line, "epoch="+epoch.String(), "root="+q.run.ID(authority).String(),
		"mutable=0", "reads=lease")
	silence := Lost.In(t)
	suspect, ok := q.crossing(silence, member, authority)
	if !ok {
		return
	}
	sent, ok := lost.GetInstant("lease_sent_ms")
	if !ok {
		q.violated("the loss names no lease")
		return
	}
	if q.stalled(member, cut.cut.N, lost.N) > 0 {
		q.missing("%s did not run all the time: that ends a lease early", member)
		return
	}
	at, _ := lost.Time()
	heard := heardAt(suspect)
	due := max(guest(sent)+leaseIn(t)+millisecond, guest(heard)+silence.After)
	q.margin("said late by", guest(at)-due, 0, 0, lateMost)

	a, ok := q.pick(member, "GET", "/mesh/route", false, after(lost.Seen))
	if !ok {
		return
	}
	row, ok := a.first("mesh-route", "authority")
	if !ok {
		q.violated("GET /mesh/route of %s has no authority row", member)
		return
	}
	q.want(member+"'s authority row", row, "state=lost", "epoch="+epoch.String(), "mutable=0",
		"write_lease_ms=0", fmt.Sprintf("lease_sent_ms=%d", sent))
}

// heardAt is when the node last heard of the peer that it suspects, by its own account.
func heardAt(suspect Row) when.Instant {
	at, _ := suspect.Time()
	silent, _ := suspect.GetSpan("silent_ms")
	return at - when.Instant(silent)
}

// LeaseBound asks whether an isolated member stopped committing when its write lease was over: the
// lease counts from when the member sent the request that was answered last (rule L1).
func LeaseBound(member string, t timing.Timing) Check {
	return Check{
		Name: "lease-bound", Source: "ADR 4, L1",
		Claim: fmt.Sprintf("%s's last accepted commit is at most %v after it sent its last "+
			"acknowledged lease request, and it refuses all later ones", member, leaseIn(t)),
		ask: func(q *inquiry) { q.leaseBound(member, leaseIn(t)) },
	}
}

func (q *inquiry) leaseBound(member string, lease time.Duration) {
	last, next, ok := q.lastCommit(member)
	if !ok {
		return
	}
	lost, ok := q.only(member, "state=lost", "mesh-fail", "authority")
	if !ok {
		return
	}
	sent, ok := lost.GetInstant("lease_sent_ms")
	if !ok {
		q.violated("the loss names no lease")
		return
	}
	at, _ := last.Time()
	if at < sent {
		q.missing("%s committed nothing under its last lease", member)
		return
	}
	q.margin("committed until", guest(at)-guest(sent), 0, 0, lease)
	if next.count == 0 {
		return
	}
	gap := next.sent.Sub(last.sent)
	if gap > sparse {
		q.missing("%s tried no commit for %s after the last accepted one", member, seconds(gap))
	}
	q.fact("refused %s later with %s, %d times in all", seconds(gap), next.word, next.count)
}

// LeaseBoundByFrames asks the same without trusting the member's word on when it had sent what: the
// answer to that request passed the relay after it, and no later than the last frame that did.
func LeaseBoundByFrames(member, authority string, t timing.Timing) Check {
	return Check{
		Name: "lease-bound-rig-clock", Source: "ADR 4, L1",
		Claim: fmt.Sprintf("by the rig's clock, %s's last accepted commit is at most %v after the "+
			"last frame from %s passed the relay", member, leaseIn(t), authority),
		ask: func(q *inquiry) {
			last, _, ok := q.lastCommit(member)
			if !ok {
				return
			}
			_, to, ok := q.instant(last.Row)
			if !ok {
				return
			}
			frame, ok := q.run.lastFrame(authority, member, to)
			if !ok {
				q.missing("no frame of %s to %s was seen", authority, member)
				return
			}
			q.cite(frame.N)
			q.margin("committed until", to.Sub(frame.At), 0, 0, leaseIn(t)+grain)
		},
	}
}

// BeforeRehome asks whether the last commit that the isolated member accepted was before its
// objects had another home, on the rig's clock and with all that is unknown of both clocks against
// it.
func BeforeRehome(epoch id.Epoch, member, authority string) Check {
	return Check{
		Name: "commits-before-rehome", Source: "ADR 4",
		Claim: fmt.Sprintf("by the rig's clock, %s's last accepted commit is before %s re-homes "+
			"anything at epoch %v", member, authority, epoch),
		ask: func(q *inquiry) { q.beforeRehome(epoch, member, authority) },
	}
}

func (q *inquiry) beforeRehome(epoch id.Epoch, member, authority string) {
	last, _, ok := q.lastCommit(member)
	if !ok {
		return
	}
	lost, ok1 := q.only(member, "state=lost", "mesh-fail", "authority")
	view, ok2 := q.only(authority, "epoch="+epoch.String(), "mesh-view", "installed")
	if !ok1 || !ok2 {
		return
	}
	sent, ok := lost.GetInstant("lease_sent_ms")
	clock, even := q.run.clockAt(member, lost.N)
	if !ok || !even {
		q.missing("when %s asked for its last lease is not known", member)
		return
	}
	_, commit, ok1 := q.instant(last.Row)
	rehome, _, ok2 := q.instant(view)
	if !ok1 || !ok2 {
		return
	}
	asked, _ := clock.at(sent)
	const instant = time.Microsecond // of the journal's clock: strictly before
	q.margin("committed until", commit.Sub(asked), 0, 0, rehome.Sub(asked)-instant)
	q.fact("re-homed at %s, both since the last lease request", seconds(rehome.Sub(asked)))
}

// ReadLease asks how long an isolated member serves reads: to the end of the read lease, which
// counts from the last frame that it accepted from the authority, and not longer.
func ReadLease(member, authority string) Check {
	return Check{
		Name: "read-lease", Source: "ADR 4, 5",
		Claim: fmt.Sprintf("%s serves reads for %v after it last heard of %s and then refuses them "+
			"with not-current", member, readLease, authority),
		ask: func(q *inquiry) { q.readLease(member, authority) },
	}
}

func (q *inquiry) readLease(member, authority string) {
	cut, ok := q.isolated(member)
	if !ok {
		return
	}
	suspect, ok := q.crossing(Lost, member, authority)
	if !ok {
		return
	}
	if q.stalled(member, cut.cut.N, suspect.N) > 0 {
		q.missing("%s did not run all the time: when it last heard of %s is not known", member,
			authority)
		return
	}
	heard := heardAt(suspect)
	var served, refused *Row
	for _, row := range q.run.rows(member, "mesh-route", "result") {
		local := fieldOf(row.Line, "op") == "stat" && fieldOf(row.Line, "class") == "lease" &&
			fieldOf(row.Line, "home") == q.run.ID(member).String()
		switch {
		case !local || !cut.within(row.N):
		case fieldOf(row.Line, "status") == "ok":
			served = &row
		case refused == nil:
			refused = &row
		}
	}
	if served == nil || refused == nil {
		q.missing("%s was not asked to read until it refused", member)
		return
	}
	q.cite(served.N, refused.N)
	q.want("the refused read", refused.Line, "status=not-current", "sends=0")
	last, _ := served.Time()
	first, _ := refused.Time()
	q.margin("read until", guest(last)-guest(heard), 0, 0, readLease)
	q.margin("refused from", guest(first)-guest(heard), 0, readLease+millisecond,
		readLease+sparseReads)
	a, ok := q.pick(member, "GET", "/mesh/homes", false, after(refused.Seen))
	if !ok {
		return
	}
	for _, h := range a.homes() {
		if h.node == q.run.ID(member) {
			q.want(member+"'s row of "+q.run.object(h.object), h.line, "lease=active", "read_ms=0",
				"write_ms=0")
		}
	}
}

// sparseReads is how long after the lease's end a refused read still shows that it did not last
// longer.
const sparseReads = 5 * time.Second
