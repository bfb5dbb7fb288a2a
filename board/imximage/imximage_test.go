package imximage

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// small is an image with a payload of a sector and a word.
func small() Image {
	payload := bytes.Repeat([]byte{0xee}, SectorBytes+4)
	copy(payload, "\x7fELF")
	return Image{Entry: 0x80200104, Load: 0x80200000, Payload: payload, DCD: EVK()}
}

func build(t *testing.T, i Image) []byte {
	t.Helper()
	b, err := i.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTheBytesAreThoseOfTheManualsTables compares every byte in front of the payload with the
// golden file, which is a dump that a person can hold against the tables.
func TestTheBytesAreThoseOfTheManualsTables(t *testing.T) {
	const golden = "testdata/header.txt"
	b := build(t, small())
	got := []byte(hex.Dump(b[:PayloadOffset+4]))
	if *rewrite {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the header is\n%s", got)
	}
	if len(b) != PayloadOffset+2*SectorBytes || !bytes.Equal(b[PayloadOffset:][:SectorBytes+4],
		small().Payload) || strings.Trim(string(b[PayloadOffset+SectorBytes+4:]), "\x00") != "" {
		t.Error("the payload is not padded with zeros to whole sectors")
	}
}

func TestWhatTheROMWouldNotBootIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Image)
		want   string // "" when it is no error
	}{
		{"as it is", func(*Image) {}, ""},
		{"no payload", func(i *Image) { i.Payload = nil }, "no payload"},
		{"three bytes", func(i *Image) { i.Payload = make([]byte, 3) }, "no payload"},
		{"one instruction", func(i *Image) { i.Payload, i.Entry = make([]byte, 4), i.Load }, ""},
		{"load in the middle of a page", func(i *Image) { i.Load += 4 }, "load address"},
		{"nothing below the load address", func(i *Image) { i.Load, i.Entry = 0, 0 }, "load address"},
		{"lowest load address", func(i *Image) { i.Load, i.Entry = 0x1000, 0x1000 }, ""},
		{"ends outside", func(i *Image) {
			i.Load, i.Entry = 0xfffff000, 0xfffff000
			i.Payload = make([]byte, 0x1000)
		}, "ends outside"},
		{"last that fits", func(i *Image) {
			i.Load, i.Entry = 0xfffff000, 0xfffff000
			i.Payload = make([]byte, 0x1000-SectorBytes)
		}, ""},
		{"entry below", func(i *Image) { i.Entry = i.Load - 4 }, "no instruction"},
		{"entry behind", func(i *Image) { i.Entry = i.Load + SectorBytes + 4 }, "no instruction"},
		{"last instruction", func(i *Image) { i.Entry = i.Load + SectorBytes }, ""},
		{"entry between instructions", func(i *Image) { i.Entry += 2 }, "no instruction"},
		{"no DCD", func(i *Image) { i.DCD = nil }, "0 register writes"},
		{"longest DCD", func(i *Image) { i.DCD = make([]Write, DCDMax) }, ""},
		{"too long a DCD", func(i *Image) { i.DCD = make([]Write, DCDMax+1) }, "221 register writes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := small()
			c.change(&i)
			b, err := i.Bytes()
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := Parse(b); err != nil {
					t.Errorf("what was built does not parse: %v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatWasBuiltParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.IntRange(1, 1000).Draw(t, "words")
		i := Image{
			Load:    rapid.Uint32Range(1, 0xff000).Draw(t, "page") << 12,
			Payload: rapid.SliceOfN(rapid.Byte(), 4*words, 4*words).Draw(t, "payload"),
		}
		i.Entry = i.Load + 4*rapid.Uint32Range(0, uint32(words-1)).Draw(t, "entry")
		for range rapid.IntRange(1, DCDMax).Draw(t, "writes") {
			i.DCD = append(i.DCD, Write{
				rapid.Uint32().Draw(t, "address"), rapid.Uint32().Draw(t, "value"),
			})
		}
		b, err := i.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		padding := make([]byte, len(got.Payload)-len(i.Payload))
		i.Payload = append(i.Payload, padding...)
		if !reflect.DeepEqual(got, i) || len(padding) >= SectorBytes {
			t.Fatal("another image came back")
		}
	})
}

// TestADamagedHeaderIsRefused changes each byte in front of the payload but for the entry and what
// is not read: the writes of the DCD may be anything, and so may what lies behind them.
func TestADamagedHeaderIsRefused(t *testing.T) {
	b := build(t, small())
	for at := range dcdOffset + dcdHeaders {
		if at >= 0x04 && at < 0x08 {
			continue
		}
		b[at] ^= 1
		if _, err := Parse(b); err == nil {
			t.Errorf("byte %#x was changed, and it parses", at)
		}
		b[at] ^= 1
	}
	for _, n := range []int{0, 1, dcdOffset, PayloadOffset, len(b) - 1} {
		if _, err := Parse(b[:n]); err == nil {
			t.Errorf("the first %d bytes parse", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	b, err := small().Bytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:PayloadOffset+1])
	hostile := bytes.Clone(b)
	hostile[dcdOffset+1], hostile[dcdOffset+2] = 0xff, 0xff // a DCD of 65,535 bytes
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := Parse(b)
		if err != nil {
			return
		}
		if i.Entry < i.Load || uint64(i.Entry) > uint64(i.Load)+uint64(len(i.Payload))-4 ||
			len(i.DCD) == 0 || len(i.DCD) > DCDMax {
			t.Errorf("accepts an entry %#x outside of %d bytes at %#x, or %d writes",
				i.Entry, len(i.Payload), i.Load, len(i.DCD))
		}
	})
}

func TestTheCardHasTheImageWhereTheROMLooks(t *testing.T) {
	for _, c := range []struct{ payload, card int }{
		{4, 1 << 20}, {1<<20 - 0x1000, 1 << 20}, {1<<20 - 0x1000 + 4, 2 << 20}, {8 << 20, 16 << 20},
	} {
		i := small()
		i.Payload, i.Entry = make([]byte, c.payload), i.Load
		b := build(t, i)
		card, err := Card(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(card) != c.card || !bytes.Equal(card[CardOffset:][:len(b)], b) {
			t.Errorf("payload of %d bytes: card of %d, want %d with the image at 1 KiB",
				c.payload, len(card), c.card)
		}
		sectors := len(b) / SectorBytes
		entry := []byte{0, 0xff, 0xff, 0xff, 0xda, 0xff, 0xff, 0xff, 2, 0, 0, 0,
			byte(sectors), byte(sectors >> 8), byte(sectors >> 16), 0}
		if !bytes.Equal(card[446:462], entry) || card[510] != 0x55 || card[511] != 0xaa {
			t.Errorf("partition %x, want %x", card[446:462], entry)
		}
		rest := append(bytes.Clone(card[:446]), card[462:510]...)
		rest = append(append(rest, card[512:CardOffset]...), card[CardOffset+len(b):]...)
		if len(bytes.Trim(rest, "\x00")) != 0 {
			t.Error("something stands outside of record and image")
		}
	}
	if _, err := Card(make([]byte, 1<<16)); err == nil {
		t.Error("a card was made of something that is no image")
	}
}
