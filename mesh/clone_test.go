package mesh

import (
	"reflect"
	"testing"
)

// sharedByClones are the slices and pointers that a node and its clone have in common: what they
// point to is replaced and never changed in place.
var sharedByClones = map[string]bool{
	"c":                              true, // by contract
	"sessions.key":                   true, // by contract
	"cert.View.Members":              true,
	"objects.objects.Record.Value":   true,
	"objects.objects.Staged.Value":   true,
	"sessions.proofs.record.Value":   true,
	"commits.q.Value":                true,
	"queue.q.Value":                  true,
	"member.offer.cert.View.Members": true,
	"member.offer.kept":              true,
	"ops.q.Value":                    true,
	"staged.q.Value":                 true,
	"lab.kept.data":                  true,
	"authority.move.frame.Value":     true,
	"authority.move.frame.Window":    true,
	"member.former":                  true,
	"member.incoming.Value":          true,
	"member.incoming.Window":         true,
}

// TestACloneSharesNothingThatChanges fills every slice and pointer of a node with something, also
// of those that will be added, and looks for one that a clone has in common with it.
func TestACloneSharesNothingThatChanges(t *testing.T) {
	n := &Node{}
	fill(reflect.ValueOf(n).Elem())
	c := n.Clone()
	if c.out != nil {
		t.Error("a clone writes its effects where the node did")
	}
	shared := map[string]bool{}
	compareMemory(t, "", reflect.ValueOf(n).Elem(), reflect.ValueOf(c).Elem(), shared)
	for path := range sharedByClones {
		if !shared[path] && path != "c" {
			t.Errorf("%s is said to be shared and is not", path)
		}
	}
}

// fill puts one element into every slice and something behind every pointer.
func fill(v reflect.Value) {
	v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem() // a private field may be set then
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	}
}

func compareMemory(t *testing.T, path string, a, b reflect.Value, shared map[string]bool) {
	switch a.Kind() {
	case reflect.Slice, reflect.Pointer:
		if path == "out" {
			return
		}
		if a.Kind() == reflect.Slice && a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			t.Errorf("%s is not cloned", path)
			return
		}
		if a.UnsafePointer() == b.UnsafePointer() {
			shared[path] = true
			if !sharedByClones[path] {
				t.Errorf("a node and its clone share %s", path)
			}
			return
		}
		if a.Kind() == reflect.Slice {
			compareMemory(t, path, a.Index(0), b.Index(0), shared)
		} else {
			compareMemory(t, path, a.Elem(), b.Elem(), shared)
		}
	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			if name == "c" {
				continue
			}
			compareMemory(t, name, a.Field(i), b.Field(i), shared)
		}
	case reflect.Array:
		for i := range a.Len() {
			compareMemory(t, path, a.Index(i), b.Index(i), shared)
		}
	case reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		t.Errorf("%s is a %v: a clone cannot have one of its own", path, a.Kind())
	}
}
