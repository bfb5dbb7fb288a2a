package view

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"holdfast/mesh/id"
)

// keyOf returns the key pair of the node with this number.
func keyOf(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func publicOf(n byte) ed25519.PublicKey { return keyOf(n).Public().(ed25519.PublicKey) }

func member(n byte, incarnation id.Epoch, boot id.Boot) Member {
	key := publicOf(n)
	return Member{id.NodeOf(key), [32]byte(key), incarnation, boot}
}

// authority is the number of the node that signs in these tests.
const authority = 0

// sample is the view of epoch 4 with the authority and count-1 more members.
func sample(count int) View {
	v := View{
		Epoch: 4, Authority: id.NodeOf(publicOf(authority)), AuthorityBoot: 0xa0, BootsCount: true,
	}
	for n := range count {
		v.Members = v.With(member(byte(n), id.Epoch(1+n%4), id.Boot(0xa0+n)))
	}
	return v
}

func certify(v View) []byte {
	c := Sign(v, keyOf(authority))
	return c.Append(nil)
}

func TestACertificateReadsAsItWasSigned(t *testing.T) {
	root := publicOf(authority)
	for count := 1; count <= MaxMembers; count++ {
		want := Sign(sample(count), keyOf(authority))
		encoded := want.Append([]byte("before"))[len("before"):]
		got, err := Parse(encoded, root)
		if err != nil {
			t.Fatalf("%d members: %v", count, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d members:\n%s", count, diff)
		}
		if got.View.Digest() != want.View.Digest() {
			t.Errorf("%d members: the digest changed on the way", count)
		}
		if full := len(encoded) == CertificateMax; full != (count == MaxMembers) {
			t.Errorf("%d members take %d bytes, the most are %d", count, len(encoded), CertificateMax)
		}
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	encoded := certify(sample(3))
	for i := range len(encoded) * 8 {
		bad := bytes.Clone(encoded)
		bad[i/8] ^= 1 << (i % 8)
		if c, err := Parse(bad, publicOf(authority)); err == nil || c.View.Epoch != 0 {
			t.Errorf("bit %d: epoch %d, %v", i, c.View.Epoch, err)
		}
	}
}

func TestEveryTruncationAndExtensionIsMalformed(t *testing.T) {
	encoded := certify(sample(2))
	for n := range encoded {
		if _, err := Parse(encoded[:n], publicOf(authority)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := Parse(append(encoded, 0), publicOf(authority)); !errors.Is(err, ErrMalformed) {
		t.Errorf("a trailing byte: %v", err)
	}
}

func TestAnotherDomainOrFlagIsMalformed(t *testing.T) {
	for name, at := range map[string]int{"domain": 0, "flags": headSize - 2} {
		for bit := 1; bit < 8; bit++ {
			bad := certify(sample(1))
			bad[at] ^= 1 << bit
			if _, err := Parse(bad, publicOf(authority)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s, bit %d: %v, want %v", name, bit, err, ErrMalformed)
			}
		}
	}
}

func TestOnlyTheRootsSignatureCounts(t *testing.T) {
	own := View{Epoch: 1, Authority: id.NodeOf(publicOf(1)), AuthorityBoot: 1}
	own.Members = own.With(member(1, 1, 1))
	usurper := Sign(own, keyOf(1))
	forged := Sign(sample(2), keyOf(1))
	for name, c := range map[string]*Certificate{"another authority": &usurper, "a forgery": &forged} {
		if _, err := Parse(c.Append(nil), publicOf(authority)); !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v, want %v", name, err, ErrSignature)
		}
	}
	// Root did sign this one, but it names member 1 as the authority.
	misnamed := sample(2)
	misnamed.Authority = id.NodeOf(publicOf(1))
	if _, err := Parse(certify(misnamed), publicOf(authority)); !errors.Is(err, ErrSignature) {
		t.Errorf("another authority named: %v, want %v", err, ErrSignature)
	}
}

// Each case breaks one rule. A view that breaks one is neither signed nor, when a buggy authority
// has signed it all the same, accepted.
func TestInvalidViewsAreNeitherSignedNorAccepted(t *testing.T) {
	for name, change := range map[string]func(*View){
		"epoch zero":            func(v *View) { v.Epoch = 0 },
		"no authority boot":     func(v *View) { v.AuthorityBoot = 0 },
		"no members":            func(v *View) { v.Members = nil },
		"authority not in it":   func(v *View) { v.Members = v.Without(v.Authority) },
		"unsorted":              func(v *View) { slices.Reverse(v.Members) },
		"a member twice":        func(v *View) { v.Members[1] = v.Members[0] },
		"an id of another key":  func(v *View) { v.Members[2].Key[0]++ },
		"no incarnation":        func(v *View) { v.Members[1].Incarnation = 0 },
		"a future incarnation":  func(v *View) { v.Members[1].Incarnation = v.Epoch + 1 },
		"a member without boot": func(v *View) { v.Members[1].Boot = 0 },
	} {
		v := sample(3)
		if name == "a member twice" {
			v.Authority = v.Members[0].ID
		}
		change(&v)
		if !panics(func() { Sign(v, keyOf(authority)) }) {
			t.Errorf("%s: signed", name)
		}
		if len(v.Members) == 0 {
			continue // has no encoding
		}
		encoded := v.encode(true)
		encoded = append(encoded, ed25519.Sign(keyOf(authority), encoded)...)
		if _, err := Parse(encoded, publicOf(authority)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v, want %v", name, err, ErrMalformed)
		}
	}
}

func TestAViewOfTooManyOrNoMembersHasNoEncoding(t *testing.T) {
	many := sample(1)
	many.Members = make([]Member, MaxMembers+1)
	for name, v := range map[string]View{"too many": many, "none": {Epoch: 1}} {
		if !panics(func() { v.Digest() }) {
			t.Errorf("%s: digested", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestTheDigestCoversBootsOnlyWhenTheyCount(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*View)
		without bool // the digest changes although boots do not count
	}{
		"epoch":            {func(v *View) { v.Epoch++ }, true},
		"authority":        {func(v *View) { v.Authority[0]++ }, true},
		"a key":            {func(v *View) { v.Members[1].Key[0]++ }, true},
		"an incarnation":   {func(v *View) { v.Members[1].Incarnation++ }, true},
		"a member":         {func(v *View) { v.Members = v.Members[:1] }, true},
		"authority's boot": {func(v *View) { v.AuthorityBoot++ }, false},
		"a member's boot":  {func(v *View) { v.Members[1].Boot++ }, false},
	} {
		for _, boots := range []bool{true, false} {
			before, after := sample(2), sample(2)
			before.BootsCount, after.BootsCount = boots, boots
			c.change(&after)
			if changed := before.Digest() != after.Digest(); changed != (boots || c.without) {
				t.Errorf("%s, boots count %v: the digest changed %v", name, boots, changed)
			}
		}
	}
	with, without := sample(2), sample(2)
	without.BootsCount = false
	if with.Digest() == without.Digest() {
		t.Error("whether boots count is not part of the digest")
	}
}

func TestTheSignatureCoversBootsThatDoNotCount(t *testing.T) {
	v := sample(2)
	v.BootsCount = false
	c := Sign(v, keyOf(authority))
	c.View.Members[1].Boot++
	if _, err := Parse(c.Append(nil), publicOf(authority)); !errors.Is(err, ErrSignature) {
		t.Errorf("another boot: %v, want %v", err, ErrSignature)
	}
}

// The members of a view are a sorted set: With and Without keep it one and leave the view alone.
func TestMembersAreASortedSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v View
		model := map[id.Node]Member{}
		for range rapid.IntRange(0, 12).Draw(t, "changes") {
			m := Member{
				ID:   id.Node{rapid.ByteRange(0, 5).Draw(t, "id")},
				Boot: id.Boot(rapid.Uint64().Draw(t, "boot")),
			}
			before := slices.Clone(v.Members)
			var next []Member
			if rapid.Bool().Draw(t, "add") {
				next = v.With(m)
				model[m.ID] = m
			} else {
				next = v.Without(m.ID)
				delete(model, m.ID)
			}
			if !slices.Equal(before, v.Members) {
				t.Fatal("the view itself changed")
			}
			v.Members = next
		}
		var want []Member
		for _, m := range model {
			want = append(want, m)
		}
		slices.SortFunc(want, func(a, b Member) int { return a.ID.Compare(b.ID) })
		if !slices.Equal(v.Members, want) {
			t.Fatalf("members %v, want %v", v.Members, want)
		}
		for n := range byte(6) {
			node := id.Node{n}
			m, in := model[node]
			found, ok := v.Find(node)
			if ok != in || found != m || v.Has(node) != in || v.HasBoot(node, m.Boot) != in ||
				v.HasBoot(node, m.Boot+1) || v.Speaks(node, m.Boot) != in ||
				v.Speaks(node, m.Boot+1) != (in && !v.BootsCount) {
				t.Fatalf("node %d: found %v, %v; want %v, %v", n, found, ok, m, in)
			}
		}
		if ids := v.IDs(); !slices.IsSortedFunc(ids, id.Node.Compare) || len(ids) != len(model) {
			t.Fatalf("ids %v", ids)
		}
	})
}

// FuzzDecode leaves the signature out, which no fuzzer gets past.
func FuzzDecode(f *testing.F) {
	for count := 1; count <= MaxMembers; count++ {
		f.Add(certify(sample(count)))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Certificate
		if err := c.decode(b); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if again := c.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %v, which is %x", b, c, again)
		}
	})
}

// FuzzParse gives Parse anything: what it accepts is what the authority signs, to the byte, so that
// one view has one certificate.
func FuzzParse(f *testing.F) {
	for count := 1; count <= MaxMembers; count++ {
		f.Add(certify(sample(count)))
	}
	stranger := Sign(sample(2), keyOf(99))
	f.Add(stranger.Append(nil))
	f.Add(append(certify(sample(1)), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b, publicOf(authority))
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrSignature) {
				t.Fatal(err)
			}
			return
		}
		if signed := certify(c.View); !bytes.Equal(signed, b) {
			t.Fatalf("%x is accepted, and the authority would sign %x", b, signed)
		}
	})
}
