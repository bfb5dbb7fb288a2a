package search

import (
	"reflect"

	"holdfast/mesh"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// rule is how a field is encoded, when not by its type.
type rule struct {
	skip bool      // it decides nothing
	cap  when.Span // an instant that is only ever compared with this age
	calm when.Span // the same, once no pause can move the instant any more
	only string    // it decides something only while this bool of the same struct is true
	with encodeFunc
}

const resendMS = 1_000 // of package mesh

// rules are the exceptions, by package, type and field.
var rules = map[string]rule{
	"mesh.Node.c":            {skip: true}, // fixed; the machine has the boot
	"mesh.Node.self":         {skip: true}, // fixed
	"mesh.Node.out":          {skip: true}, // the step's own
	"mesh.Node.random":       {skip: true}, // nonces are references
	"mesh.Node.counted":      {skip: true}, // evidence
	"mesh.Node.verified":     {skip: true}, // a cache
	"mesh.Node.verifiedNext": {skip: true}, // of that
	"mesh.Node.started":      {cap: timing.FailMS},
	"mesh.session.key":       {skip: true}, // goes with peer
	"mesh.session.since":     {skip: true}, // evidence
	"mesh.session.sent":      {cap: timing.HeartbeatMS},
	"mesh.session.heard":     {with: encodeHeard},
	"mesh.Node.sessions":     {with: encodeSessions},
	"mesh.session.rest":      {cap: 0},
	"mesh.admission.until":   {cap: 0},

	"mesh.memberState.asked":   {cap: timing.WriteLeaseMS / 3},
	"mesh.memberState.heard":   {skip: true}, // the read lease: it outlasts every search
	"mesh.memberState.hello":   {cap: resendMS},
	"mesh.memberState.after":   {cap: 0},
	"mesh.memberState.dialled": {cap: timing.SuspectMS},
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

	"member.Entry.Heard":    {calm: timing.FailMS},
	"member.Entry.Echoed":   {calm: timing.SuspectMS + 1},
	"member.Entry.asked":    {with: encodeAcks},
	"member.Entry.Called":   {cap: resendMS},
	"member.Entry.LastAck":  {cap: timing.FailMS},
	"member.Entry.Pushed":   {cap: resendMS},
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

// encodeLease: a lease that has run out is none; the ring is read from the request that is
// forgotten next on, so that it does not matter where in it the ring begins.
func encodeLease(e *encoder, v reflect.Value) {
	from := v.FieldByName("from")
	counter := when.Instant(from.FieldByName("Counter").Int())
	if v.FieldByName("held").Bool() && e.now.Sub(counter) <= timing.WriteLeaseMS {
		e.buf = append(e.buf, 1)
		codeOf(from.Type())(e, from)
	} else {
		e.buf = append(e.buf, 0)
	}
	asks, next := v.FieldByName("asks"), int(v.FieldByName("next").Int())
	for i := range asks.Len() {
		a := asks.Index((next + i) % asks.Len())
		if nonce := a.FieldByName("nonce").Uint(); nonce != 0 {
			e.weak(i, nonce, a.FieldByName("sent"))
		}
	}
}

// encodeAcks are the answered nonces that the authority waits to see echoed; the place in the list
// says when one will be forgotten.
func encodeAcks(e *encoder, v reflect.Value) {
	for i := range v.Len() {
		a := v.Index(i)
		if nonce := a.FieldByName("nonce").Uint(); nonce != 0 {
			e.weak(i, nonce, a.FieldByName("sent"))
		}
	}
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

// encodeHeard: a member compares it with the suspicion time; beyond that only the order matters,
// also to a session that will be heard at this same instant.
func encodeHeard(e *encoder, v reflect.Value) {
	most := when.Span(1)
	if e.role == mesh.Member {
		most = timing.SuspectMS
	}
	e.age(when.Instant(v.Int()), most)
}

// encodeOwed: since when members have owed an acknowledgement is compared with the suspicion time,
// and a pause of the authority moves it; zero means that they owe none.
func encodeOwed(e *encoder, v reflect.Value) {
	e.uint(bit(v.Int() != 0))
	if v.Int() != 0 {
		silence(timing.SuspectMS)(e, v)
	}
}
