package record

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/replay"
	"holdfast/mesh/wire"
)

func sample() Record {
	r := Record{Epoch: 3, Version: 4, Request: wire.Request{Client: id.Client{1}, Boot: 2, Seq: 5},
		RequestDigest: id.Digest{6}, Value: []byte("value")}
	r.Window.Remember(&wire.RouteReq{Request: r.Request, Op: wire.Commit, Durability: wire.Replicated},
		replay.Reply{Version: 4, Durability: wire.Replicated, Copies: 2})
	r.Seal(id.Object{7})
	return r
}

func TestADigestTellsEverythingApartButTheWindow(t *testing.T) {
	want := sample().Digest
	for name, change := range map[string]func(*Record){
		"epoch":          func(r *Record) { r.Epoch++ },
		"version":        func(r *Record) { r.Version++ },
		"client":         func(r *Record) { r.Request.Client[0]++ },
		"client boot":    func(r *Record) { r.Request.Boot++ },
		"sequence":       func(r *Record) { r.Request.Seq++ },
		"request digest": func(r *Record) { r.RequestDigest[0]++ },
		"value":          func(r *Record) { r.Value = []byte("Value") },
		"longer value":   func(r *Record) { r.Value = append(bytes.Clone(r.Value), 0) },
	} {
		r := sample()
		change(&r)
		if r.Seal(id.Object{7}); r.Digest == want {
			t.Errorf("another %s has the same digest", name)
		}
	}
	r := sample()
	if r.Seal(id.Object{8}); r.Digest == want {
		t.Error("another object has the same digest")
	}
	r = sample()
	r.Window = replay.Window{}
	if r.Seal(id.Object{7}); r.Digest != want {
		t.Error("the window is part of the digest")
	}
}

// TestRecordsAreOrderedByEpochAndThenByVersion compares with the order of pairs.
func TestRecordsAreOrderedByEpochAndThenByVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := func(name string) Record {
			return Record{Epoch: id.Epoch(rapid.Uint64Range(0, 3).Draw(t, name+" epoch")),
				Version: rapid.Uint64Range(0, 3).Draw(t, name+" version")}
		}
		a, b := pair("a"), pair("b")
		rank := func(r Record) uint64 { return uint64(r.Epoch)*4 + r.Version }
		if a.After(&b) != (rank(a) > rank(b)) {
			t.Fatalf("%d/%d after %d/%d: %v", a.Epoch, a.Version, b.Epoch, b.Version, a.After(&b))
		}
	})
	if none := (Record{}); !none.IsZero() {
		t.Error("the zero record is a record")
	}
}

func TestARecordComesOutOfItsFrameAsItWentIn(t *testing.T) {
	want := sample()
	m := want.Message(wire.Record{Mode: wire.State, Object: id.Object{7}, Boot: 1, AuthorityBoot: 1})
	_, parsed, err := wire.Parse(wire.Append(nil, 3, m)[wire.PrefixSize:])
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(parsed.(*wire.Record))
	if err != nil || got.Digest != want.Digest || got.Window != want.Window ||
		!bytes.Equal(got.Value, want.Value) {
		t.Errorf("%v, %+v, want %+v", err, got, want)
	}
	m.Window = []byte{9}
	if _, err := Of(m); err == nil {
		t.Error("a window that nobody encodes is taken")
	}
}

func TestATableTellsApartWhatANodeHolds(t *testing.T) {
	table := func(rs ...Record) wire.Table {
		var s Sum
		for i := range rs {
			s.Add(id.Object{byte(i)}, &rs[i])
		}
		return s.Table()
	}
	one, other := sample(), sample()
	other.Version++
	other.Seal(id.Object{7})
	seen := map[wire.Table]bool{}
	for _, rs := range [][]Record{{}, {one}, {other}, {one, other}, {other, one}, {one, one}} {
		got := table(rs...)
		if seen[got] || int(got.Records) != len(rs) {
			t.Errorf("%d records: %+v", len(rs), got)
		}
		seen[got] = true
	}
	if table() != (wire.Table{}) {
		t.Error("no records have a digest")
	}
}
