// Package search goes through every state that a small mesh can reach within stated bounds, and
// holds the safety invariant against each: at no instant may two nodes commit the same object. The
// nodes are mesh.Node itself, not a model of it; their surroundings, which are this package, are an
// abstraction. It runs on a host and is no part of the image.
//
// # What is enumerated
//
// True time moves in whole seconds. A search begins with an authority and a member that have worked
// together for a while, at the second in which the lease was renewed: since every fault may begin
// in any second after that, it meets every phase of the requests (2 s) and of the Pings (5 s).
// Within a second machines act in every order: a node takes one tick in each, before, between or
// after the frames that arrive in it. A Scope says what may happen besides, in every combination up
// to its numbers, in every second and, unless it says Early, at every point within it:
//
//   - any frame is lost; or so many frames are late, by any time, in the order of their session;
//   - the network passes, holds, releases or loses what one or both ends of a session are sent, and
//     changes that so often: a cut, a cut of one direction, a heal, frames held and released;
//   - sessions end at one end; a member has two of them at a time, which overtake each other;
//   - a machine is stopped while its counter goes on, or frozen with its counter, or loses its
//     power, and goes on or boots at any later second, the authority with the marks in its NVRAM; a
//     pause may come between the two checks of a commit; marks take time to become durable;
//   - an object is moved by a lab step; a third machine boots, another member or one with the
//     member's key.
//
// # What is merged
//
// Two states are the same when their canonical encodings are (canon.go, rules.go): an instant that
// is only compared with an age is its age, up to the bound that it is compared with; nonces and
// session numbers are names; a nonce that one node waits for and nobody else has is forgotten; the
// read lease, evidence, counters and caches are left out. Time itself is no part of a state: one
// that was reached before is not gone through again. The encodings are compared by 128 bits of
// SHA-256.
//
// # What is not covered
//
// Steps between the whole seconds: the boundaries to the millisecond have tests of their own.
// Counters that run at different rates. More than three machines, more objects than one for each
// way in which these nodes can home one. Reads. Frames that are damaged, repeated or overtake
// others of their session. Without Loss and Late, what has arrived at an end is taken in at once,
// and a reset or a dial takes no longer than the second.
package search
