// Package refusal holds the words that a refused request is answered with. A word is the same on
// the wire (its number), in evidence, in HTTP and in code (spec/system.md section 5). Refused
// service is always an answer with a word, never silence.
package refusal

// Word is a reason for a refusal. The zero Word is OK: not refused.
type Word uint8

// The words, in the order of their wire numbers. A number is never used again for another word.
const (
	OK Word = iota
	StaleEpoch
	UnknownEpoch
	NotHome
	NotCurrent
	NoAuthority
	NoRoute
	Replay
	BadCapability
	BadSignature
	Moved
	Draining
	Full
	Malformed
	Disabled
	UnknownOutcome
	NoObject
	VersionConflict
	Conflict
	Unknown
	NotAllowed
	WrongAuthority
	NotReady
	TooLarge
	Timing
	Quarantine
	Duplicate
	Fork
	count
)

var names = [count]string{
	"ok", "stale-epoch", "unknown-epoch", "not-home", "not-current", "no-authority", "no-route",
	"replay", "bad-capability", "bad-signature", "moved", "draining", "full", "malformed",
	"disabled", "unknown-outcome", "no-object", "version-conflict", "conflict", "unknown",
	"not-allowed", "wrong-authority", "not-ready", "too-large", "timing", "quarantine",
	"duplicate", "fork",
}

// String returns the word as it is written everywhere; "ok" for OK.
func (w Word) String() string {
	if w >= count {
		panic("refusal: no such word")
	}
	return names[w]
}

// Valid reports whether w is a word, OK included.
func (w Word) Valid() bool { return w < count }

// Parse returns the word that is written s.
func Parse(s string) (Word, bool) {
	for w, name := range names {
		if name == s {
			return Word(w), true
		}
	}
	return 0, false
}

// All returns every word but OK, in wire order.
func All() []Word {
	all := make([]Word, 0, count-1)
	for w := OK + 1; w < count; w++ {
		all = append(all, w)
	}
	return all
}
