// Package linear asks whether the answers to a run's requests for objects could have come from
// one register for each object, in which every act took place at one instant between its request
// and its answer. One model serves the question and the picture of its answer (history.html).
//
// The package owns the model and the reading of the history. It must never ask a node, and it
// knows nothing of leases: what it shows needs nobody's clock but the rig's.
//
// # The history
//
// All requests of one name are one commit, from when it was sent first to its first answer with ok.
// Taken from the journal are: commits that were answered with ok, those of the lab's steps too,
// whose values are not known; authoritative reads that were answered with ok; and commits
// without an answer, or with unknown-outcome, that a read shows to have been made: one of a
// version that no answered commit made, with their value. Of several with one value it is the
// earliest, which forbids least. A commit without an answer whose value nobody read makes no
// difference to the others and is left out, as is what was refused: a refusal is a promise that
// nothing was done, so that a read of its value breaks the register. A read under a read lease,
// or of any copy, is no act of a home.
//
// # The register
//
// Its state is the home epoch, the version and the value, and beside them the last version that
// was replicated. In one home epoch a commit makes a higher version, and a read gives the newest
// version with its value. Home epochs never fall. When one begins, its home may have lost local
// versions, and only those (protocol, "Local commit"): it goes on from any version between the
// last replicated one and the newest. With replicated commits alone that is the usual register.
//
// What is not shown: versions may have gaps, since others than the rig may commit.
package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// act is what was asked for.
type act struct {
	object string
	commit bool
	value  string
	known  bool // the value is
}

// done is what came of it.
type done struct {
	n       int    // of the record of the answer
	epoch   uint64 // home epoch; of a commit without an answer the one in which it was read
	version uint64
	value   string // that was read
	kept    bool   // replicated
	silent  bool   // a commit without an answer, that was read
}

// register is the state of one object.
type register struct {
	epoch   uint64
	version uint64
	value   string
	known   bool // the value is
	// The newest version that no change of the home can lose.
	keptVersion uint64
	keptValue   string
	keptKnown   bool
}

// fresh is the register of a run that begins: nothing was ever committed.
var fresh = register{known: true, keptKnown: true}

// step returns the states that the register may have after an act, none when it cannot have
// happened so.
func (r register) step(a act, d done) []register {
	switch {
	case d.silent:
		return r.commitUpTo(a, d)
	case d.epoch < r.epoch:
		return nil
	case a.commit && d.kept:
		return r.commitUpTo(a, d) // the home that answered may have it from the one before
	case a.commit:
		least := r.version
		if d.epoch > r.epoch {
			least = r.keptVersion
		}
		if d.version <= least {
			return nil
		}
		return []register{r.commit(a, d.epoch, d)}
	}
	return r.read(d)
}

// commitUpTo is the states after a commit that was made in this home epoch, or in a later one up to
// the one of the answer or read that shows it.
func (r register) commitUpTo(a act, d done) (all []register) {
	if d.version > r.version {
		all = append(all, r.commit(a, r.epoch, d))
	}
	if d.epoch > r.epoch && d.version > r.keptVersion {
		all = append(all, r.commit(a, d.epoch, d))
	}
	return all
}

// commit is the state after a commit.
func (r register) commit(a act, epoch uint64, d done) register {
	r.epoch, r.version, r.value, r.known = epoch, d.version, a.value, a.known
	if d.kept {
		r.keptVersion, r.keptValue, r.keptKnown = r.version, r.value, r.known
	}
	return r
}

// read is the state after a read, which may be the first act of a home epoch.
func (r register) read(d done) []register {
	fits := func(value string, known bool) bool { return !known || value == d.value }
	newer := d.epoch > r.epoch
	switch {
	case d.version == r.version && fits(r.value, r.known):
	case newer && d.version == r.keptVersion && fits(r.keptValue, r.keptKnown):
	case newer && r.keptVersion < d.version && d.version < r.version:
	default:
		return nil
	}
	r.epoch, r.version, r.value, r.known = d.epoch, d.version, d.value, true
	return []register{r}
}

// model is the register for porcupine.
var model = (&porcupine.NondeterministicModel{
	Partition: byObject,
	Init:      func() []any { return []any{fresh} },
	Step: func(state, input, output any) []any {
		var all []any
		for _, next := range state.(register).step(input.(act), output.(done)) {
			all = append(all, next)
		}
		return all
	},
	DescribeOperation: func(input, output any) string {
		return describe(input.(act), output.(done))
	},
	DescribeState: func(state any) string { return state.(register).String() },
}).ToModel()

// byObject parts a history: objects have nothing to do with each other.
func byObject(history []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	at := make(map[string]int)
	for _, o := range history {
		name := o.Input.(act).object
		i, ok := at[name]
		if !ok {
			i = len(parts)
			at[name] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], o)
	}
	return parts
}

// describe is for people.
func describe(a act, d done) string {
	value := fmt.Sprintf("%q", a.value)
	switch {
	case !a.commit:
		value = fmt.Sprintf("%q", d.value)
	case !a.known:
		value = "?"
	}
	what := "read"
	if a.commit {
		what = "commit"
	}
	text := fmt.Sprintf("%s %s: version %d, %s", a.object, what, d.version, value)
	if d.silent {
		return text + ", without an answer"
	}
	text += fmt.Sprintf(", home epoch %d", d.epoch)
	if d.kept {
		text += ", replicated"
	}
	return text + fmt.Sprintf(" (record %d)", d.n)
}

// String is for people.
func (r register) String() string {
	value := "?"
	if r.known {
		value = fmt.Sprintf("%q", r.value)
	}
	return fmt.Sprintf("version %d, %s, home epoch %d; replicated up to %d", r.version, value, r.epoch,
		r.keptVersion)
}
