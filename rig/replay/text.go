package replay

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// String is the outcome in one line, without the difference.
func (o Outcome) String() string {
	return fmt.Sprintf("%d steps in %.1f s: %d frames and %d requests came, %d frames and %d rows "+
		"went", o.Steps, float64(o.Until)/1e3, o.Frames, o.Requests, o.Sent, len(o.Rows))
}

// Lines says where the two sides part: the step, its input, and the first effect of each side that
// the other one does not have there.
func (d *Difference) Lines() []string {
	lines := []string{fmt.Sprintf("step %d, %d ms after the boot, gave something else", d.Step, d.Now),
		"input       " + Input(d.Input)}
	i := 0
	for i < len(d.Node) && i < len(d.Replay) && same(d.Node[i], d.Replay[i]) {
		i++
	}
	lines = append(lines, "the node    "+nth(d.Node, i))
	if d.Panic != "" {
		return append(lines, "the replay  panic: "+d.Panic)
	}
	return append(lines, "the replay  "+nth(d.Replay, i))
}

func same(a, b mesh.Effect) bool {
	return bytes.Equal(tape.AppendEffects(nil, []mesh.Effect{a}),
		tape.AppendEffects(nil, []mesh.Effect{b}))
}

// nth is an effect with its place among those of the step.
func nth(list []mesh.Effect, i int) string {
	switch {
	case len(list) == 0:
		return "nothing"
	case i >= len(list):
		return fmt.Sprintf("nothing behind its %d effects", len(list))
	}
	return fmt.Sprintf("%d of %d: %s", i+1, len(list), Effect(list[i]))
}

// Input is an input for people.
func Input(in mesh.Input) string {
	switch in := in.(type) {
	case nil:
		return "the start of the protocol"
	case mesh.Tick:
		return "tick, " + second(in.Second)
	case mesh.Rechecked:
		return fmt.Sprintf("rechecked ticket=%d, %s", in.Ticket, second(in.Second))
	case mesh.LinkUp:
		return fmt.Sprintf("link up session=%d node=%v", in.Session, id.NodeOf(in.Key))
	case mesh.Frame:
		return fmt.Sprintf("frame session=%d %s", in.Session, frame(in.Data))
	}
	return named(in)
}

func second(s when.Calendar) string {
	if s == when.NoSecond {
		return "no second clock"
	}
	return fmt.Sprintf("second clock %d s", s)
}

// Effect is an effect for people.
func Effect(e mesh.Effect) string {
	switch e := e.(type) {
	case mesh.Send:
		if len(e.Data) < wire.PrefixSize {
			return fmt.Sprintf("send session=%d %x", e.Session, e.Data)
		}
		return fmt.Sprintf("send session=%d %s", e.Session, frame(e.Data[wire.PrefixSize:]))
	case mesh.Print:
		return "print " + e.Line.String()
	}
	return named(e)
}

// named is the name of a value's type and its fields.
func named(v any) string {
	name := reflect.TypeOf(v).Name()
	return strings.ToLower(name[:1]) + name[1:] + fields(reflect.ValueOf(v))
}

// frame is a frame without its length prefix, taken apart.
func frame(data []byte) string {
	epoch, m, err := wire.Parse(data)
	if err != nil {
		return fmt.Sprintf("malformed %x", data)
	}
	return fmt.Sprintf("%v epoch=%d%s", m.Kind(), epoch, fields(reflect.ValueOf(m).Elem()))
}

// fields is those of a struct that are not zero, each behind a space.
func fields(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			name := v.Type().Field(i).Name
			fmt.Fprintf(&b, " %s=%s", strings.ToLower(name[:1])+name[1:], value(f))
		}
	}
	return b.String()
}

// value is a value as evidence would have it: names where there are some, bytes in hex.
func value(v reflect.Value) string {
	if s, ok := v.Interface().(fmt.Stringer); ok {
		return s.String()
	}
	list := v.Kind() == reflect.Slice || v.Kind() == reflect.Array
	switch {
	case list && v.Type().Elem().Kind() == reflect.Uint8:
		return fmt.Sprintf("%x", v.Interface())
	case list:
		var items []string
		for i := range v.Len() {
			items = append(items, value(v.Index(i)))
		}
		return "[" + strings.Join(items, " ") + "]"
	case v.Kind() == reflect.Struct:
		return "{" + strings.TrimPrefix(fields(v), " ") + "}"
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return value(v.Elem())
	}
	return fmt.Sprint(v.Interface())
}

// Near is the latest row of a boot's console that the node printed at an instant or before, false
// when there is none: it leads from a step to its place in the journal.
func Near(
	records []journal.Record, node string, boot int, now when.Instant,
) (nearest journal.Record, ok bool) {
	for _, r := range records {
		if r.Kind != journal.KindConsole || r.Node != node || r.Boot != boot {
			continue
		}
		line, err := evidence.Parse(r.Line)
		if err != nil {
			continue
		}
		if at, ok := line.Time(); ok && at <= now {
			nearest = r
		}
	}
	return nearest, nearest.N != 0
}

// Unprinted is how many of the rows that a tape has are not on that boot's console: those that the
// machine could not print any more when it ended.
func Unprinted(records []journal.Record, node string, boot int, rows []string) int {
	printed := make(map[string]int)
	for _, r := range records {
		if r.Kind == journal.KindConsole && r.Node == node && r.Boot == boot {
			printed[r.Line]++
		}
	}
	missing := 0
	for _, row := range rows {
		if printed[row]--; printed[row] < 0 {
			missing++
		}
	}
	return missing
}
