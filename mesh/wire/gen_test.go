package wire

import (
	"slices"

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
	KindJoinReady: func(t *rapid.T) Message { return &JoinReady{nonce(t), table(t)} },
	KindViewReq:   func(t *rapid.T) Message { return &ViewReq{rapid.Bool().Draw(t, "all")} },
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
				AcksAll: rapid.Bool().Draw(t, "acks"),
			},
			Certificate: blob(t, 0, view.CertificateMax),
			Signature:   [64]byte(fixed(t, 64)),
		}
	},
	KindJoinState: func(t *rapid.T) Message {
		return &JoinState{nonce(t), table(t), rapid.Bool().Draw(t, "want")}
	},
	KindConfirm: func(t *rapid.T) Message {
		return &Confirm{nonce(t), blob(t, 1, view.CertificateMax), table(t)}
	},
	KindRefuse: func(t *rapid.T) Message {
		return &Refuse{nonce(t), rapid.SampledFrom(refusal.All()).Draw(t, "word"),
			rapid.Uint32().Draw(t, "retry")}
	},
	KindView: func(t *rapid.T) Message {
		return &View{blob(t, 1, view.CertificateMax), table(t), objects(t, 0)}
	},
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
			IfVersion: AnyVersion, Within: rapid.Uint32Range(1, WithinMax).Draw(t, "within"),
			Capability: [129]byte(fixed(t, 129)),
		}
		if rapid.Bool().Draw(t, "commit") {
			m.Op, m.IfVersion, m.Value = Commit, number(t), blob(t, 0, ValueMax)
			m.Copies = rapid.Uint8Range(0, CopiesMax).Draw(t, "copies")
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
		if m.Class == StaleOK {
			m.AgeMS = rapid.Uint32().Draw(t, "age")
		}
		if rapid.Bool().Draw(t, "refused") {
			m.Word = rapid.SampledFrom(refusal.All()).Draw(t, "word")
		} else {
			m.Value = blob(t, 0, ValueMax)
		}
		return m
	},
	KindRecord: func(t *rapid.T) Message {
		return &Record{
			Mode:   Mode(rapid.IntRange(int(Replicate), int(Proof)).Draw(t, "mode")),
			Object: object(t), Home: node(t), Boot: boot(t), AuthorityBoot: boot(t), Epoch: epoch(t),
			Version: rapid.Uint64Min(1).Draw(t, "version"), Request: request(t),
			RequestDigest: digest(t), Value: blob(t, 0, ValueMax), Window: blob(t, 0, WindowMax),
		}
	},
	KindRecordAck: func(t *rapid.T) Message { return ack(t) },
	KindRecordRefuse: func(t *rapid.T) Message {
		return &RecordRefuse{*ack(t), rapid.SampledFrom(refusal.All()).Draw(t, "word"),
			id.Epoch(number(t)), number(t)}
	},
	KindForward: func(t *rapid.T) Message {
		kind := rapid.SampledFrom([]Kind{KindRouteReq, KindRouteRep}).Draw(t, "kind")
		return &Forward{id.Node{1}, id.Node{2}, append([]byte{byte(kind)}, fixed(t, 30)...)}
	},
	KindPublished: func(t *rapid.T) Message {
		m := &Published{}
		for _, o := range objects(t, 1) {
			m.Rows = append(m.Rows, PublishedRow{o, epoch(t), rapid.Uint64Min(1).Draw(t, "version")})
		}
		return m
	},
}

func table(t *rapid.T) Table { return Table{rapid.Uint16().Draw(t, "records"), digest(t)} }

func object(t *rapid.T) id.Object { return id.Object(fixed(t, 32)) }

// objects draws ascending objects as Parse returns them: none are nil.
func objects(t *rapid.T, least int) []id.Object {
	first := rapid.SliceOfNDistinct(rapid.Byte(), least, KeptMax, rapid.ID).Draw(t, "objects")
	slices.Sort(first)
	var all []id.Object
	for _, b := range first {
		all = append(all, id.Object{b})
	}
	return all
}

func ack(t *rapid.T) *RecordAck {
	return &RecordAck{id.Epoch(number(t)), boot(t), object(t), digest(t), node(t), boot(t)}
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
