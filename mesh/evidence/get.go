package evidence

import (
	"strings"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/when"
	"holdfast/mesh/wire"
)

// Is reports whether the line starts with this prefix and these words.
func (l Line) Is(prefix string, words ...string) bool {
	rest, ok := strings.CutPrefix(l.text, New(prefix, words...).text)
	return ok && (rest == "" || rest[0] == ' ')
}

// Get returns the value of a field.
func (l Line) Get(key string) (string, bool) {
	if strings.HasPrefix(l.text, panicHead) {
		return "", false
	}
	rest, ok := strings.CutPrefix(l.text, key+"=")
	if !ok {
		_, rest, ok = strings.Cut(l.text, " "+key+"=")
	}
	value, _, _ := strings.Cut(rest, " ")
	return value, ok
}

// The typed getters report false when the field is missing, is none, or is of another kind.

// GetNode returns a node id.
func (l Line) GetNode(key string) (id.Node, bool) { return get(l, key, id.ParseNode) }

// GetNodes returns a list of node ids.
func (l Line) GetNodes(key string) ([]id.Node, bool) { return get(l, key, parseNodes) }

// GetObject returns an object id.
func (l Line) GetObject(key string) (id.Object, bool) { return get(l, key, id.ParseObject) }

// GetDigest returns a digest.
func (l Line) GetDigest(key string) (id.Digest, bool) { return get(l, key, id.ParseDigest) }

// GetBoot returns a boot.
func (l Line) GetBoot(key string) (id.Boot, bool) { return get(l, key, id.ParseBoot) }

// GetEpoch returns an epoch.
func (l Line) GetEpoch(key string) (id.Epoch, bool) { return get(l, key, id.ParseEpoch) }

// GetUint returns a number.
func (l Line) GetUint(key string) (uint64, bool) { return get(l, key, parseUint) }

// GetSpan returns a length of time.
func (l Line) GetSpan(key string) (when.Span, bool) { return get(l, key, parseMillis[when.Span]) }

// GetInstant returns an instant.
func (l Line) GetInstant(key string) (when.Instant, bool) {
	return get(l, key, parseMillis[when.Instant])
}

// GetBool returns whether a 0 or 1 is 1.
func (l Line) GetBool(key string) (bool, bool) { return get(l, key, parseBool) }

// GetRequest returns a request identity.
func (l Line) GetRequest(key string) (wire.Request, bool) { return get(l, key, wire.ParseRequest) }

// GetWord returns a refusal word, OK included.
func (l Line) GetWord(key string) (refusal.Word, bool) {
	v, _ := l.Get(key)
	return refusal.Parse(v)
}

// Time returns the instant of the event.
func (l Line) Time() (when.Instant, bool) { return l.GetInstant(atKey) }

func get[T any](l Line, key string, parse func(string) (T, error)) (T, bool) {
	var zero T
	v, ok := l.Get(key)
	if !ok {
		return zero, false
	}
	t, err := parse(v)
	if err != nil {
		return zero, false
	}
	return t, true
}
