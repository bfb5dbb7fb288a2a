package evidence

import (
	"encoding/hex"
	"strconv"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Draft is a line that is being written. It takes the same fields as a Line, in one buffer instead
// of a new line for each: for rows of many fields that are made for every request.
type Draft struct{ text []byte }

// Begin starts the draft of a line: see New.
func Begin(prefix string, words ...string) *Draft {
	d := &Draft{append(make([]byte, 0, Max), prefix...)}
	if prefix == Single {
		return d
	}
	d.text = append(d.text, ':')
	for _, w := range words {
		d.text = append(append(d.text, ' '), w...)
	}
	return d
}

// Line returns the line as far as it is written. The draft may go on.
func (d *Draft) Line() Line { return Line{string(d.text)} }

// key appends what stands before a value.
func (d *Draft) key(key string) {
	if len(d.text) > 0 {
		d.text = append(d.text, ' ')
	}
	d.text = append(append(d.text, key...), '=')
}

func (d *Draft) field(key, value string) *Draft {
	d.key(key)
	d.text = append(d.text, value...)
	return d
}

func (d *Draft) hex(key string, v []byte) *Draft {
	d.key(key)
	d.text = hex.AppendEncode(d.text, v)
	return d
}

// Str is described at Line, like all that follow.
func (d *Draft) Str(key, v string) *Draft {
	if v == "" {
		v = "?"
	}
	return d.field(key, clean(v[:min(len(v), textMax)]))
}

// Word adds a refusal word.
func (d *Draft) Word(key string, w refusal.Word) *Draft { return d.field(key, w.String()) }

// Node adds a node id.
func (d *Draft) Node(key string, n id.Node) *Draft {
	if n.IsZero() {
		return d.None(key)
	}
	return d.hex(key, n[:])
}

// Nodes adds a list of node ids.
func (d *Draft) Nodes(key string, ns []id.Node) *Draft {
	if len(ns) == 0 {
		return d.None(key)
	}
	d.key(key)
	for i, n := range ns {
		if i > 0 {
			d.text = append(d.text, ',')
		}
		d.text = hex.AppendEncode(d.text, n[:])
	}
	return d
}

// Object adds an object id.
func (d *Draft) Object(key string, o id.Object) *Draft { return d.hex(key, o[:]) }

// Digest adds a digest.
func (d *Draft) Digest(key string, v id.Digest) *Draft { return d.hex(key, v[:]) }

// Boot adds a boot.
func (d *Draft) Boot(key string, b id.Boot) *Draft {
	if b == 0 {
		return d.None(key)
	}
	return d.field(key, b.String())
}

// Epoch adds an epoch.
func (d *Draft) Epoch(key string, e id.Epoch) *Draft {
	if e == 0 {
		return d.None(key)
	}
	return d.Uint(key, uint64(e))
}

// Request adds a request identity.
func (d *Draft) Request(key string, r wire.Request) *Draft { return d.field(key, r.String()) }

// Uint adds a number.
func (d *Draft) Uint(key string, v uint64) *Draft {
	d.key(key)
	d.text = strconv.AppendUint(d.text, v, 10)
	return d
}

// Int adds a number.
func (d *Draft) Int(key string, v int64) *Draft {
	d.key(key)
	d.text = strconv.AppendInt(d.text, v, 10)
	return d
}

// Span adds a length of time.
func (d *Draft) Span(key string, s when.Span) *Draft { return d.Int(key, int64(s)) }

// Instant adds an instant.
func (d *Draft) Instant(key string, t when.Instant) *Draft {
	if t == when.Never {
		return d.None(key)
	}
	return d.Int(key, int64(t))
}

// Bool adds 1 or 0.
func (d *Draft) Bool(key string, v bool) *Draft {
	if v {
		return d.field(key, "1")
	}
	return d.field(key, "0")
}

// None adds a value that does not exist.
func (d *Draft) None(key string) *Draft { return d.field(key, absent) }

// At adds the instant of the event.
func (d *Draft) At(t when.Instant) *Draft { return d.Instant(atKey, t) }
