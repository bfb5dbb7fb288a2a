// Package evidence is the line grammar of what a node prints and answers: one line a fact, made by
// the kernel and read back by the rig, both through this package, so that neither can drift from
// the other (spec/evidence.md; spec/system.md section 6; ADR-0008 section 7).
//
//	line = head *(" " key "=" value) " at=" instant
//	head = prefix ":" *(" " word) | "mesh=single"
//
// Single spaces; lower-case hex; decimals without leading zeros; lists with commas; none for a
// value that does not exist; no trailing space; at most Max bytes. Every line ends in the instant
// of the event, in milliseconds since boot. Two forms are outside this:
//
//	panic: <package>: <message>    free text to the end, for nobody may parse anything at that moment
//	member id=... state=alive ...  Status: lines of HTTP answers that are a state and no event
//
// Rows is the whole grammar as data. Formatting does not consult it: a row that a kernel gets wrong
// is still printed, and fails the run that reads it. The table bounds every value, so that no row
// can be longer than Max. docs/evidence.md explains each row; a test keeps it equal to the table.
//
// The package never decides what happens; it has no clock and does no I/O.
package evidence
