package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/timing"
	"holdfast/mesh/view"
)

var update = flag.Bool("update", false, "write testdata/vectors.txt again")

// samples has a message of every kind, in the order of their numbers, whose bytes differ from field
// to field: a swap of two fields shows in its vector.
func samples() []Message {
	r := Request{Client: id.Client{0xc1, 15: 0xc2}, Boot: 0xb0b1b2b3b4b5b6b7, Seq: 7}
	certificate := []byte("a certificate is opaque here")
	table := Table{Records: 2, Digest: id.Digest{3, 15: 4}}
	ack := RecordAck{Epoch: 1, AuthorityBoot: 2, Object: id.Object{3, 31: 4},
		Digest: id.Digest{5, 15: 6}, Node: id.Node{7, 15: 8}, Boot: 9}
	return []Message{
		&Ping{Nonce: 0x0102030405060708},
		&Pong{Nonce: 0x1112131415161718},
		&LeaseReq{Node: id.Node{1, 15: 2}, Incarnation: 3, Boot: 4, Digest: id.Digest{5, 15: 6},
			AuthorityBoot: 7, Nonce: 8, Echo: 9},
		&LeaseAck{Incarnation: 1, Digest: id.Digest{2, 15: 3}, AuthorityBoot: 4, Nonce: 5, Moved: 6},
		&JoinReq{Boot: 0x2122232425262728},
		&Challenge{Nonce: 1, AuthorityBoot: 2},
		&Join{Challenge: 1, AuthorityBoot: 2, Nonce: 3, Boot: 4, Timing: timing.Default,
			Certificate: certificate, Signature: [64]byte{5, 63: 6}},
		&JoinState{Nonce: 1, Table: table, Want: true},
		&JoinReady{Nonce: 0x3132333435363738, Table: table},
		&Confirm{Nonce: 1, Certificate: certificate, Table: table},
		&Refuse{Nonce: 1, Word: refusal.NotCurrent, RetryMS: 11_500},
		&View{Certificate: certificate, Table: table, Kept: []id.Object{{1, 31: 2}, {3, 31: 4}}},
		&ViewAck{Epoch: 1, Digest: id.Digest{2, 15: 3}},
		&ViewReq{All: true},
		&StaleEpoch{Current: 1, AuthorityBoot: 2, Node: id.Node{3, 15: 4}, Boot: 5,
			Signature: [64]byte{6, 63: 7}},
		&RouteReq{Request: r, FirstEpoch: 1, Object: id.Object{2, 31: 3}, Op: Commit,
			Class: Authoritative, Durability: Replicated, IfVersion: 4, Copies: 2, Within: 14_500,
			Value:      []byte("value"),
			Capability: [129]byte{5, 128: 6}},
		&RouteRep{Request: r, Word: refusal.OK, Home: id.Node{1, 15: 2}, HomeEpoch: 3, Version: 4,
			Class: StaleOK, Durability: Local, Copies: 5, AgeMS: 6, Value: []byte("value")},
		&Move{Object: id.Object{1, 31: 2}, From: id.Node{3, 15: 4}, To: id.Node{5, 15: 6}, Epoch: 10,
			MoveEpoch: 11, Signature: [64]byte{12, 63: 13}, Since: 8, RecordEpoch: 9, Version: 14,
			Value: []byte("value"), Window: []byte("a window")},
		&MoveAck{Object: id.Object{1, 31: 2}, MoveEpoch: 3, Active: true},
		&Record{Mode: HandOver, Object: id.Object{1, 31: 2}, Home: id.Node{3, 15: 4}, Boot: 5,
			AuthorityBoot: 6, Epoch: 7, Version: 8, Request: r, RequestDigest: id.Digest{9, 15: 10},
			Value: []byte("value"), Window: []byte("a window")},
		&ack,
		&RecordRefuse{Ack: ack, Word: refusal.Conflict, HeldEpoch: 10, HeldVersion: 11},
		&Forward{From: id.Node{1, 15: 2}, To: id.Node{3, 15: 4}, Frame: []byte("\x10a frame as it is")},
		&Published{Rows: []PublishedRow{{id.Object{1, 31: 2}, 3, 4}, {id.Object{5, 31: 6}, 7, 8}}},
	}
}

// sampleEpoch is the sender's epoch in the vectors.
const sampleEpoch = 0x0a0b0c0d0e0f

func TestEveryKindHasItsVector(t *testing.T) {
	const path = "testdata/vectors.txt"
	var got strings.Builder
	got.WriteString("# One frame of every kind, length prefix included. Made by go test -update.\n")
	for i, m := range samples() {
		if int(m.Kind()) != i+1 || !m.Kind().Valid() {
			t.Fatalf("sample %d is of kind %d", i+1, m.Kind())
		}
		frame := Append(nil, sampleEpoch, m)
		got.WriteString(m.Kind().String() + " " + hex.EncodeToString(frame) + "\n")
	}
	if len(samples()) != len(kinds)-1 {
		t.Errorf("%d samples for %d kinds", len(samples()), len(kinds)-1)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got, go test -update after a deliberate change:\n%s", diff)
	}
}

func TestBodiesHaveTheSizesOfTheByteTable(t *testing.T) {
	const certificate, value, table, request = 2 + 28, 2 + 5, 2 + 16, 16 + 8 + 8
	const ack = 8 + 8 + 32 + 16 + 16 + 8
	sizes := map[Kind]int{
		KindPing: 8, KindPong: 8, KindLeaseReq: 16 + 8 + 8 + 16 + 8 + 8 + 8,
		KindLeaseAck: 8 + 16 + 8 + 8 + 8,
		KindJoinReq:  8, KindChallenge: 8 + 8, KindJoin: 4*8 + 4*4 + 1 + certificate + 64,
		KindJoinState: 8 + table + 1, KindJoinReady: 8 + table, KindConfirm: 8 + certificate + table,
		KindRefuse: 8 + 1 + 4, KindView: certificate + table + 1 + 2*32, KindViewAck: 8 + 16,
		KindViewReq:    1,
		KindStaleEpoch: 8 + 8 + 16 + 8 + 64,
		KindRouteReq:   request + 8 + 32 + 1 + 1 + 1 + 8 + 1 + 4 + value + 129,
		KindRouteRep:   request + 1 + 16 + 8 + 8 + 1 + 1 + 1 + 4 + value,
		KindMove:       32 + 16 + 16 + 8 + 8 + 64 + 8 + 8 + 8 + request + 16 + value + 2 + 8,
		KindMoveAck:    32 + 8 + 1,
		KindRecord:     1 + 32 + 16 + 8 + 8 + 8 + 8 + request + 16 + value + 2 + 8, KindRecordAck: ack,
		KindRecordRefuse: ack + 1 + 8 + 8, KindForward: 16 + 16 + 2 + 17,
		KindPublished: 1 + 2*(32+8+8),
	}
	for _, m := range samples() {
		got := len(Append(nil, 1, m)) - PrefixSize - headSize
		if want := sizes[m.Kind()]; got != want {
			t.Errorf("%v has a body of %d bytes, want %d", m.Kind(), got, want)
		}
	}
}

func TestParseReturnsWhatWasAppended(t *testing.T) {
	for kind := KindPing; kind.Valid(); kind++ {
		t.Run(kind.String(), rapid.MakeCheck(func(t *rapid.T) {
			want, from := generators[kind](t), epoch(t)
			before := fixed(t, 3)
			frame := Append(bytes.Clone(before), from, want)
			if !bytes.HasPrefix(frame, before) {
				t.Fatal("Append changed what was there")
			}
			frame = frame[len(before):]
			if size, err := Size([PrefixSize]byte(frame)); err != nil || size != len(frame)-PrefixSize {
				t.Fatalf("prefix says %d, %v; %d bytes follow", size, err, len(frame)-PrefixSize)
			}
			got, m, err := Parse(frame[PrefixSize:])
			if err != nil || got != from {
				t.Fatalf("epoch %d, %v; want %d", got, err, from)
			}
			if diff := cmp.Diff(want, m); diff != "" {
				t.Fatal(diff)
			}
		}))
	}
}

func TestEveryTruncationAndEveryExtensionIsRefused(t *testing.T) {
	for _, m := range samples() {
		frame := Append(nil, 1, m)[PrefixSize:]
		for n := range frame {
			refused(t, frame[:n], "%v cut to %d bytes", m.Kind(), n)
		}
		for _, b := range []byte{0, 1, 0xff} {
			refused(t, append(bytes.Clone(frame), b), "%v with a trailing %#x", m.Kind(), b)
		}
	}
}

func TestOnlySendersWithoutAViewHaveEpochZero(t *testing.T) {
	early := map[Kind]bool{KindPing: true, KindPong: true, KindJoinReq: true, KindChallenge: true,
		KindJoin: true, KindJoinState: true, KindJoinReady: true, KindRefuse: true, KindRouteRep: true,
		KindViewReq: true, KindRecord: true, KindRecordAck: true, KindRecordRefuse: true}
	for _, m := range samples() {
		if early[m.Kind()] {
			if epoch, _, err := Parse(Append(nil, 0, m)[PrefixSize:]); epoch != 0 || err != nil {
				t.Errorf("%v at epoch 0: %v", m.Kind(), err)
			}
			continue
		}
		refused(t, unchecked(0, m), "%v at epoch 0", m.Kind())
		if !panics(func() { Append(nil, 0, m) }) {
			t.Errorf("Append takes %v at epoch 0", m.Kind())
		}
	}
}

func TestUnknownKindsAreRefused(t *testing.T) {
	for kind := range 256 {
		if Kind(kind).Valid() {
			continue
		}
		for _, body := range [][]byte{nil, make([]byte, 8), make([]byte, 64)} {
			refused(t, append([]byte{byte(kind), 0, 0, 0, 0, 0, 0, 0, 1}, body...), "kind %d", kind)
		}
		if Kind(kind).String() != "invalid" || !IsControl(Kind(kind)) {
			t.Errorf("kind %d has a name or a class", kind)
		}
	}
}

func TestOnlyRequestsAndValuesAreBulk(t *testing.T) {
	for kind := KindPing; kind.Valid(); kind++ {
		bulk := kind == KindRouteReq || kind == KindRouteRep || kind == KindRecord ||
			kind == KindForward || kind == KindPublished
		if IsControl(kind) == bulk {
			t.Errorf("IsControl(%v) = %v", kind, !bulk)
		}
	}
}

func TestSizeBoundsWhatAReaderWaitsFor(t *testing.T) {
	for size, ok := range map[int]bool{0: false, headSize - 1: false, headSize: true,
		FrameMax - PrefixSize: true, FrameMax - PrefixSize + 1: false, 0xffff: false} {
		got, err := Size([PrefixSize]byte{byte(size >> 8), byte(size)})
		if ok && (got != size || err != nil) || !ok && !errors.Is(err, ErrMalformed) {
			t.Errorf("Size(%d) = %d, %v", size, got, err)
		}
	}
}

func TestTheLargestFrameFits(t *testing.T) {
	value := make([]byte, ValueMax)
	certificate := make([]byte, view.CertificateMax)
	kept, rows := make([]id.Object, KeptMax), make([]PublishedRow, PublishedMax)
	for i := range kept {
		kept[i] = id.Object{byte(i)}
		rows[i] = PublishedRow{kept[i], 1, 1}
	}
	for _, m := range []Message{
		&RouteReq{Request: Request{Seq: 1}, FirstEpoch: 1, Op: Commit, Class: Lease,
			Durability: Local, Within: 1, Value: value},
		&RouteRep{Request: Request{Seq: 1}, Value: value},
		&Join{AuthorityBoot: 1, Boot: 1, Certificate: certificate},
		&View{Certificate: certificate, Kept: kept},
		&Record{Mode: State, Boot: 1, AuthorityBoot: 1, Epoch: 1, Version: 1, Request: Request{Seq: 1},
			Value: value, Window: make([]byte, WindowMax)},
		&Forward{To: id.Node{1}, Frame: append([]byte{byte(KindRouteReq)},
			make([]byte, ForwardMax-1)...)},
		&Published{Rows: rows},
	} {
		if n := len(Append(nil, 1, m)); n > FrameMax {
			t.Errorf("%v has up to %d bytes", m.Kind(), n)
		}
	}
}

func TestAMessageSharesNoMemoryWithItsFrame(t *testing.T) {
	frame := Append(nil, 1, &View{Certificate: []byte("certificate")})[PrefixSize:]
	_, m, err := Parse(frame)
	if err != nil {
		t.Fatal(err)
	}
	clear(frame)
	if got := string(m.(*View).Certificate); got != "certificate" {
		t.Errorf("the certificate changed with its frame: %q", got)
	}
}

func FuzzParseIsExact(f *testing.F) {
	for _, m := range samples() {
		f.Add(Append(nil, sampleEpoch, m)[PrefixSize:])
	}
	f.Add([]byte{})
	f.Add(make([]byte, FrameMax))
	f.Fuzz(func(t *testing.T, frame []byte) {
		epoch, m, err := Parse(frame)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || m != nil {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		again := Append(nil, epoch, m)
		if !bytes.Equal(again[PrefixSize:], frame) {
			t.Fatalf("%x parses to %v, which is %x", frame, m, again[PrefixSize:])
		}
	})
}

func TestValidSaysWhetherAppendWouldEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &RouteReq{
			Request: Request{Seq: rapid.Uint64Range(0, 1).Draw(t, "seq")}, FirstEpoch: 1,
			Op:         Op(rapid.IntRange(0, 3).Draw(t, "op")),
			Class:      Class(rapid.IntRange(0, 4).Draw(t, "class")),
			Within:     1,
			Durability: Durability(rapid.IntRange(0, 3).Draw(t, "durability")),
			IfVersion:  rapid.SampledFrom([]uint64{0, AnyVersion}).Draw(t, "version"),
			Value: make([]byte, rapid.SampledFrom([]int{0, 1, ValueMax, ValueMax + 1}).
				Draw(t, "value")),
		}
		encodes := func() (ok bool) {
			defer func() { ok = recover() == nil }()
			Append(nil, 1, m)
			return true
		}()
		if Valid(m) != encodes {
			t.Fatalf("valid %v, encodes %v: %+v", Valid(m), encodes, m)
		}
	})
}
