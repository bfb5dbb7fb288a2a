package capability

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
)

// authority is the key pair whose seed is the bytes 0 to 31.
var authority = func() ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	return ed25519.NewKeyFromSeed(seed)
}()

var root = authority.Public().(ed25519.PublicKey)

var sample = Capability{
	Object: id.Object{0x01, 31: 0x02}, Holder: id.Node{0x03, 15: 0x04},
	Rights: RightStat | RightCommit, Epoch: 0x0506, Serial: 0x0708,
}

// The vector is what the rig and another implementation must agree on; OpenSSL made it, see its
// file.
func TestATokenHasItsVector(t *testing.T) {
	file, err := os.ReadFile("testdata/token.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for line := range strings.Lines(string(file)) {
		if !strings.HasPrefix(line, "#") {
			want += strings.TrimSpace(line)
		}
	}
	token := Mint(sample, authority)
	if got := hex.EncodeToString(token[:]); got != want {
		t.Errorf("token %s, want %s", got, want)
	}
}

func TestVerifyReturnsWhatWasMinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := func(n int) []byte { return rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "id") }
		want := Capability{
			Object: id.Object(bytesOf(32)), Holder: id.Node(bytesOf(16)),
			Rights: Rights(rapid.IntRange(1, int(allRights)).Draw(t, "rights")),
			Epoch:  id.Epoch(rapid.Uint64Min(1).Draw(t, "epoch")),
			Serial: rapid.Uint64().Draw(t, "serial"),
		}
		token := Mint(want, authority)
		if got, err := Verify(token[:], root); err != nil || got != want {
			t.Fatalf("verifies as %v, %v; want %v", got, err, want)
		}
		if got, err := ParseText(Text(token)); err != nil || got != token {
			t.Fatalf("text reads as %x, %v; want %x", got, err, token)
		}
	})
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	token := Mint(sample, authority)
	for i := range Size * 8 {
		bad := token
		bad[i/8] ^= 1 << (i % 8)
		if c, err := Verify(bad[:], root); err == nil || c != (Capability{}) {
			t.Errorf("bit %d: %v, %v", i, c, err)
		}
	}
}

func TestAnotherAuthoritysTokenIsRefused(t *testing.T) {
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	token := Mint(sample, other)
	if _, err := Verify(token[:], root); !errors.Is(err, ErrSignature) {
		t.Errorf("error %v, want %v", err, ErrSignature)
	}
	if c, err := Parse(token[:]); err != nil || c != sample {
		t.Errorf("Parse, which does not verify: %v, %v", c, err)
	}
}

func TestASignatureWithoutTheDomainIsRefused(t *testing.T) {
	token := Mint(sample, authority)
	copy(token[bodySize:], ed25519.Sign(authority, token[:bodySize]))
	if _, err := Verify(token[:], root); !errors.Is(err, ErrSignature) {
		t.Errorf("error %v, want %v", err, ErrSignature)
	}
}

func TestMalformedTokensAreRefusedAndNotMinted(t *testing.T) {
	token := Mint(sample, authority)
	for n := range Size {
		if _, err := Verify(token[:n], root); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := Parse(append(token[:], 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a trailing byte: %v", err)
	}
	for name, change := range map[string]func(*Capability){
		"no rights":        func(c *Capability) { c.Rights = 0 },
		"an unknown right": func(c *Capability) { c.Rights |= allRights + 1 },
		"no epoch":         func(c *Capability) { c.Epoch = 0 },
	} {
		bad := sample
		change(&bad)
		encoded := token
		encoded[48] = byte(bad.Rights)
		if bad.Epoch == 0 {
			clear(encoded[49:57])
		}
		if _, err := Verify(encoded[:], root); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if !panics(func() { Mint(bad, authority) }) {
			t.Errorf("%s: minted", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestRightsAreASet(t *testing.T) {
	for _, c := range []struct {
		have, want Rights
		ok         bool
	}{
		{RightStat, RightStat, true}, {RightStat, RightCommit, false}, {RightCommit, RightStat, false},
		{RightStat | RightCommit, RightCommit, true}, {RightStat, RightStat | RightCommit, false},
	} {
		if c.have.Has(c.want) != c.ok {
			t.Errorf("%b allows %b: %v", c.have, c.want, !c.ok)
		}
	}
}

func TestOnlyOneTextNamesAToken(t *testing.T) {
	good := Text(Mint(sample, authority))
	for name, s := range map[string]string{
		"empty": "", "too short": good[:len(good)-1], "too long": good + "A", "padded": good + "=",
		"standard alphabet": strings.Repeat("+", len(good)), "a space": " " + good[1:],
		"a line end inside": good[:4] + "\n" + good[4:], "a line end for a digit": "\n" + good[1:],
	} {
		if _, err := ParseText(s); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	token := Mint(sample, authority)
	f.Add(token[:])
	f.Add(token[:Size-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			return
		}
		if again := Mint(c, authority); !bytes.Equal(again[:bodySize], b[:bodySize]) {
			t.Fatalf("%x parses to %v, which is %x", b, c, again)
		}
	})
}
