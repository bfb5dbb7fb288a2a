package nvram

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var kinds = []Kind{KindEnvironment, KindIdentity, KindEntropy}

// padded is the record as a chip's place holds it: with what an erased chip has behind it.
func padded(k Kind, record []byte) []byte {
	b := bytes.Repeat([]byte{0xff}, headerBytes+k.place().max)
	copy(b, record)
	return b
}

// TestARecordHasTheDocumentedBytes holds the codec against a record written out by hand. The
// checksum was computed by an independent implementation over header bytes 0-11 and the payload.
func TestARecordHasTheDocumentedBytes(t *testing.T) {
	got := hex.EncodeToString(encode(KindEnvironment, 0x01020304, []byte("a=1\x00\x00")))
	want := strings.Join([]string{
		"48464e56", // HFNV
		"01",       // version
		"01",       // environment
		"0500",     // length
		"04030201", // sequence
		"07fb69cc", // checksum
		"613d310000",
	}, "")
	if got != want {
		t.Errorf("record is\n%s, want\n%s", got, want)
	}
}

func TestEveryDamagedHeaderFieldHasItsReason(t *testing.T) {
	valid := encode(KindIdentity, 7, make([]byte, identityBytes))
	change := func(at int, v ...byte) []byte {
		b := bytes.Clone(valid)
		copy(b[at:], v)
		return b
	}
	for _, test := range []struct {
		name   string
		record []byte
		want   Reason
	}{
		{"whole", valid, ""},
		{"erased", bytes.Repeat([]byte{0xff}, headerBytes), ReasonBlank},
		{"zeros", make([]byte, headerBytes), ReasonBlank},
		{"zeros but for one bit", append([]byte{1}, make([]byte, headerBytes-1)...), ReasonMagic},
		{"magic", change(3, 'X'), ReasonMagic},
		{"version 0", change(atVersion, 0), ReasonVersion},
		{"version 2", change(atVersion, 2), ReasonVersion},
		{"another kind", change(atKind, byte(KindEntropy)), ReasonMagic},
		{"one byte short", change(atLength, identityBytes-1), ReasonLength},
		{"one byte long", change(atLength, identityBytes+1), ReasonLength},
		{"longest length", change(atLength, 0xff, 0xff), ReasonLength},
		{"sequence", change(atSequence, 8), ReasonCRC},
		{"checksum", change(atCRC, 0, 0, 0, 0), ReasonCRC},
		{"payload", change(headerBytes, 1), ReasonCRC},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, got := decode(KindIdentity, padded(KindIdentity, test.record)); got != test.want {
				t.Errorf("reason is %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnEnvironmentTakesOneByteToItsWholeArea(t *testing.T) {
	for _, test := range []struct {
		length int
		want   Reason
	}{{0, ReasonLength}, {1, ""}, {EnvironmentMax, ""}, {EnvironmentMax + 1, ReasonLength}} {
		record := padded(KindEnvironment, encode(KindEnvironment, 1, []byte{0}))
		record[atLength], record[atLength+1] = byte(test.length), byte(test.length>>8)
		record = append(record, 0xff)
		if test.want == "" {
			crc := checksum(record[:headerBytes+test.length])
			for i := range 4 {
				record[atCRC+i] = byte(crc >> (8 * i))
			}
		}
		if _, got := decode(KindEnvironment, record); got != test.want {
			t.Errorf("length %d: reason is %q, want %q", test.length, got, test.want)
		}
	}
}

// TestNoFlippedBitIsAccepted flips every bit of a record of every kind.
func TestNoFlippedBitIsAccepted(t *testing.T) {
	for _, k := range kinds {
		record := encode(k, 0xfffffffe, bytes.Repeat([]byte{0xa5}, k.place().max))
		for bit := range 8 * len(record) {
			record[bit/8] ^= 1 << (bit % 8)
			if _, reason := decode(k, padded(k, record)); reason == "" {
				t.Errorf("%v: bit %d flipped and accepted", k, bit)
			}
			record[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// TestNoShortBurstIsAccepted writes over up to four bytes anywhere: a CRC-32 sees every burst of at
// most 32 bits.
func TestNoShortBurstIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		p := k.place()
		payload := rapid.SliceOfN(rapid.Byte(), p.min, p.max).Draw(t, "payload")
		record := encode(k, rapid.Uint32().Draw(t, "sequence"), payload)
		burst := rapid.SliceOfN(rapid.Byte(), 1, 4).Draw(t, "burst")
		at := rapid.IntRange(0, len(record)-len(burst)).Draw(t, "at")
		damaged := bytes.Clone(record)
		copy(damaged[at:], burst)
		if bytes.Equal(damaged, record) {
			return
		}
		if r, reason := decode(k, padded(k, damaged)); reason == "" {
			t.Fatalf("accepted as %v", r)
		}
	})
}

func TestSequencesAreComparedAroundTheirWrap(t *testing.T) {
	for _, test := range []struct {
		a, b uint32
		want bool
	}{
		{1, 1, false},
		{2, 1, true},
		{1, 2, false},
		{0, 0xffffffff, true},
		{0xffffffff, 0, false},
		{0x80000000, 1, true}, // half a circle less one
		{1, 0x80000000, false},
		{0x80000001, 1, false}, // half a circle: a tie
		{1, 0x80000001, false},
	} {
		if got := newer(test.a, test.b); got != test.want {
			t.Errorf("newer(%#x, %#x) = %v", test.a, test.b, got)
		}
	}
}

func TestAPayloadThatDoesNotSuitTheRecordIsABug(t *testing.T) {
	for _, f := range []func(){
		func() { encode(KindEntropy, 1, make([]byte, entropyBytes-1)) },
		func() { encode(KindEnvironment, 1, make([]byte, EnvironmentMax+1)) },
		func() { encode(KindEnvironment, 1, nil) },
		func() { encode(Kind(9), 1, nil) },
	} {
		func() {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "nvram: ") {
					t.Errorf("panics with %q", message)
				}
			}()
			f()
		}()
	}
}

// FuzzRecord gives decode anything that a chip could hold: what it accepts must encode to the very
// same bytes.
func FuzzRecord(f *testing.F) {
	for _, k := range kinds {
		f.Add(byte(k), encode(k, 1, make([]byte, k.place().min)))
		f.Add(byte(k), encode(k, 0xffffffff, bytes.Repeat([]byte{1}, k.place().max)))
		f.Add(byte(k), []byte{})
	}
	f.Add(byte(KindEnvironment), []byte("HFNV\x01\x01\xff\xff"))
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		k := kinds[int(kind)%len(kinds)]
		if len(b) > headerBytes+k.place().max {
			return
		}
		b = padded(k, b)
		r, reason := decode(k, b)
		if reason != "" {
			return
		}
		if again := encode(k, r.sequence, r.payload); !bytes.HasPrefix(b, again) {
			t.Errorf("% x\naccepted, but is written\n% x", b, again)
		}
	})
}
