package refusal

import (
	"strings"
	"testing"
)

// spec is the list of spec/system.md section 5, and the order of the wire numbers from 1.
const spec = "stale-epoch unknown-epoch not-home not-current no-authority no-route replay " +
	"bad-capability bad-signature moved draining full malformed disabled unknown-outcome no-object " +
	"version-conflict conflict unknown not-allowed wrong-authority not-ready too-large timing " +
	"quarantine duplicate fork"

func TestTheWordsAreThoseOfTheSpecificationInOrder(t *testing.T) {
	words := strings.Fields(spec)
	all := All()
	if len(all) != len(words) {
		t.Fatalf("%d words, want %d", len(all), len(words))
	}
	for i, want := range words {
		if all[i] != Word(i+1) || all[i].String() != want {
			t.Errorf("word %d is %q with number %d, want %q", i+1, all[i], all[i], want)
		}
	}
}

func TestEveryWordReadsAsItIsWritten(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range append(All(), OK) {
		if got, ok := Parse(w.String()); !ok || got != w || !w.Valid() {
			t.Errorf("%q reads as %d, %v", w, got, ok)
		}
		if seen[w.String()] {
			t.Errorf("%q twice", w)
		}
		seen[w.String()] = true
	}
	for _, s := range []string{"", "OK", "none", "stale_epoch", "moved "} {
		if w, ok := Parse(s); ok {
			t.Errorf("%q reads as %v", s, w)
		}
	}
}

func TestThereIsNoWordBehindTheLast(t *testing.T) {
	if count.Valid() || Word(255).Valid() {
		t.Error("a number without a word is valid")
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = count.String()
}
