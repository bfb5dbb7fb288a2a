// Package sim is deterministic simulation of whole meshes: a seed is a world, with an authority, up
// to four members, their clocks, their NVRAM, the network between them and the people who use them,
// in which everything goes wrong that may. The nodes are the shipped mesh.Node; what is simulated
// is the adapter around each, the machine below it, and time. There is no clock, no goroutine and
// no map here: the same seed is the same world, to the last bit of what its nodes say, wherever and
// whenever it is lived through (failure.md, section D).
//
//	Run(seed) -> Result      a verdict, a hash of everything that the nodes did, measures
//	Replay(seed)             the same, with a log like the golden conversations of package mesh
//	RunAcks(seed)            a world of nodes without leases (mesh.acks=all), and so ReplayAcks
//	RunFailover(seed)        a short world about commits and failovers, with its history
//
// # A world
//
// First its character is drawn (plan.go): how many nodes, how good the clocks and the paths are,
// which faults it knows at all and how often they come; a world with every fault in it rarely gets
// far enough to be interesting. Then three phases:
//
//	storm   trouble: minutes with a fault every few seconds, or hours with one in a while
//	calm    all trouble ends, and the mesh has to become whole within recoveryMax
//	quiet   nothing happens but what clients want, and no view may change
//
// True time is in microseconds and goes from one event to the next: an hour in which nothing
// happens costs the ticks of its nodes. A node reads its own counter (milliseconds since its boot,
// wrong by up to 1 %) and its own second clock (whole seconds, wrong too).
//
// # Faults
//
//	paths     cuts, both ways and one way; loss, delay, jitter; buffers that fill
//	sessions  frames arrive in order and whole, or late: what is lost below TCP delays all that is
//	          behind it. Sessions are reset, corrupted (TLS ends them), half-open after a death, and
//	          reset when they are used after the peer is back; two sessions of a node reorder
//	frames    as TLS rules out: lost, repeated, overtaken, one bit turned
//	machines  off and on; stopped with the counter going on, stopped with the counter standing still,
//	          also between the two checks of a commit; a copy of a node; slow ticks
//	clocks    rates; the counter set back, a member's also forward; the second clock set, or silent
//	NVRAM     marks that take time, that cannot be written, torn while they are, wiped
//	use       commits and reads through every node, repeated under their identity; lab steps
//
// # What is judged
//
// judge.go has the list I1 to I9 and looks after every step that can matter, and at each instant at
// which a right begins by itself. The right of a node that died counts as if it lived.
//
// # What is not simulated
//
//	the authority's counter set forward: it takes a gap for time that has passed
//	a member without a second clock, stopped with its counter (rule L6 says why it is lost)
//	two clocks of one node that fail at a time, so that they still agree
//	a copy of the authority
//	packets: TCP's windows and timers are those of package netstack, and level 3 of the proof
package sim
