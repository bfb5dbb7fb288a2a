package search

import (
	"crypto/sha256"
	"fmt"
	"reflect"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// state is a node between two steps. It never changes, so that all worlds in which the node is in
// this state share it, and it remembers where its steps have led: the same input at the same time
// is carried out once, however many worlds it happens in. Steps of an earlier second are forgotten:
// the node of a machine that is stopped would else keep all that could have followed it.
type state struct {
	node  *mesh.Node
	look  mesh.Inspector
	now   when.Instant // the node's own time
	at    when.Span    // true time of the latest step
	epoch id.Epoch
	view  id.Digest

	code [sha256.Size]byte // of its canonical encoding
	refs []reference

	steps   []step // taken at the true time below
	stepsAt when.Span

	judged   bool
	rights   rights // if it has been judged: at the time below
	rightsAt stepTime
}

// step is one that has been taken from a state.
type step struct {
	in   input
	time stepTime
	next *state
	does []effect
}

// stepTime is all of the time that a step can see.
type stepTime struct {
	true    when.Span
	counter when.Instant
}

// effect is an effect, and the frame of a Send.
type effect struct {
	mesh.Effect
	frame *frame
}

// input is an input in a form that can be compared.
type input struct {
	kind    inputKind
	session mesh.Session
	frame   *frame
	ticket  mesh.Ticket
	arg     uint8 // an object, a machine, or the result of writing
	number  uint8 // of a replicated commit
}

type inputKind uint8

const (
	inTick inputKind = iota
	inFrame
	inUp // arg: which machine is at the other end
	inDown
	inDrained
	inPersisted // arg: the PersistError
	inRechecked
	inMove
	inCommit // arg: which object
	inWrite  // arg: which object
)

// frame is a frame on its way.
type frame struct {
	data []byte // without its prefix
	kind wire.Kind
	code []byte
	refs []reference
}

// frameOf is the frame with these bytes: the same one throughout a second, so that inputs can be
// compared.
func (c *cast) frameOf(data []byte) *frame {
	sum := sha256.Sum256(data)
	k := key(sum[:16])
	if known, ok := c.frames.get(k); ok {
		return known
	}
	epoch, m, err := wire.Parse(data)
	if err != nil {
		panic("search: a node has sent a malformed frame: " + err.Error())
	}
	var e encoder
	e.uint(uint64(m.Kind()))
	e.uint(uint64(epoch))
	v := reflect.ValueOf(m).Elem()
	codeOf(v.Type())(&e, v)
	f := &frame{data: data, kind: m.Kind(), code: e.buf, refs: e.refs}
	c.frames.put(k, f)
	return f
}

// stateOf is the state of a machine's node after a step. One that is known already is used again.
func (c *cast) stateOf(n *mesh.Node, m int, t stepTime) *state {
	s := &state{node: n, look: mesh.Inspect(n), at: t.true}
	s.now, s.epoch, s.view = s.look.Now(), s.look.Epoch(), s.look.Digest()
	v := reflect.ValueOf(n).Elem()
	e := encoder{buf: c.buf[:0], now: s.now, second: secondAt(t.true),
		read: when.Calendar(v.FieldByName("second").Int()),
		role: c.configs[m].Role, pauses: v.FieldByName("pauses").Uint(),
		joined: s.look.Joined(), dials: c.Sessions > 1, fence: c.configs[m].Timing.Fence(),
		staged: v.FieldByName("staged").FieldByName("ticket").Uint() != 0}
	codeOf(nodeType)(&e, v)
	s.code, s.refs = sha256.Sum256(e.buf), e.refs

	// The very same state is one of the same boot, has the same numbers in the place of its
	// references, and will make the same ones.
	e.uint(v.FieldByName("c").FieldByName("Boot").Uint())
	e.uint(uint64(s.at))
	e.uint(uint64(s.now))
	e.uint(v.FieldByName("random").FieldByName("count").Uint())
	for _, r := range e.refs {
		e.uint(r.value)
		e.buf = append(e.buf, r.more...)
	}
	c.buf = e.buf
	sum := sha256.Sum256(e.buf)
	known, _ := c.interned.put(key(sum[:16]), s)
	return known
}

// take returns where an input leads from s.
func (c *cast) take(s *state, m int, in input, t stepTime) *step {
	if s.stepsAt != t.true {
		s.steps, s.stepsAt = nil, t.true
	}
	for i := range s.steps {
		if s.steps[i].in == in && s.steps[i].time == t {
			return &s.steps[i]
		}
	}
	n := s.node.Clone()
	var out mesh.Effects
	n.Step(t.counter, c.inputOf(s, m, in, t), &out)
	s.steps = append(s.steps, step{in, t, c.stateOf(n, m, t), c.effectsOf(&out)})
	return &s.steps[len(s.steps)-1]
}

// effectsOf keeps what the surroundings carry out.
func (c *cast) effectsOf(out *mesh.Effects) []effect {
	var does []effect
	for _, e := range out.List {
		switch e := e.(type) {
		case mesh.Send:
			f := c.frameOf(e.Data[wire.PrefixSize:])
			does = append(does, effect{mesh.Send{Session: e.Session}, f})
		case mesh.Print:
			if c.speaks {
				does = append(does, effect{Effect: e})
			}
		case mesh.Answer:
			if e.Ticket >= firstWrite { // nobody waits for others
				e.Lines = nil
				does = append(does, effect{Effect: e})
			}
		default:
			does = append(does, effect{Effect: e})
		}
	}
	return does
}

func (c *cast) inputOf(s *state, m int, in input, t stepTime) mesh.Input {
	switch in.kind {
	case inTick:
		return mesh.Tick{Second: secondAt(t.true)}
	case inFrame:
		return mesh.Frame{Session: in.session, Data: in.frame.data}
	case inUp:
		return mesh.LinkUp{Session: in.session, Key: c.public(int(in.arg))}
	case inDown:
		return mesh.LinkDown{Session: in.session}
	case inDrained:
		return mesh.Drained{Session: in.session}
	case inPersisted:
		return mesh.Persisted{Err: mesh.PersistError(in.arg)}
	case inRechecked:
		return mesh.Rechecked{Ticket: in.ticket, Second: secondAt(t.true)}
	case inMove:
		return mesh.LabStep{Ticket: 1, Number: 2}
	case inCommit:
		return c.commit(m, c.objects[in.arg], max(1, s.epoch))
	case inWrite:
		return c.write(m, c.objects[in.arg], s.epoch, in.number)
	}
	panic(fmt.Sprintf("search: input %d", in.kind))
}

// commit is what a client at machine m asks for.
func (c *cast) commit(m int, o object, epoch id.Epoch) mesh.Request {
	return mesh.Request{Ticket: 1, Name: o.name, Op: wire.Commit, Class: wire.Lease,
		Durability: wire.Local, IfVersion: wire.AnyVersion,
		Capability: capability.Mint(capability.Capability{Object: o.id, Holder: c.ids[m],
			Epoch: epoch, Rights: capability.RightCommit, Serial: 1}, c.keys[root])}
}

// secondAt is what every machine's second clock shows at a true time.
func secondAt(t when.Span) when.Calendar { return when.Calendar(1_000_000 + t/when.Second) }
