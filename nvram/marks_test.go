package nvram

import (
	"bytes"
	"testing"
)

func TestThePageIsAsTheTableSays(t *testing.T) {
	got := encodeMarks(markPage{0x01020304, Marks{0x1112131415161718, 0x2122232425262728, true, true}})
	want := []byte{
		'H', 'F', 'M', 'K', 3, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
		0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 4, 3, 2, 1, 0x6c, 0x0e, 0xf6, 0xf0,
	}
	if !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestOnlyAWholePageInItsPlaceIsValid(t *testing.T) {
	page := markPage{21, Marks{Signed: 7, Activated: 6, MayEmpty: true}}
	b := encodeMarks(page)
	if got, ok := decodeMarks(b, 5); !ok || got != page {
		t.Fatalf("%+v, %v", got, ok)
	}
	if _, ok := decodeMarks(b, 6); ok {
		t.Error("valid in another place")
	}
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if _, ok := decodeMarks(b, 5); ok {
			t.Errorf("valid with bit %d flipped", bit)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	for _, fill := range []byte{0x00, 0xff} {
		if _, ok := decodeMarks(bytes.Repeat([]byte{fill}, MarksPageBytes), 0); ok {
			t.Errorf("valid although all is %#x", fill)
		}
	}
}
