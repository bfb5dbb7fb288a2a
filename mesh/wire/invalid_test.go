package wire

import (
	"errors"
	"testing"

	"golang.org/x/crypto/cryptobyte"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
)

// refused fails unless Parse calls the frame malformed and returns nothing else.
func refused(t *testing.T, frame []byte, format string, args ...any) {
	t.Helper()
	if epoch, m, err := Parse(frame); !errors.Is(err, ErrMalformed) || m != nil || epoch != 0 {
		t.Errorf(format+": got %v, %v", append(args, m, err)...)
	}
}

// unchecked encodes m as Append does, whether it is valid or not.
func unchecked(epoch id.Epoch, m Message) []byte {
	c := codec{out: cryptobyte.NewBuilder(nil)}
	kind := m.Kind()
	u8(&c, &kind)
	u64(&c, &epoch)
	m.fields(&c)
	return c.out.BytesOrPanic()
}

// neitherSentNorAccepted fails unless Parse refuses the message and Append panics.
func neitherSentNorAccepted(t *testing.T, invalid map[string]Message) {
	t.Helper()
	for name, m := range invalid {
		refused(t, unchecked(1, m), "%s", name)
		if !panics(func() { Append(nil, 1, m) }) {
			t.Errorf("%s: Append takes it", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestInvalidControlMessagesAreNeitherSentNorAccepted(t *testing.T) {
	certificate := make([]byte, view.CertificateMax+1)
	join := func(change func(*Join)) *Join {
		m := Join{AuthorityBoot: 1, Boot: 1}
		change(&m)
		return &m
	}
	Append(nil, 1, join(func(*Join) {})) // what the cases change is itself valid
	neitherSentNorAccepted(t, map[string]Message{
		"LeaseReq without incarnation":  &LeaseReq{Boot: 1, AuthorityBoot: 1},
		"LeaseReq without boot":         &LeaseReq{Incarnation: 1, AuthorityBoot: 1},
		"LeaseReq without authority":    &LeaseReq{Incarnation: 1, Boot: 1},
		"LeaseAck without incarnation":  &LeaseAck{AuthorityBoot: 1},
		"LeaseAck without authority":    &LeaseAck{Incarnation: 1},
		"JoinReq without boot":          &JoinReq{},
		"Challenge without boot":        &Challenge{},
		"Join without boot":             join(func(m *Join) { m.Boot = 0 }),
		"Join without authority":        join(func(m *Join) { m.AuthorityBoot = 0 }),
		"Join with a large certificate": join(func(m *Join) { m.Certificate = certificate }),
		"Confirm without certificate":   &Confirm{},
		"Confirm with a large one":      &Confirm{Certificate: certificate},
		"View without certificate":      &View{},
		"View with a large one":         &View{Certificate: certificate},
		"Refuse with ok":                &Refuse{},
		"Refuse with no word":           &Refuse{Word: 255},
		"ViewAck of no epoch":           &ViewAck{},
		"StaleEpoch of no epoch":        &StaleEpoch{AuthorityBoot: 1, Boot: 1},
		"StaleEpoch of no authority":    &StaleEpoch{Current: 1, Boot: 1},
		"StaleEpoch of no boot":         &StaleEpoch{Current: 1, AuthorityBoot: 1},
	})
}

func TestInvalidMovesAreNeitherSentNorAccepted(t *testing.T) {
	move := func(change func(*Move)) *Move {
		m := Move{From: id.Node{1}, To: id.Node{2}, Epoch: 2, MoveEpoch: 3, Since: 1, RecordEpoch: 2,
			Version: 1}
		change(&m)
		return &m
	}
	Append(nil, 1, move(func(*Move) {})) // what the cases change is itself valid
	neitherSentNorAccepted(t, map[string]Message{
		"Move to where it is":          move(func(m *Move) { m.To = m.From }),
		"Move of no epoch":             move(func(m *Move) { m.Epoch = 0 }),
		"Move of no move epoch":        move(func(m *Move) { m.MoveEpoch = 0 }),
		"Move since later":             move(func(m *Move) { m.Since = 3 }),
		"Move of a record from later":  move(func(m *Move) { m.RecordEpoch = 3 }),
		"Move of a record of no epoch": move(func(m *Move) { m.RecordEpoch = 0 }),
		"Move of no version":           move(func(m *Move) { m.Version = 0 }),
		"Move of a value alone": move(func(m *Move) {
			m.RecordEpoch, m.Version, m.Value = 0, 0, []byte("v")
		}),
		"Move with a large value":  move(func(m *Move) { m.Value = make([]byte, ValueMax+1) }),
		"Move with a large window": move(func(m *Move) { m.Window = make([]byte, WindowMax+1) }),
		"MoveAck of no move epoch": &MoveAck{},
	})
}

func TestInvalidRequestsAndAnswersAreNeitherSentNorAccepted(t *testing.T) {
	value, request := make([]byte, ValueMax+1), Request{Seq: 1}
	commit := func(change func(*RouteReq)) *RouteReq {
		m := RouteReq{Request: request, FirstEpoch: 1, Op: Commit, Class: Lease, Durability: Local,
			Within: 1}
		change(&m)
		return &m
	}
	stat := func(change func(*RouteReq)) *RouteReq {
		m := RouteReq{Request: request, FirstEpoch: 1, Op: Stat, Class: Lease, IfVersion: AnyVersion,
			Within: 1}
		change(&m)
		return &m
	}
	reply := func(change func(*RouteRep)) *RouteRep {
		m := RouteRep{Request: request}
		change(&m)
		return &m
	}
	none := func(*RouteReq) {}
	for _, m := range []Message{commit(none), stat(none), reply(func(*RouteRep) {})} {
		Append(nil, 1, m) // what the cases change is itself valid
	}
	neitherSentNorAccepted(t, map[string]Message{
		"RouteReq without sequence":      commit(func(m *RouteReq) { m.Request.Seq = 0 }),
		"RouteReq without first epoch":   commit(func(m *RouteReq) { m.FirstEpoch = 0 }),
		"RouteReq without operation":     commit(func(m *RouteReq) { m.Op = 0 }),
		"RouteReq with an unknown one":   commit(func(m *RouteReq) { m.Op = Commit + 1 }),
		"RouteReq without class":         commit(func(m *RouteReq) { m.Class = 0 }),
		"RouteReq of an unknown class":   commit(func(m *RouteReq) { m.Class = StaleOK + 1 }),
		"RouteReq of unknown durability": commit(func(m *RouteReq) { m.Durability = Replicated + 1 }),
		"a commit without durability":    commit(func(m *RouteReq) { m.Durability = None }),
		"a stat with durability":         stat(func(m *RouteReq) { m.Durability = Local }),
		"a stat of a version":            stat(func(m *RouteReq) { m.IfVersion = 1 }),
		"a stat with a value":            stat(func(m *RouteReq) { m.Value = value[:1] }),
		"RouteReq with a large value":    commit(func(m *RouteReq) { m.Value = value }),
		"a commit of too many copies":    commit(func(m *RouteReq) { m.Copies = CopiesMax + 1 }),
		"a commit without time":          commit(func(m *RouteReq) { m.Within = 0 }),
		"a commit for too long":          commit(func(m *RouteReq) { m.Within = WithinMax + 1 }),
		"a stat of copies":               stat(func(m *RouteReq) { m.Copies = 1 }),
		"a lease read with an age":       reply(func(m *RouteRep) { m.Class, m.AgeMS = Lease, 1 }),
		"RouteRep without sequence":      reply(func(m *RouteRep) { m.Request.Seq = 0 }),
		"RouteRep with no word":          reply(func(m *RouteRep) { m.Word = 255 }),
		"RouteRep of an unknown class":   reply(func(m *RouteRep) { m.Class = StaleOK + 1 }),
		"RouteRep of unknown durability": reply(func(m *RouteRep) { m.Durability = Replicated + 1 }),
		"a refusal with a value": reply(func(m *RouteRep) {
			m.Word, m.Value = refusal.Full, value[:1]
		}),
		"RouteRep with a large value": reply(func(m *RouteRep) { m.Value = value }),
	})
}

func TestInvalidRecordsAreNeitherSentNorAccepted(t *testing.T) {
	record := func(change func(*Record)) *Record {
		m := Record{Mode: State, Boot: 1, AuthorityBoot: 1, Epoch: 1, Version: 1,
			Request: Request{Seq: 1}}
		change(&m)
		return &m
	}
	rows := func(rows ...PublishedRow) *Published { return &Published{Rows: rows} }
	one, two := PublishedRow{id.Object{1}, 1, 1}, PublishedRow{id.Object{2}, 1, 1}
	forward := func(from, to byte, frame ...byte) *Forward {
		return &Forward{id.Node{from}, id.Node{to}, append(frame, make([]byte, headSize-1)...)}
	}
	ack := RecordAck{AuthorityBoot: 1, Boot: 1}
	for _, m := range []Message{record(func(*Record) {}), rows(one, two), &ack,
		forward(1, 2, byte(KindRouteRep)), &View{Certificate: []byte{1}}} {
		Append(nil, 1, m) // what the cases change is itself valid
	}
	neitherSentNorAccepted(t, map[string]Message{
		"Record of no mode":      record(func(m *Record) { m.Mode = 0 }),
		"Record of another mode": record(func(m *Record) { m.Mode = Proof + 1 }),
		"Record of no boot":      record(func(m *Record) { m.Boot = 0 }),
		"Record of no authority": record(func(m *Record) { m.AuthorityBoot = 0 }),
		"Record of no epoch":     record(func(m *Record) { m.Epoch = 0 }),
		"Record of no version":   record(func(m *Record) { m.Version = 0 }),
		"Record of no request":   record(func(m *Record) { m.Request.Seq = 0 }),
		"Record with a large value": record(func(m *Record) {
			m.Value = make([]byte, ValueMax+1)
		}),
		"Record with a large window": record(func(m *Record) {
			m.Window = make([]byte, WindowMax+1)
		}),
		"RecordAck of no boot":      &RecordAck{AuthorityBoot: 1},
		"RecordAck of no authority": &RecordAck{Boot: 1},
		"RecordRefuse with ok":      &RecordRefuse{Ack: ack},
		"Published of nothing":      rows(),
		"Published out of order":    rows(two, one),
		"Published twice":           rows(one, one),
		"Published of no epoch":     rows(PublishedRow{Version: 1}),
		"Published of no version":   rows(PublishedRow{Epoch: 1}),
		"Forward to itself":         forward(1, 1, byte(KindRouteReq)),
		"Forward of a ping":         forward(1, 2, byte(KindPing)),
		"Forward of half a frame":   &Forward{To: id.Node{1}, Frame: []byte{byte(KindRouteReq)}},
		"View that keeps twice":     &View{Certificate: []byte{1}, Kept: make([]id.Object, 2)},
	})
}

func TestATimingThatDoesNotFitIsNotSent(t *testing.T) {
	for _, v := range []timing.Timing{{Heartbeat: -1}, {Fail: 1 << 32}} {
		if !panics(func() { Append(nil, 1, &Join{AuthorityBoot: 1, Boot: 1, Timing: v}) }) {
			t.Errorf("Append takes %v", v)
		}
	}
}
