// Package home decides which member of a view is the home of an object, by rendezvous hashing: the
// member with the highest score. A view change therefore moves only the objects of the members that
// left, or those that a newcomer wins (ADR-0008 section 2; spec/system.md section 5).
//
//	score = BLAKE2s-256("holdfast/home\0" + object + node id), compared as big-endian bytes
//
// A tie goes to the higher id. testdata/vectors.txt has scores made by an independent
// implementation.
package home

import (
	"bytes"

	"golang.org/x/crypto/blake2s"

	"holdfast/mesh/id"
)

const domain = "holdfast/home\x00"

// Score is a node's claim to an object.
type Score [blake2s.Size]byte

// ScoreOf returns n's score for o.
func ScoreOf(o id.Object, n id.Node) Score {
	var in [len(domain) + len(o) + len(n)]byte
	copy(in[:], domain)
	copy(in[len(domain):], o[:])
	copy(in[len(domain)+len(o):], n[:])
	return blake2s.Sum256(in[:])
}

// Of returns the home of o among members, which must not be empty. Their order does not matter.
func Of(o id.Object, members []id.Node) id.Node {
	if len(members) == 0 {
		panic("home: no members")
	}
	best, top := members[0], ScoreOf(o, members[0])
	for _, n := range members[1:] {
		s := ScoreOf(o, n)
		if c := bytes.Compare(s[:], top[:]); c > 0 || c == 0 && n.Compare(best) > 0 {
			best, top = n, s
		}
	}
	return best
}
