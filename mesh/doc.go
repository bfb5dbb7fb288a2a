// Package mesh is the protocol by which two or more nodes agree on a membership epoch and on one
// home for every object. It is one pure step function:
//
//	Step(now, input) -> effects
//
// An adapter owns links, clocks, NVRAM and clients; it hands in what happens, with a reading of the
// node's own counter, and carries out the effects in order. The package has no goroutine, no clock,
// no I/O and no global state, and no map iteration decides anything: the same inputs give the same
// effects on every machine. So the code that the kernel runs is the code that tests search.
//
// The promise is one sentence: at no instant do two nodes act as the home of one object. It rests
// on these parts, each in a package of its own:
//
//	detect   silence -> Alive, Suspect, Failed; a policy without consequences
//	member   who is in the view and what has been heard from them
//	view     signed epochs; only the authority makes one
//	home     view -> home of each object
//	lease    a member's right to commit, counted from when it asked
//	route    cached routes, home leases, fences
//	record   a version of an object, and the table of all    replay   no request is executed twice
//	wire     frames            evidence  what happened, one line each
//	capability, refusal, id, when, timing   the words they share
//
// and on the files here: node (Step, time, pauses), session (links), authority (views), admission
// and damping (who joins them), member (joining, asking for the lease), install (what a new view
// changes), marks (what an authority must not forget), serve (being a home), commit (replicated
// commits), copies (holding others' records), table (the records that a view stands for), proof
// (the records of a restarted authority), stale (reads of copies), forward (requests between two
// members), operation (being a client), labstep and move (the rig's handles), status and inspect
// (looking), clone (one past, several futures: for the search), random (nonces).
//
// Every table is bounded. What the ADR (M2-ADR-0008) gets wrong is repaired by the rules L1 to L16
// of spec/system.md section 9; a comment names the rule where the code obeys it.
package mesh
