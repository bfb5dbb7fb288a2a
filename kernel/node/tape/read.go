package tape

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"holdfast/mesh/evidence"
)

// readValue decodes into what v points to and returns what follows. The value shares no memory with
// b, and takes at most some hundred times as much.
func readValue(b []byte, v any) ([]byte, error) {
	d := decoder{in: b}
	d.decode(reflect.ValueOf(v).Elem())
	if d.wrong != "" {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, d.wrong)
	}
	return d.in, nil
}

// decoder reads what encode writes. After the first mistake everything is zero.
type decoder struct {
	in    []byte
	wrong string
}

func (d *decoder) fail(what string) {
	if d.wrong == "" {
		d.wrong = what
	}
	d.in = nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.in)
	if n <= 0 {
		d.fail("no number")
		return 0
	}
	d.in = d.in[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.in)
	if n <= 0 {
		d.fail("no number")
		return 0
	}
	d.in = d.in[n:]
	return v
}

// bytes takes the next n bytes.
func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.in)) {
		d.fail("too few bytes")
		return nil
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b
}

// flag reads a byte that is 0 or 1.
func (d *decoder) flag() bool {
	b := d.bytes(1)
	if d.wrong != "" {
		return false
	}
	if b[0] > 1 {
		d.fail("neither 0 nor 1")
	}
	return b[0] == 1
}

func (d *decoder) decode(v reflect.Value) {
	if d.wrong != "" {
		return
	}
	t := v.Type()
	if t == lineType {
		v.Set(reflect.ValueOf(evidence.StatusLine(string(d.bytes(d.uvarint())))))
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		v.SetBool(d.flag())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := d.varint()
		if v.OverflowInt(n) {
			d.fail("a number out of range")
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := d.uvarint()
		if v.OverflowUint(n) {
			d.fail("a number out of range")
		}
		v.SetUint(n)
	case reflect.String:
		v.SetString(string(d.bytes(d.uvarint())))
	case reflect.Array:
		d.elements(v)
	case reflect.Slice:
		d.slice(v)
	case reflect.Pointer:
		if d.flag() {
			v.Set(reflect.New(t.Elem()))
			d.decode(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.decode(v.Field(i))
		}
	case reflect.Interface:
		d.oneOf(v)
	default:
		panic("tape: no form for a " + t.String())
	}
}

// slice reads a length first: no element takes less than a byte.
func (d *decoder) slice(v reflect.Value) {
	n := d.uvarint()
	if n == 0 {
		return
	}
	if n--; n > uint64(len(d.in)) {
		d.fail("too few elements")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), int(n), int(n)))
	d.elements(v)
}

func (d *decoder) elements(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		copy(v.Bytes(), d.bytes(uint64(v.Len())))
		return
	}
	for i := range v.Len() {
		d.decode(v.Index(i))
	}
}

// oneOf reads a value of one of the types behind an interface.
func (d *decoder) oneOf(v reflect.Value) {
	types := behind[v.Type()]
	b := d.bytes(1)
	if d.wrong != "" {
		return
	}
	if int(b[0]) >= len(types) {
		d.fail("an unknown type")
		return
	}
	x := reflect.New(types[b[0]]).Elem()
	d.decode(x)
	v.Set(x)
}
