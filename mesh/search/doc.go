// Package search goes through every state that a small mesh can reach within stated bounds, and
// holds the safety invariants against each: at no instant may two nodes commit the same object, and
// a commit that was answered as replicated is known to whoever may commit the object later. The
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
//   - any frame is lost, or so many frames are; or so many are late, by any time, in the order of
//     their session;
//   - the network passes, holds, releases or loses what one or both ends of a session are sent, and
//     changes that so often: a cut, a cut of one direction, a heal, frames held and released;
//   - sessions end at one end; a member has two of them at a time, which overtake each other;
//   - a machine is stopped while its counter goes on, or frozen with its counter, or loses its
//     power, and goes on or boots at any later second, the authority with the marks in its NVRAM; a
//     pause may come between the two checks of a commit; marks take time to become durable;
//   - an object is moved by a lab step; a third machine boots, another member or one with the
//     member's key;
//   - clients ask for replicated commits of one object, at its home, a second one perhaps before
//     the first is answered, a local one perhaps between two; with leases, and without
//     (mesh.acks=all).
//
// # What is judged
//
// At every state: that there are not two machines that may commit an object; not two views of one
// epoch; not two records of one number, or two commits that made one version; that whoever may
// commit an object knows every commit of it that was answered as replicated. When one is answered:
// that every member of the view holds it. At every step: that no node goes back to an earlier
// epoch, or panics.
//
// # What is merged
//
// Two states are the same when their canonical encodings are (canon.go, rules.go): an instant that
// is only compared with an age is its age, up to the bound that it is compared with; nonces and
// session numbers are names; a nonce that one node waits for and nobody else has is forgotten; the
// read lease, the age of copies, evidence, counters and caches are left out; a client that waits
// for longer than a search lasts waits for ever. Everything else that a node holds is in the
// encoding, fields that are added tomorrow included. So merging is sound as long as the rules are:
// what they leave out decides nothing that is judged here. The tests hold them against that, state
// by state: whenever two are merged, the same can follow both.
//
// What can no longer matter is forgotten, each for its own reason:
//
//   - a pause gives back to a silence what it took and no more: one that is above its bound stays
//     there, whatever pauses come;
//   - a lease that is over by one of the clocks is over for good, and so is what a request can give
//     that was sent as long ago;
//   - the echo of what was sent longer ago than an echo counts for says nothing;
//   - the latest LeaseAck answered a frame that was heard no earlier: that one puts the conviction
//     off for as long, so that the acknowledgement matters only as long as its fence;
//   - when a node started is asked in a quarantine, when a lease was asked for by one that has
//     joined; a member uses nothing that the authority alone writes, nor the other way round; where
//     an adapter has one session, nobody asks since when another one is wanted.
//
// Time itself is no part of a state: one that was reached before is not gone through again. It was
// reached no later, so all that can follow it did within the time that was left. Nor is what may
// still go wrong: nothing has to, so all that can follow a state can follow the same state with a
// greater allowance, and one that was reached with that is not gone through again either. In this
// the beginning of a second counts as an allowance, where faults happen only then. The encodings
// are compared by 128 bits of SHA-256. The tests hold this against a search in which allowances are
// parts of states: what is judged has to be the same.
//
// No order of actions is left out: also two that do not touch each other are carried out both ways
// round, since the invariant is about both machines at one instant. What the second way leads to is
// merged with the first. To leave orders out would pay little: it was tried, with the steps of a
// machine that has something to take in on all its sessions before those of the others, and took
// away 2 to 6 of 100 states. Two machines have hardly two steps at a time that do not depend on
// each other, and what a third one adds goes through the authority, in every order.
//
// # What is kept
//
// Of every state its 16 bytes, 8 for its allowances, and in 12 bytes more how it was reached: the
// conversation that leads to a violation is made by carrying its actions out again. Worlds are kept
// for the second under way and the one after, and each only until it has been gone through. Nodes
// and frames are shared by all worlds of a second in which they are the same, and the same step of
// the same node is taken once. A scope of ten million states needs a few GiB; whoever runs one is
// told how far it is, and can stop it.
//
// # What is added, and how
//
// A new field of a node needs nothing to be sound. If it holds an instant it needs a rule in
// rules.go, or no two states with different ages are merged and the numbers explode: no rule may
// say less than what the field decides. A new kind of frame is named in canon.go.
//
// A new action is a kind with its word (action.go, kinds of fault last), a line where it is
// possible (machineActions or linkActions), what it does (do.go), and its arguments as words
// (script.go). What bounds it is a field of Scope, and of budget when it is used up: an allowance
// (allow.go), or a part of the key (key.go) as what it leaves behind in a machine or a link is. The
// tests ask for a depth of every new scope.
//
// # What is not covered
//
// Steps between the whole seconds: the boundaries to the millisecond have tests of their own.
// Counters that run at different rates. More than three machines, more objects than one for each
// way in which these nodes can home one. Reads; requests that another node passes on to the home,
// or that are repeated. Marks that are torn or wiped. Frames that are damaged, repeated or overtake
// others of their session. Without losses and Late, what has arrived at an end is taken in at once,
// and a reset or a dial takes no longer than the second. Faults within a second, in the scopes that
// say Early. Troubles of different kinds together, where no scope has both.
package search
