package wire

import (
	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
	"holdfast/mesh/when"
)

// generators draw any valid message of each kind.
var generators = map[Kind]func(*rapid.T) Message{
	KindPing:      func(t *rapid.T) Message { return &Ping{nonce(t)} },
	KindPong:      func(t *rapid.T) Message { return &Pong{nonce(t)} },
	KindJoinReq:   func(t *rapid.T) Message { return &JoinReq{boot(t)} },
	KindJoinReady: func(t *rapid.T) Message { return &JoinReady{nonce(t)} },
	KindViewReq:   func(*rapid.T) Message { return &ViewReq{} },
	KindLeaseReq: func(t *rapid.T) Message {
		return &LeaseReq{node(t), epoch(t), boot(t), digest(t), boot(t), nonce(t), nonce(t)}
	},
	KindLeaseAck: func(t *rapid.T) Message {
		return &LeaseAck{epoch(t), digest(t), boot(t), nonce(t), id.Epoch(number(t))}
	},
	KindChallenge: func(t *rapid.T) Message { return &Challenge{nonce(t), boot(t)} },
	KindJoin: func(t *rapid.T) Message {
		return &Join{
			Challenge: nonce(t), AuthorityBoot: boot(t), Nonce: nonce(t), Boot: boot(t),
			Timing: timing.Timing{
				Heartbeat: span(t), Suspect: span(t), Fail: span(t), WriteLease: span(t),
			},
			Certificate: blob(t, 0, view.CertificateMax),
			Signature:   [64]byte(fixed(t, 64)),
		}
	},
	KindJoinState: func(t *rapid.T) Message {
		return &JoinState{nonce(t), rapid.Uint16().Draw(t, "records"), digest(t)}
	},
	KindConfirm: func(t *rapid.T) Message {
		return &Confirm{nonce(t), blob(t, 1, view.CertificateMax)}
	},
	KindRefuse: func(t *rapid.T) Message {
		return &Refuse{nonce(t), rapid.SampledFrom(refusal.All()).Draw(t, "word"),
			rapid.Uint32().Draw(t, "retry")}
	},
	KindView:    func(t *rapid.T) Message { return &View{blob(t, 1, view.CertificateMax)} },
	KindViewAck: func(t *rapid.T) Message { return &ViewAck{epoch(t), digest(t)} },
	KindStaleEpoch: func(t *rapid.T) Message {
		return &StaleEpoch{epoch(t), boot(t), node(t), boot(t), [64]byte(fixed(t, 64))}
	},
	KindMove: func(t *rapid.T) Message {
		m := &Move{
			Object: id.Object(fixed(t, 32)), From: id.Node{1}, To: id.Node{2}, Epoch: epoch(t),
			MoveEpoch: epoch(t), Signature: [64]byte(fixed(t, 64)),
		}
		if rapid.Bool().Draw(t, "record") {
			m.Since, m.RecordEpoch, m.Version = m.Epoch, m.Epoch, rapid.Uint64Min(1).Draw(t, "version")
			m.Value, m.Window = blob(t, 0, ValueMax), blob(t, 0, WindowMax)
		}
		return m
	},
	KindMoveAck: func(t *rapid.T) Message {
		return &MoveAck{id.Object(fixed(t, 32)), epoch(t), rapid.Bool().Draw(t, "active")}
	},
	KindRouteReq: func(t *rapid.T) Message {
		m := &RouteReq{
			Request: request(t), FirstEpoch: epoch(t), Object: id.Object(fixed(t, 32)),
			Op: Stat, Class: Class(rapid.IntRange(int(Lease), int(StaleOK)).Draw(t, "class")),
			IfVersion: AnyVersion, Capability: [129]byte(fixed(t, 129)),
		}
		if rapid.Bool().Draw(t, "commit") {
			m.Op, m.IfVersion, m.Value = Commit, number(t), blob(t, 0, ValueMax)
			m.Durability = rapid.SampledFrom([]Durability{Local, Replicated}).Draw(t, "durability")
		}
		return m
	},
	KindRouteRep: func(t *rapid.T) Message {
		m := &RouteRep{
			Request: request(t), Home: node(t), HomeEpoch: id.Epoch(number(t)), Version: number(t),
			Class:      Class(rapid.IntRange(0, int(StaleOK)).Draw(t, "class")),
			Durability: Durability(rapid.IntRange(int(None), int(Replicated)).Draw(t, "durability")),
			Copies:     rapid.Uint8().Draw(t, "copies"),
		}
		if rapid.Bool().Draw(t, "refused") {
			m.Word = rapid.SampledFrom(refusal.All()).Draw(t, "word")
		} else {
			m.Value = blob(t, 0, ValueMax)
		}
		return m
	},
}

func number(t *rapid.T) uint64  { return rapid.Uint64().Draw(t, "number") }
func nonce(t *rapid.T) id.Nonce { return id.Nonce(number(t)) }
func boot(t *rapid.T) id.Boot   { return id.Boot(rapid.Uint64Min(1).Draw(t, "boot")) }
func epoch(t *rapid.T) id.Epoch { return id.Epoch(rapid.Uint64Min(1).Draw(t, "epoch")) }
func span(t *rapid.T) when.Span { return when.Span(rapid.Uint32().Draw(t, "span")) }
func node(t *rapid.T) id.Node   { return id.Node(fixed(t, 16)) }

func digest(t *rapid.T) id.Digest { return id.Digest(fixed(t, 16)) }

func request(t *rapid.T) Request {
	return Request{id.Client(fixed(t, 16)), id.Boot(number(t)), rapid.Uint64Min(1).Draw(t, "seq")}
}

func fixed(t *rapid.T, n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "bytes") }

// blob draws bytes as Parse returns them: no bytes are nil.
func blob(t *rapid.T, least, most int) []byte {
	b := rapid.SliceOfN(rapid.Byte(), least, most).Draw(t, "blob")
	if len(b) == 0 {
		return nil
	}
	return b
}
