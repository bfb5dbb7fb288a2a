package tape

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2s"

	"holdfast/mesh"
	"holdfast/mesh/evidence"
)

// Values are written by their types, so that a field that is added to an input is on the tape from
// then on, and nothing has to be listed here but the types behind the two interfaces:
//
//	int, uint             varint, uvarint
//	bool                  a byte, 0 or 1
//	string                uvarint length, bytes
//	evidence.Line         as the string that it is
//	array                 its elements; of bytes: the bytes
//	slice                 uvarint: 0 for nil, else the length and one; its elements
//	pointer               a byte, 0 for nil; what it points to
//	struct                its fields, all of which are exported
//	mesh.Input, .Effect   a byte: which type; the value

// inputs and effects are the types behind the interfaces, in an order that is the tape's own.
var (
	inputs = types(mesh.Tick{}, mesh.LinkUp{}, mesh.LinkDown{}, mesh.Frame{}, mesh.Drained{},
		mesh.Rechecked{}, mesh.LabStep{}, mesh.Request{}, mesh.Persisted{}, mesh.StartEmpty{})
	effects = types(mesh.Send{}, mesh.Close{}, mesh.Dial{}, mesh.Drain{}, mesh.Recheck{},
		mesh.Persist{}, mesh.Print{}, mesh.Answer{})

	behind = map[reflect.Type][]reflect.Type{
		reflect.TypeFor[mesh.Input]():  inputs,
		reflect.TypeFor[mesh.Effect](): effects,
	}
	lineType = reflect.TypeFor[evidence.Line]()
)

func types(values ...any) []reflect.Type {
	var list []reflect.Type
	for _, v := range values {
		list = append(list, reflect.TypeOf(v))
	}
	return list
}

// Form names what values look like: BLAKE2s-256 of the types that a head and a step are made of,
// its first 16 bytes. Two programs with one form can read each other's tapes.
func Form() [16]byte { return form }

var form = func() [16]byte {
	var b strings.Builder
	describe(&b, reflect.TypeFor[Head]())
	describe(&b, reflect.TypeFor[Step]())
	sum := blake2s.Sum256([]byte(b.String()))
	return [16]byte(sum[:])
}()

// describe writes a type down as far as a tape shows it.
func describe(b *strings.Builder, t reflect.Type) {
	b.WriteString(t.Kind().String())
	switch t.Kind() {
	case reflect.Array:
		fmt.Fprintf(b, " %d", t.Len())
		describe(b, t.Elem())
	case reflect.Slice, reflect.Pointer:
		describe(b, t.Elem())
	case reflect.Interface:
		for _, x := range behind[t] {
			describe(b, x)
		}
	case reflect.Struct:
		b.WriteString(" " + t.Name() + "{")
		for i := range t.NumField() {
			b.WriteString(t.Field(i).Name + " ")
			describe(b, t.Field(i).Type)
		}
		b.WriteString("}")
	}
	b.WriteString(";")
}

// AppendEffects encodes effects as a step has them: two lists with the same bytes are the same.
func AppendEffects(dst []byte, list []mesh.Effect) []byte {
	for i := range list {
		dst = appendValue(dst, &list[i])
	}
	return dst
}

// appendValue encodes what v points to.
func appendValue(dst []byte, v any) []byte { return encode(dst, reflect.ValueOf(v).Elem()) }

func encode(dst []byte, v reflect.Value) []byte {
	t := v.Type()
	if t == lineType {
		return encodeString(dst, v.Interface().(evidence.Line).String())
	}
	switch t.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(dst, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(dst, v.Uint())
	case reflect.String:
		return encodeString(dst, v.String())
	case reflect.Array:
		return encodeElements(dst, v)
	case reflect.Slice:
		if v.IsNil() {
			return append(dst, 0)
		}
		return encodeElements(binary.AppendUvarint(dst, uint64(v.Len())+1), v)
	case reflect.Pointer:
		if v.IsNil() {
			return append(dst, 0)
		}
		return encode(append(dst, 1), v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			dst = encode(dst, v.Field(i))
		}
		return dst
	case reflect.Interface:
		i := slices.Index(behind[t], v.Elem().Type())
		if i < 0 {
			panic("tape: no place for a " + v.Elem().Type().String())
		}
		return encode(append(dst, byte(i)), v.Elem())
	}
	panic("tape: no form for a " + t.String())
}

func encodeString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func encodeElements(dst []byte, v reflect.Value) []byte {
	if v.Type().Elem().Kind() == reflect.Uint8 && (v.Kind() == reflect.Slice || v.CanAddr()) {
		return append(dst, v.Bytes()...)
	}
	for i := range v.Len() {
		e := v.Index(i)
		if e.Kind() == reflect.Uint8 {
			dst = append(dst, byte(e.Uint()))
			continue
		}
		dst = encode(dst, e)
	}
	return dst
}
