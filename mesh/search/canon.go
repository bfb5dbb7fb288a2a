package search

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/lease"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// A canonical encoding of a node's state is made from its types, by reflection: every field is in
// it, those that somebody adds tomorrow included, unless rules says why not. Two states with the
// same encoding have the same future:
//
//   - an instant stands as its age, so that the same history one second later is the same state; an
//     age above the only bound that it is ever compared with is that bound;
//   - nonces and sessions stand as references: the world numbers them in the order in which they
//     appear, since a node compares them and does nothing else with them;
//   - what only evidence and caches are made of is left out.
//
// TestMergedStatesHaveTheSameFuture holds this against states that were merged.

// reference is a nonce or a session in an encoding.
type reference struct {
	kind  refKind
	value uint64
	more  string // for a weak one: what goes with it
}

type refKind uint8

const (
	refNonce   refKind = iota
	refSession         // a session's number
	refWeak            // a nonce that the node only waits for: forgotten when nobody else has it
)

// encoder builds one encoding.
type encoder struct {
	buf    []byte
	refs   []reference
	now    when.Instant
	second when.Calendar // true
	read   when.Calendar // the node's latest reading of it
	role   mesh.Role
	pauses uint64 // of the node
	staged bool   // a commit is between its checks
	joined bool
	dials  bool      // its adapter carries out a Dial
	fence  when.Span // rule L16's
}

type encodeFunc func(e *encoder, v reflect.Value)

func (e *encoder) uint(u uint64) { e.buf = binary.AppendUvarint(e.buf, u) }
func (e *encoder) int(i int64)   { e.buf = binary.AppendVarint(e.buf, i) }

// age encodes an instant, one further back than most as most. An instant of zero, before every
// boot, means never in some fields.
func (e *encoder) age(t when.Instant, most when.Span) {
	e.uint(bit(t == 0))
	e.int(int64(min(e.now.Sub(t), most)))
}

const unbounded = when.Span(1) << 60 // what no age is above

// weak adds a nonce that the node waits for, with its place among those and what it stands for.
func (e *encoder) weak(place int, nonce uint64, with func(sub *encoder)) {
	sub := encoder{now: e.now, second: e.second}
	sub.uint(uint64(place))
	with(&sub)
	e.refs = append(e.refs, reference{refWeak, nonce, string(sub.buf)})
}

var (
	instantType  = reflect.TypeFor[when.Instant]()
	calendarType = reflect.TypeFor[when.Calendar]()
	nonceType    = reflect.TypeFor[id.Nonce]()
	sessionType  = reflect.TypeFor[mesh.Session]()
	nodeType     = reflect.TypeFor[mesh.Node]()
)

// codes are the compiled encodings of types. The package compiles all that it needs before it is
// used, so that nothing is written while many goroutines encode.
var codes = map[reflect.Type]encodeFunc{}

func init() {
	compile(nodeType)
	compile(reflect.TypeFor[lease.Clocks]())
	for _, m := range []wire.Message{&wire.Ping{}, &wire.Pong{}, &wire.LeaseReq{}, &wire.LeaseAck{},
		&wire.JoinReq{}, &wire.Challenge{}, &wire.Join{}, &wire.JoinState{}, &wire.JoinReady{},
		&wire.Confirm{}, &wire.Refuse{}, &wire.View{}, &wire.ViewAck{}, &wire.ViewReq{},
		&wire.StaleEpoch{}, &wire.RouteReq{}, &wire.RouteRep{}, &wire.Move{}, &wire.MoveAck{},
		&wire.Record{}, &wire.RecordAck{}, &wire.RecordRefuse{}, &wire.Published{}, &wire.Forward{}} {
		compile(reflect.TypeOf(m).Elem())
	}
}

func codeOf(t reflect.Type) encodeFunc {
	f := codes[t]
	if f == nil {
		panic("search: no encoding of " + t.String())
	}
	return f
}

func compile(t reflect.Type) encodeFunc {
	if f := codes[t]; f != nil {
		return f
	}
	f := compileType(t)
	codes[t] = f
	return f
}

func compileType(t reflect.Type) encodeFunc {
	if f := whole[t.String()]; f != nil {
		return f
	}
	switch t {
	case instantType:
		return instant(unbounded)
	case calendarType:
		return calendar
	case nonceType:
		return refer(refNonce)
	case sessionType:
		return refer(refSession)
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(e *encoder, v reflect.Value) { e.uint(bit(v.Bool())) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(e *encoder, v reflect.Value) { e.int(v.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(e *encoder, v reflect.Value) { e.uint(v.Uint()) }
	case reflect.String:
		return func(e *encoder, v reflect.Value) {
			e.uint(uint64(v.Len()))
			e.buf = append(e.buf, v.String()...)
		}
	case reflect.Slice, reflect.Array:
		return list(t)
	case reflect.Pointer:
		to := compile(t.Elem())
		return func(e *encoder, v reflect.Value) {
			e.uint(bit(!v.IsNil()))
			if !v.IsNil() {
				to(e, v.Elem())
			}
		}
	case reflect.Struct:
		return fields(t)
	}
	panic(fmt.Sprintf("search: states with a %v cannot be compared", t))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// instant encodes an instant that is compared with no age above most.
func instant(most when.Span) encodeFunc {
	return func(e *encoder, v reflect.Value) { e.age(when.Instant(v.Int()), most) }
}

func calendar(e *encoder, v reflect.Value) {
	if s := when.Calendar(v.Int()); s != when.NoSecond {
		e.int(int64(e.second - s))
		return
	}
	e.int(int64(unbounded))
}

func refer(kind refKind) encodeFunc {
	return func(e *encoder, v reflect.Value) {
		e.uint(bit(v.Uint() != 0))
		if v.Uint() != 0 {
			e.refs = append(e.refs, reference{kind: kind, value: v.Uint()})
		}
	}
}

func list(t reflect.Type) encodeFunc {
	if t.Elem().Kind() == reflect.Uint8 {
		return func(e *encoder, v reflect.Value) {
			e.uint(uint64(v.Len()))
			e.buf = append(e.buf, v.Bytes()...)
		}
	}
	each := compile(t.Elem())
	array := t.Kind() == reflect.Array
	return func(e *encoder, v reflect.Value) {
		if array && v.IsZero() {
			e.buf = append(e.buf, 0)
			return
		}
		e.uint(uint64(1 + v.Len()))
		for i := range v.Len() {
			each(e, v.Index(i))
		}
	}
}

// fields encodes a struct field by field.
func fields(t reflect.Type) encodeFunc {
	type field struct {
		i     int
		f     encodeFunc
		only  int // -1, or the bool that says whether it decides anything
		where func(e *encoder) bool
		of    bool // the struct is given to f, not the field
	}
	var fs []field
	for i := range t.NumField() {
		r := rules[t.String()+"."+t.Field(i).Name]
		_, ruled := rules[t.String()+"."+t.Field(i).Name]
		f := r.with
		switch {
		case r.skip:
			continue
		case f != nil:
			if k := t.Field(i).Type.Kind(); k == reflect.Slice || k == reflect.Array {
				compile(t.Field(i).Type.Elem())
			}
		case r.of != nil:
			f = r.of
		case ruled && t.Field(i).Type == instantType:
			f = instant(r.cap)
		default:
			f = compile(t.Field(i).Type)
		}
		fs = append(fs, field{i, f, fieldNamed(t, r.only), r.where, r.of != nil})
	}
	return func(e *encoder, v reflect.Value) {
		for i := range fs {
			f := &fs[i]
			switch {
			case f.only >= 0 && !v.Field(f.only).Bool() || f.where != nil && !f.where(e):
			case f.of:
				f.f(e, v)
			default:
				f.f(e, v.Field(f.i))
			}
		}
	}
}

// fieldNamed is the index of a field that comes before those that depend on it, -1 for no name.
func fieldNamed(t reflect.Type, name string) int {
	if name == "" {
		return -1
	}
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != reflect.Bool {
		panic("search: " + t.String() + " has no bool " + name)
	}
	return f.Index[0]
}
