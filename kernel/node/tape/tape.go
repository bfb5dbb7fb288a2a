// Package tape writes down a boot of the protocol: with what it was started, every input with its
// instant, and what each step gave. A host that does the steps of a tape again must get the same
// (docs/replay.md). It owns the form of a tape. It must never decide when one is kept, do a step,
// or compare anything: the node's loop has it written, package rig/replay does the rest.
//
// A tape is records, the head first, then one for each step:
//
//	size  uvarint  of the body, at most RecordMax
//	body           a Head or a Step as package values says
//	sum   4 bytes  the beginning of BLAKE2s-256(sum of the record before, body)
//
// The sums make a chain: a record that is damaged, missing or out of its place is found. They are
// for accidents; whoever can write a tape can write another.
//
// The private key is not on a tape. The seed of the boot's nonces is, and so is every value that
// passed: only a node of a laboratory keeps one.
package tape

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/blake2s"

	"holdfast/mesh"
	"holdfast/mesh/when"
)

// RecordMax bounds the body of a record, in bytes. The largest step is one that sends every object
// to every member.
const RecordMax = 4 << 20

// sumSize is how much of the sum a record has.
const sumSize = 4

// Head says how the protocol was started: a call of mesh.New.
type Head struct {
	Form    [16]byte          // what the values of this tape look like: Form of who wrote it
	Build   string            // the version of the program that wrote it
	Key     ed25519.PublicKey // the node's
	Now     when.Instant
	Config  mesh.Config // without the private key
	Effects []mesh.Effect
}

// Step is a call of mesh.Node.Step with what came of it.
type Step struct {
	Now     when.Instant
	Input   mesh.Input
	Effects []mesh.Effect
}

// Writer makes the records of one tape.
type Writer struct {
	sum  [blake2s.Size]byte // of the latest record
	body []byte
}

// Head makes the first record. It sets the head's Form, and leaves the private key out.
func (w *Writer) Head(h Head) []byte {
	h.Form, h.Config.Key = Form(), nil
	return w.record(&h)
}

// Step makes the next record, which shares no memory with the step.
func (w *Writer) Step(s Step) []byte { return w.record(&s) }

func (w *Writer) record(v any) []byte {
	w.body = appendValue(w.body[:0], v)
	if len(w.body) > RecordMax {
		panic("tape: a record is too large")
	}
	w.sum = chain(w.sum, w.body)
	r := make([]byte, 0, binary.MaxVarintLen32+len(w.body)+sumSize)
	r = binary.AppendUvarint(r, uint64(len(w.body)))
	return append(append(r, w.body...), w.sum[:sumSize]...)
}

// chain is the sum of a record behind one with the sum before.
func chain(before [blake2s.Size]byte, body []byte) [blake2s.Size]byte {
	h, err := blake2s.New256(nil)
	if err != nil {
		panic("tape: " + err.Error()) // keys can be wrong, and there is none
	}
	h.Write(before[:])
	h.Write(body)
	return [blake2s.Size]byte(h.Sum(nil))
}

// The errors of a Reader.
var (
	ErrTorn    = errors.New("tape: it breaks off in a record")
	ErrDamaged = errors.New("tape: a record is damaged, or records are missing before it")
	ErrForm    = errors.New("tape: it was written by a program with other types in its protocol")
)

// Reader takes a tape apart.
type Reader struct {
	sum  [blake2s.Size]byte
	rest []byte
}

// Open reads the head of a tape. ErrForm says that this program cannot read it; the head then has
// no more than its Form and Build.
func Open(tape []byte) (*Reader, Head, error) {
	r := &Reader{rest: tape}
	body, err := r.record()
	if err == io.EOF {
		return nil, Head{}, ErrTorn // a tape has a head at least
	}
	if err != nil {
		return nil, Head{}, err
	}
	var h struct {
		Form  [16]byte
		Build string
	}
	if _, err := readValue(body, &h); err != nil {
		return nil, Head{}, err
	}
	if h.Form != Form() {
		return nil, Head{Form: h.Form, Build: h.Build}, ErrForm
	}
	var head Head
	if err := readWhole(body, &head); err != nil {
		return nil, Head{}, err
	}
	return r, head, nil
}

// Next reads the next step; io.EOF is behind the last one.
func (r *Reader) Next() (Step, error) {
	var s Step
	body, err := r.record()
	if err == nil {
		err = readWhole(body, &s)
	}
	return s, err
}

// record returns the next record's body, and io.EOF behind the last one.
func (r *Reader) record() ([]byte, error) {
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	size, n := binary.Uvarint(r.rest)
	switch {
	case n == 0:
		return nil, ErrTorn
	case n < 0 || size > RecordMax:
		return nil, ErrDamaged
	case uint64(len(r.rest)-n) < size+sumSize:
		return nil, ErrTorn
	}
	body, behind := r.rest[n:n+int(size)], r.rest[n+int(size):]
	r.sum = chain(r.sum, body)
	if string(behind[:sumSize]) != string(r.sum[:sumSize]) {
		return nil, ErrDamaged
	}
	r.rest = behind[sumSize:]
	return body, nil
}

func readWhole(body []byte, v any) error {
	rest, err := readValue(body, v)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%w: %d bytes too many", ErrDamaged, len(rest))
	}
	return err
}
