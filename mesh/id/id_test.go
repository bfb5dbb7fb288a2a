package id

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDerivationsMatchAnIndependentImplementation(t *testing.T) {
	file, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		kind, in, want := f[0], f[1], f[2]
		seen[kind]++
		raw, _ := hex.DecodeString(in)
		var got string
		switch kind {
		case "sum":
			got = Sum(raw).String()
		case "node":
			got = NodeOf(raw).String()
		case "object":
			got = ObjectOf(in).String()
		}
		if got != want {
			t.Errorf("%s %s: %s, want %s", kind, in, got, want)
		}
	}
	if len(seen) != 3 {
		t.Errorf("vectors of the kinds %v", seen)
	}
}

// text is one kind of name, with its text form as strings only, so that all kinds share the tests.
type text struct {
	digits int
	parse  func(string) (string, error)
}

func textOf[T interface{ String() string }](digits int, parse func(string) (T, error)) text {
	return text{digits, func(s string) (string, error) {
		v, err := parse(s)
		return v.String(), err
	}}
}

var texts = map[string]text{
	"node":   textOf(32, ParseNode),
	"object": textOf(64, ParseObject),
	"digest": textOf(32, ParseDigest),
	"client": textOf(32, ParseClient),
	"boot":   textOf(16, ParseBoot),
}

func TestHexNamesReadAsTheyAreWritten(t *testing.T) {
	for name, kind := range texts {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			size := kind.digits / 2
			want := hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "id"))
			if got, err := kind.parse(want); err != nil || got != want {
				t.Fatalf("%s reads as %s, %v", want, got, err)
			}
		}))
	}
}

func TestOnlyLowerCaseHexOfTheRightLengthIsAName(t *testing.T) {
	for name, kind := range texts {
		good := strings.Repeat("0a", kind.digits/2)
		zero := strings.Repeat("0", kind.digits)
		for _, bad := range []string{
			"", good[1:], good + "0", good + "0a", strings.ToUpper(good), "g" + good[1:],
			"/" + good[1:], ":" + good[1:], "`" + good[1:], " " + good[1:], good[1:] + "\n",
			"0x" + good[2:], "é" + good[2:],
		} {
			if got, err := kind.parse(bad); err == nil || got != zero {
				t.Errorf("%s %q reads as %s, %v", name, bad, got, err)
			}
		}
	}
}

func TestEpochsAreDecimalFromOne(t *testing.T) {
	for s, want := range map[string]Epoch{"1": 1, "10": 10, "18446744073709551615": 1<<64 - 1} {
		if got, err := ParseEpoch(s); err != nil || got != want || got.String() != s {
			t.Errorf("%q reads as %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "01", "+1", "-1", "1 ", " 1", "1_0", "0x1", "1.0",
		"18446744073709551616"} {
		if got, err := ParseEpoch(s); err == nil || got != 0 {
			t.Errorf("%q reads as %v, %v", s, got, err)
		}
	}
}

func TestNoncesAndBootsAreSixteenDigits(t *testing.T) {
	if got := Nonce(0xab).String(); got != "00000000000000ab" {
		t.Errorf("nonce %s", got)
	}
	if got := Boot(0xfedcba9876543210).String(); got != "fedcba9876543210" {
		t.Errorf("boot %s", got)
	}
}

func TestNodesAreOrderedByTheirBytes(t *testing.T) {
	low, high := Node{0: 1, 15: 0xff}, Node{0: 2}
	if low.Compare(high) >= 0 || high.Compare(low) <= 0 || low.Compare(low) != 0 {
		t.Error("the first byte does not decide")
	}
	if !(Node{}).IsZero() || (Node{15: 1}).IsZero() {
		t.Error("not exactly the zero id is zero")
	}
}

func TestAKeyHasExactlyOneText(t *testing.T) {
	key := ed25519.PublicKey(bytes.Repeat([]byte{0xfb, 0xff}, 16))
	good := KeyText(key)
	if got, err := ParseKey(good); err != nil || !key.Equal(got) || len(good) != 43 {
		t.Errorf("%s reads as %x, %v", good, got, err)
	}
	for name, s := range map[string]string{
		"empty": "", "short": good[1:], "long": good + "A", "padded": good + "=",
		"standard alphabet": strings.ReplaceAll(good, "_", "/"), "spare bits set": good[:42] + "9",
		"a line end inside": good[:4] + "\n" + good[4:], "a line end in front": "\r" + good,
	} {
		if got, err := ParseKey(s); err == nil || got != nil {
			t.Errorf("%s: %q reads as %x", name, s, got)
		}
	}
}
