//go:build !arm

package kernel

import (
	"bytes"
	"encoding/hex"
	"testing"

	"holdfast/board"
)

// RFC 8439, section 2.3.2.
func TestTheGeneratorsBlockIsChaCha20(t *testing.T) {
	key := [8]uint32{
		0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c,
	}
	want := [16]uint32{
		0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
		0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2,
	}
	if got := block(&key, 1, [3]uint32{0x09000000, 0x4a000000, 0}); got != want {
		t.Errorf("block\n got %x\nwant %x", got, want)
	}
}

func TestGetrandomFillsExactlyWhatItWasAskedFor(t *testing.T) {
	b := newBench(t)
	for _, n := range []uint32{0, 1, 63, 64, 65, randomMax - 1, randomMax, randomMax + 1, 3000} {
		area := bytesAt(bufferAt, 3002)
		clear(area)
		b.want("getrandom", b.call(callGetrandom, bufferAt+1, n), int32(n))
		if area[0] != 0 || area[n+1] != 0 {
			t.Errorf("%d bytes: wrote beyond them", n)
		}
		if n >= 63 && (bytes.Count(area[1:n+1], []byte{0}) > int(n)/16 ||
			bytes.Equal(area[1:17], area[n-16:n])) {
			t.Errorf("%d bytes: %s", n, hex.EncodeToString(area[1:n+1]))
		}
	}
	b.want("a bad buffer", b.call(callGetrandom, 8, 8), -eFAULT)
}

func TestTheKeyIsGoneAfterEveryRequest(t *testing.T) {
	b := newBench(t)
	seen := map[[8]uint32]bool{}
	for range 10 {
		if seen[b.random.key] {
			t.Fatal("a key was used twice")
		}
		seen[b.random.key] = true
		b.call(callGetrandom, bufferAt, 1)
	}
}

func TestTheSeedDecidesAndIsWiped(t *testing.T) {
	b := newBench(t)
	output := func(seed string) string {
		copy(bytesAt(seedPage, board.SeedSize), seed)
		b.random.init()
		if !bytes.Equal(bytesAt(seedPage, board.SeedSize), make([]byte, board.SeedSize)) {
			t.Fatal("the seed page is not zero")
		}
		b.call(callGetrandom, bufferAt, 32)
		return string(bytesAt(bufferAt, 32))
	}
	one := output("a seed of thirty-two bytes, here")
	if two := output("a seed of thirty-two bytes, her3"); one == two {
		t.Error("two seeds, one output")
	}
	b.want("take it", b.call(CallSeed, bufferAt), 0)
	if got := string(bytesAt(bufferAt, board.SeedSize)); got != "a seed of thirty-two bytes, her3" {
		t.Errorf("took %q", got)
	}
	if b.random.seed != [8]uint32{} {
		t.Error("a copy is left")
	}
	b.want("take it again", b.call(CallSeed, bufferAt), 0)
	if !bytes.Equal(bytesAt(bufferAt, board.SeedSize), make([]byte, board.SeedSize)) {
		t.Error("it was there twice")
	}
}

func TestANewKeyChangesTheOutputAndKeepsTheOldOnesStrength(t *testing.T) {
	b := newBench(t)
	next := func(k [8]uint32, key string) [8]uint32 {
		b.random.key = k
		copy(bytesAt(bufferAt, board.SeedSize), key)
		b.want("rekey", b.call(CallRekey, bufferAt), 0)
		return b.random.key
	}
	const key = "another thirty-two bytes, secret"
	one := next([8]uint32{1}, key)
	if one == next([8]uint32{1}, "another thirty-two bytes, Secret") {
		t.Error("the new key does not matter")
	}
	if one == next([8]uint32{2}, key) {
		t.Error("the old key does not matter")
	}
	b.want("a bad pointer", b.call(CallRekey, 8), -eFAULT)
}
