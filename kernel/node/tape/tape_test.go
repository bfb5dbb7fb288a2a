package tape

import (
	"bytes"
	"encoding/binary"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"reflect"
	"strings"
	"testing"

	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/when"
)

// fill puts something else than its zero into every part of v, different in each.
func fill(v reflect.Value, next *int64) {
	*next++
	if v.Type() == lineType {
		v.Set(reflect.ValueOf(evidence.StatusLine(strings.Repeat("x", int(*next)))))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(-*next)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.String:
		v.SetString(strings.Repeat("s", int(*next)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), next)
		fill(v.Index(1), next)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), next)
			*next %= 100
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Interface:
		types := behind[v.Type()]
		x := reflect.New(types[int(*next)%len(types)]).Elem()
		fill(x, next)
		v.Set(x)
	}
}

// filled is a value of each type behind an interface.
func filled[T any](types []reflect.Type) []T {
	var list []T
	next := int64(0)
	for _, t := range types {
		x := reflect.New(t).Elem()
		fill(x, &next)
		next %= 100
		list = append(list, x.Interface().(T))
	}
	return list
}

// aTape is a head and a step for each kind of input, all of them with every kind of effect.
func aTape() ([]byte, Head, []Step) {
	var h Head
	next := int64(0)
	fill(reflect.ValueOf(&h).Elem(), &next)
	h.Effects = filled[mesh.Effect](effects)
	steps := []Step{{Now: 1 << 40, Input: mesh.Tick{Second: when.NoSecond}}}
	for i, in := range filled[mesh.Input](inputs) {
		steps = append(steps, Step{Now: when.Instant(i), Input: in, Effects: h.Effects})
	}
	var w Writer
	tape := w.Head(h)
	for _, s := range steps {
		tape = append(tape, w.Step(s)...)
	}
	h.Form, h.Config.Key = Form(), nil
	return tape, h, steps
}

func TestATapeIsReadAsItWasWritten(t *testing.T) {
	tape, head, steps := aTape()
	r, h, err := Open(tape)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(h, head) {
		t.Errorf("head %+v\nwant %+v", h, head)
	}
	for _, want := range steps {
		if s, err := r.Next(); err != nil || !reflect.DeepEqual(s, want) {
			t.Errorf("%+v, %v\nwant %+v", s, err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last step: %v", err)
	}
}

func TestThePrivateKeyIsNotOnATape(t *testing.T) {
	secret := bytes.Repeat([]byte{0xa5}, 64)
	var w Writer
	if tape := w.Head(Head{Config: mesh.Config{Key: secret}}); bytes.Contains(tape, secret[:8]) {
		t.Error("the key is on the tape")
	}
}

// TestEveryInputAndEffectHasAPlace reads the sources: a type that is new there is missing here.
func TestEveryInputAndEffectHasAPlace(t *testing.T) {
	for file, listed := range map[string][]reflect.Type{"input": inputs, "effect": effects} {
		source, err := parser.ParseFile(token.NewFileSet(), "../../../mesh/"+file+".go", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, d := range source.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == file {
				names[f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
		for _, x := range listed {
			delete(names, x.Name())
		}
		if len(names) != 0 {
			t.Errorf("no place for %v", names)
		}
	}
}

// TestEveryFieldIsOnATape fills one field after the other and sees the record change with it.
func TestEveryFieldIsOnATape(t *testing.T) {
	for _, x := range append(filled[any](inputs), filled[any](effects)...) {
		v := reflect.New(reflect.TypeOf(x)).Elem()
		before := encode(nil, v)
		for i := range v.NumField() {
			changed := reflect.New(v.Type()).Elem()
			changed.Field(i).Set(reflect.ValueOf(x).Field(i))
			if bytes.Equal(encode(nil, changed), before) {
				t.Errorf("%T: %s is not written", x, v.Type().Field(i).Name)
			}
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	tape, _, _ := aTape()
	for _, c := range []struct {
		name string
		tape []byte
		want error
	}{
		{"nothing", nil, ErrTorn},
		{"half a size", []byte{0x80}, ErrTorn},
		{"half a head", tape[:40], ErrTorn},
		{"without its last byte", tape[:len(tape)-1], ErrTorn},
		{"without its head", tape[size(tape):], ErrDamaged},
		{"a size that no record has", binary.AppendUvarint(nil, RecordMax+1), ErrDamaged},
		{"a size without an end", bytes.Repeat([]byte{0xff}, 11), ErrDamaged},
	} {
		if err := readAll(c.tape); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	second := size(tape)
	third := second + size(tape[second:])
	gap := append(bytes.Clone(tape[:second]), tape[third:]...)
	if err := readAll(gap); !errors.Is(err, ErrDamaged) {
		t.Errorf("without its first step: %v", err)
	}
	for i := range tape {
		bad := bytes.Clone(tape)
		bad[i] ^= 0x10
		if readAll(bad) == nil {
			t.Errorf("byte %d can be any", i)
		}
	}
}

func TestATapeOfOtherTypesIsRefused(t *testing.T) {
	h := Head{Form: [16]byte{1}, Build: "v1"}
	var w Writer
	_, got, err := Open(w.record(&h))
	if !errors.Is(err, ErrForm) || got.Build != "v1" {
		t.Errorf("%+v, %v", got, err)
	}
}

// size is how many bytes the first record of a tape has.
func size(tape []byte) int {
	body, n := binary.Uvarint(tape)
	return n + int(body) + sumSize
}

func readAll(tape []byte) error {
	r, _, err := Open(tape)
	for err == nil {
		_, err = r.Next()
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// FuzzStep reads any bytes as a step's body. What can be read is written as it was read.
func FuzzStep(f *testing.F) {
	_, _, steps := aTape()
	for i := range steps {
		f.Add(appendValue(nil, &steps[i]))
	}
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, body []byte) {
		var s, again Step
		if readWhole(body, &s) != nil {
			return
		}
		if err := readWhole(appendValue(nil, &s), &again); err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("%+v reads back as %+v, %v", s, again, err)
		}
	})
}

// FuzzTape reads any bytes as a tape.
func FuzzTape(f *testing.F) {
	tape, _, _ := aTape()
	f.Add(tape)
	f.Add(tape[:100])
	f.Fuzz(func(_ *testing.T, tape []byte) { _ = readAll(tape) })
}
