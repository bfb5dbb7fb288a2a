package search

import (
	"reflect"

	"holdfast/mesh"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// rule is how a field is encoded, when not by its type.
type rule struct {
	skip  bool                  // it decides nothing
	cap   when.Span             // an instant that is only ever compared with this age
	only  string                // it decides something only while this bool of the same struct is true
	where func(e *encoder) bool // it decides something only at a node of which this is so
	with  encodeFunc            // is given the field
	of    encodeFunc            // is given the struct that the field is in
}

// Of package mesh.
const (
	resendMS = 1_000
	proofMS  = 6_000
)

// rules are the exceptions, by package, type and field.
var rules = map[string]rule{
	"mesh.Node.c":            {skip: true}, // fixed; the machine has the boot
	"mesh.Node.self":         {skip: true}, // fixed
	"mesh.Node.out":          {skip: true}, // the step's own
	"mesh.Node.random":       {skip: true}, // nonces are references
	"mesh.Node.counted":      {skip: true}, // evidence
	"mesh.Node.verified":     {skip: true}, // a cache
	"mesh.Node.verifiedNext": {skip: true}, // of that
	"mesh.Node.started":      {cap: timing.FailMS + proofMS, where: quarantined},
	"mesh.Node.authority":    {where: atAuthority},
	"mesh.Node.member":       {where: atMember},
	"mesh.session.key":       {skip: true}, // goes with peer
	"mesh.session.since":     {skip: true}, // evidence
	"mesh.session.sent":      {cap: timing.HeartbeatMS},
	"mesh.session.heard":     {with: encodeHeard},
	"mesh.Node.sessions":     {with: encodeSessions},
	"mesh.session.rest":      {cap: 0},
	"mesh.admission.until":   {cap: 0},

	"mesh.memberState.asked":   {cap: timing.WriteLeaseMS / 3, where: joined},
	"mesh.memberState.heard":   {skip: true}, // the read lease: it outlasts every search
	"mesh.memberState.hello":   {cap: resendMS},
	"mesh.memberState.after":   {cap: 0},
	"mesh.memberState.dialled": {cap: timing.SuspectMS, where: dialsAgain},
	"mesh.authority.pause":     {cap: 0},
	"mesh.damping.came":        {skip: true}, // all within the minute
	"mesh.damping.until":       {cap: 0},
	"mesh.change.retry":        {cap: 0},
	"mesh.move.until":          {cap: 0},
	"mesh.move.began":          {cap: timing.SuspectMS},
	"mesh.move.sent":           {cap: 2_000},
	"mesh.op.until":            {with: encodeUntil},
	"mesh.op.attempts":         {skip: true}, // evidence
	"mesh.op.sends":            {with: atMost(1)},
	"mesh.op.timeouts":         {skip: true}, // evidence
	"mesh.op.rows":             {skip: true}, // evidence
	"mesh.commit.until":        {with: encodeUntil, only: "waits"},
	"mesh.commit.sent":         {cap: resendMS},
	"mesh.commit.sends":        {with: atMost(2)},
	"mesh.queued.until":        {with: encodeUntil},
	"mesh.Node.pauses":         {skip: true}, // a staged commit compares it, and nobody else
	"mesh.staged.pauses":       {with: encodePauses},
	"mesh.authority.committed": {skip: true}, // asked only where failures are not detected

	"route.Object.StagedAt": {skip: true}, // the age that a stale read tells
	"route.Object.Owed":     {with: encodeOwed},

	"member.Entry.Heard":    {with: encodeSilence},
	"member.Entry.Echoed":   {cap: echoOver, where: atAuthority},
	"member.Entry.asked":    {with: encodeAcks},
	"member.Entry.Called":   {cap: resendMS, where: atAuthority},
	"member.Entry.LastAck":  {of: encodeLastAck},
	"member.Entry.Pushed":   {cap: resendMS, where: atAuthority},
	"member.Entry.DrainEnd": {cap: 0},
	"member.Wait.Until":     {cap: 0},

	"wire.Join.Signature":       {skip: true}, // follows from the rest
	"wire.StaleEpoch.Signature": {skip: true},
	"wire.Move.Signature":       {skip: true},
}

// whole are the types that are encoded in a way of their own.
var whole = map[string]encodeFunc{"lease.Write": encodeLease, "mesh.pace": encodePace}

// encodePace: what was done a resend time ago, or never, may be done now.
func encodePace(e *encoder, v reflect.Value) {
	age := e.now.Sub(when.Instant(v.FieldByName("last").Int()))
	if !v.FieldByName("begun").Bool() {
		age = resendMS
	}
	e.int(int64(min(age, resendMS)))
}

// encodeUntil: the time until which somebody waits is over, or still to come; a time after the end
// of every search never comes.
func encodeUntil(e *encoder, v reflect.Value) {
	e.int(int64(max(later, min(e.now.Sub(when.Instant(v.Int())), 0))))
}

// encodePauses: whether there has been a pause since the commit was staged.
func encodePauses(e *encoder, v reflect.Value) { e.uint(bit(e.staged && v.Uint() == e.pauses)) }

// atMost encodes a number that is only ever compared with smaller ones than most.
func atMost(most int64) encodeFunc {
	return func(e *encoder, v reflect.Value) { e.int(min(v.Int(), most)) }
}

// encodeLease: a lease that has run out, by either clock, is none; the ring is read from the
// request that is forgotten next on, so that it does not matter where in it the ring begins. A
// request that can give no lease any more is as old as any other such one.
func encodeLease(e *encoder, v reflect.Value) {
	if from := v.FieldByName("from"); v.FieldByName("held").Bool() && !e.over(from) {
		e.buf = append(e.buf, 1)
		codeOf(from.Type())(e, from)
	} else {
		e.buf = append(e.buf, 0)
	}
	asks, next := v.FieldByName("asks"), int(v.FieldByName("next").Int())
	for i := range asks.Len() {
		a := asks.Index((next + i) % asks.Len())
		if nonce := a.FieldByName("nonce").Uint(); nonce != 0 {
			e.weak(i, nonce, func(sub *encoder) {
				if sent := a.FieldByName("sent"); !e.over(sent) {
					codeOf(sent.Type())(sub, sent)
				}
			})
		}
	}
}

// over reports whether a lease that counts from a reading of both clocks is over for good, as the
// node reads them.
func (e *encoder) over(from reflect.Value) bool {
	if e.now.Sub(when.Instant(from.FieldByName("Counter").Int())) > timing.WriteLeaseMS {
		return true
	}
	second := when.Calendar(from.FieldByName("Second").Int())
	return second != when.NoSecond && e.read != when.NoSecond &&
		e.read.Sub(second) > timing.WriteLeaseMS
}

// echoOver is an age of what a member has echoed at which it hears nothing, whatever its age.
const echoOver = timing.SuspectMS + 1

// encodeAcks are the answered nonces that the authority waits to see echoed; the place in the list
// says when one will be forgotten. The echo of one that is too old for it says nothing.
func encodeAcks(e *encoder, v reflect.Value) {
	for i := range v.Len() {
		a := v.Index(i)
		age := e.now.Sub(when.Instant(a.FieldByName("sent").Int()))
		if nonce := a.FieldByName("nonce").Uint(); nonce != 0 && age < echoOver {
			e.weak(i, nonce, func(sub *encoder) { sub.int(int64(age)) })
		}
	}
}

// encodeLastAck: the latest acknowledgement puts a conviction off for the failure window, but no
// longer than the frame that it answered, which was heard no earlier; beside that it fences for as
// long as the fence lasts.
func encodeLastAck(e *encoder, entry reflect.Value) {
	if !entry.FieldByName("Acked").Bool() {
		return
	}
	most := when.Span(timing.FailMS)
	last := when.Instant(entry.FieldByName("LastAck").Int())
	if last <= when.Instant(entry.FieldByName("Heard").Int()) {
		most = e.fence
	}
	e.age(last, most)
}

// encodeSilence: the authority convicts by it, a member only suspects.
func encodeSilence(e *encoder, v reflect.Value) {
	most := when.Span(timing.FailMS)
	if e.role == mesh.Member {
		most = timing.SuspectMS
	}
	e.age(when.Instant(v.Int()), most)
}

// encodeSessions adds the order in which sessions were last heard: the best of them is the latest.
func encodeSessions(e *encoder, v reflect.Value) {
	heard := func(i int) int64 { return v.Index(i).FieldByName("heard").Int() }
	e.uint(uint64(v.Len()))
	for i := range v.Len() {
		rank := 0
		for j := range v.Len() {
			if heard(j) < heard(i) {
				rank++
			}
		}
		e.uint(uint64(rank))
		codeOf(v.Type().Elem())(e, v.Index(i))
	}
}

// encodeHeard: a member that may dial again compares it with the suspicion time; beyond that only
// the order matters, also to a session that will be heard at this same instant.
func encodeHeard(e *encoder, v reflect.Value) {
	most := when.Span(1)
	if e.role == mesh.Member && e.dials {
		most = timing.SuspectMS
	}
	e.age(when.Instant(v.Int()), most)
}

// encodeOwed: since when members have owed an acknowledgement is compared with the suspicion time;
// zero means that they owe none.
func encodeOwed(e *encoder, v reflect.Value) {
	e.uint(bit(v.Int() != 0))
	if v.Int() != 0 {
		e.age(when.Instant(v.Int()), timing.SuspectMS)
	}
}

// What a node must be for some of its fields to decide anything.
func atAuthority(e *encoder) bool { return e.role == mesh.Authority }
func atMember(e *encoder) bool    { return e.role == mesh.Member }
func joined(e *encoder) bool      { return e.joined }
func quarantined(e *encoder) bool { return atAuthority(e) && !e.joined }
func dialsAgain(e *encoder) bool  { return e.dials }
