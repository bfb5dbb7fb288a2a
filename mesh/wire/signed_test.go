package wire

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
)

func TestASignatureCoversTheWholeBodyBeforeIt(t *testing.T) {
	for _, m := range samples() {
		body := Append(nil, 1, m)[PrefixSize+headSize:]
		switch m := m.(type) {
		case *Join:
			node := id.Node{9, 15: 8}
			want := slices.Concat([]byte("holdfast/join\x00"), node[:], body[:len(body)-64])
			if got := SignedJoin(m, node); !bytes.Equal(got, want) {
				t.Errorf("SignedJoin\n%x, want\n%x", got, want)
			}
		case *StaleEpoch:
			want := slices.Concat([]byte("holdfast/stale\x00"), body[:len(body)-64])
			if got := SignedStale(m); !bytes.Equal(got, want) {
				t.Errorf("SignedStale\n%x, want\n%x", got, want)
			}
		}
	}
}

func TestAnInvalidMessageIsNotSigned(t *testing.T) {
	if !panics(func() { SignedJoin(&Join{}, id.Node{}) }) {
		t.Error("a Join without boot is signed")
	}
}

// The digest is part of what nodes of two builds must agree on: its bytes were computed with
// Python's hashlib from the table in the package comment.
func TestTheRequestDigestHasItsVector(t *testing.T) {
	m := samples()[KindRouteReq-1].(*RouteReq)
	const want = "b13699f86b04a91a927a270e19904bf6"
	if got := m.Digest().String(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

func TestTheRequestDigestCoversWhatIsAskedForAndNothingElse(t *testing.T) {
	base := samples()[KindRouteReq-1].(*RouteReq)
	for name, c := range map[string]struct {
		change  func(*RouteReq)
		covered bool
	}{
		"object":         {func(m *RouteReq) { m.Object[31]++ }, true},
		"operation":      {func(m *RouteReq) { m.Op = Stat }, true},
		"version":        {func(m *RouteReq) { m.IfVersion++ }, true},
		"durability":     {func(m *RouteReq) { m.Durability = Local }, true},
		"value":          {func(m *RouteReq) { m.Value = []byte("valuf") }, true},
		"shorter value":  {func(m *RouteReq) { m.Value = nil }, true},
		"capability":     {func(m *RouteReq) { m.Capability[0]++ }, false},
		"class":          {func(m *RouteReq) { m.Class = StaleOK }, false},
		"first epoch":    {func(m *RouteReq) { m.FirstEpoch++ }, false},
		"request's name": {func(m *RouteReq) { m.Request.Seq++ }, false},
	} {
		m := *base
		c.change(&m)
		if got := m.Digest() != base.Digest(); got != c.covered {
			t.Errorf("%s: covered %v, want %v", name, got, c.covered)
		}
	}
}

func TestARequestReadsAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := request(t)
		if got, err := ParseRequest(want.String()); err != nil || got != want {
			t.Fatalf("%v reads as %v, %v", want, got, err)
		}
	})
}

func TestOnlyOneTextNamesARequest(t *testing.T) {
	const client, boot = "00112233445566778899aabbccddeeff", "0123456789abcdef"
	good := client + "/" + boot + "/18446744073709551615"
	if r, err := ParseRequest(good); err != nil || r.Seq != 1<<64-1 || r.Boot != 0x0123456789abcdef ||
		hex.EncodeToString(r.Client[:]) != client {
		t.Errorf("%v, %v", r, err)
	}
	for _, s := range []string{
		"", "//", client, client + "/" + boot, client + "/" + boot + "/", client + "/" + boot + "/0",
		client + "/" + boot + "/01", client + "/" + boot + "/+1", client + "/" + boot + "/-1",
		client + "/" + boot + "/1 ", client + "/" + boot + "/1/", client + "/" + boot + "/1/2",
		client + "/" + boot + "/18446744073709551616", client + "/" + boot + "/1_0",
		client[1:] + "/" + boot + "/1", client + "/" + boot[1:] + "/1",
		"00112233445566778899AABBCCDDEEFF/" + boot + "/1", " " + good,
	} {
		if r, err := ParseRequest(s); err == nil {
			t.Errorf("%q reads as %v", s, r)
		}
	}
}

func TestEveryWireWordHasAName(t *testing.T) {
	for want, got := range map[string]string{
		"stat": Stat.String(), "commit": Commit.String(), "lease": Lease.String(),
		"authoritative": Authoritative.String(), "stale-ok": StaleOK.String(), "none": None.String(),
		"local": Local.String(), "replicated": Replicated.String(), "invalid": Op(9).String(),
	} {
		if got != want {
			t.Errorf("%q is written %q", want, got)
		}
	}
}

// FuzzMove gives two frames: two moves have the same signature only when they say the same of who
// gives what to whom, and when, whatever records they carry.
func FuzzMove(f *testing.F) {
	base := &Move{Object: id.Object{1}, From: id.Node{2}, To: id.Node{3}, Epoch: 4, MoveEpoch: 5}
	frame := func(change func(m *Move)) []byte {
		m := *base
		change(&m)
		return Append(nil, 4, &m)[PrefixSize:]
	}
	own := frame(func(*Move) {})
	f.Add(own, frame(func(m *Move) { m.Signature[0] = 1 }))
	f.Add(own, frame(func(m *Move) {
		m.Since, m.RecordEpoch, m.Version, m.Value = 4, 4, 1, []byte("a record")
		m.Request.Seq = 1
	}))
	f.Add(own, frame(func(m *Move) { m.MoveEpoch++ }))
	f.Add(own, frame(func(m *Move) { m.From, m.To = m.To, m.From }))
	f.Add(own, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		m, n := moveOf(a), moveOf(b)
		if m == nil || n == nil {
			return
		}
		same := m.Object == n.Object && m.From == n.From && m.To == n.To && m.Epoch == n.Epoch &&
			m.MoveEpoch == n.MoveEpoch
		if bytes.Equal(SignedMove(m), SignedMove(n)) != same {
			t.Fatalf("%+v and %+v: the signature covers %x and %x", m, n, SignedMove(m), SignedMove(n))
		}
	})
}

// moveOf is the move in a frame, nil when there is none.
func moveOf(frame []byte) *Move {
	_, m, err := Parse(frame)
	if err != nil {
		return nil
	}
	move, _ := m.(*Move)
	return move
}
