package search

import "holdfast/mesh/when"

// Scope says what one search enumerates: everything that can happen within these bounds does.
type Scope struct {
	Name    string
	Seconds int // of true time, from a working pair on; at most SecondsMax
	Long    int // the same where there is much more time to search in; 0 for no more than that

	Sessions int // that a member's adapter has at the same time, at most 2; 0 means 1

	// What the network does. Without any of these every frame arrives within the second in which it
	// was sent, in the order of its session.
	Loss    bool // any frame may be lost
	Losses  int  // so many frames may be lost; of no use beside Loss
	Late    int  // so many frames on their way to an end of a session may be late by any time
	Changes int  // how often the network may change what it does with a session
	Resets  int  // sessions that end at one end although both machines run

	// What happens to machines.
	Events  int  // pauses and losses of power, of any machine, for any time
	Commits bool // a pause may come between a commit's two checks
	Slow    bool // the authority's marks take time to become durable, and are lost with its power

	Early bool // what goes wrong does so at the beginning of a second

	Moves int // lab moves

	// Commits, of the object that the first of them picks. What is answered as replicated must not be
	// lost.
	Writes int
	Within when.Span // how long their clients wait; 0 for longer than any search
	Local  bool      // the second one is local, the others are replicated

	Acks bool // nodes have no leases (mesh.acks=all), with the times of the ADR; nor the lab

	Third Third

	// What is known to be wrong, to show that the search can see it.
	OneClock bool // members have no second clock
	ADR      bool // members are judged by the lease as the ADR has it

	Mild bool // too short, or too little trouble, for the lease of the ADR to give two homes
}

// SecondsMax bounds how long a search can last: what happens later than this from now on never
// happens in it.
const SecondsMax = 30

// Third is what the third machine is.
type Third uint8

// The third machines.
const (
	Nobody   Third = iota
	Newcomer       // another member, which boots at any time
	Twin           // a machine with the member's key, which boots at any time
	Settled        // another member, which has been in the view since before the search
)

// Scopes are what a full search goes through.
var Scopes = []Scope{
	{Name: "changes", Seconds: 24, Changes: 3},
	{Name: "two-sessions", Seconds: 24, Sessions: 2, Changes: 2, Resets: 1, Early: true},
	{Name: "loss", Seconds: 24, Loss: true},
	{Name: "late", Seconds: 24, Late: 1, Mild: true},
	{Name: "late-loss", Seconds: 12, Late: 1, Loss: true},
	{Name: "late-losses", Seconds: 24, Late: 1, Losses: 2},
	{Name: "events", Seconds: 24, Events: 2},
	{Name: "event-change", Seconds: 24, Events: 1, Changes: 1, Early: true},
	{Name: "event-changes", Seconds: 24, Events: 1, Changes: 2, Early: true},
	{Name: "events-change", Seconds: 9, Long: 24, Events: 2, Changes: 1, Early: true, Mild: true},
	{Name: "everything", Seconds: 7, Long: 24, Events: 2, Changes: 2, Early: true, Mild: true},
	{Name: "commits", Seconds: 24, Events: 1, Commits: true},
	{Name: "slow-marks", Seconds: 24, Events: 1, Slow: true},
	{Name: "move", Seconds: 24, Moves: 1, Changes: 1, Early: true},
	{Name: "move-event", Seconds: 24, Moves: 1, Events: 1, Early: true},
	{Name: "newcomer", Seconds: 24, Third: Newcomer, Changes: 1, Early: true},
	{Name: "newcomer-event", Seconds: 24, Third: Newcomer, Events: 1, Early: true},
	{Name: "twin", Seconds: 24, Third: Twin, Changes: 1, Early: true},
	{Name: "twin-event", Seconds: 24, Third: Twin, Events: 1, Early: true},
	{Name: "commit-event", Seconds: 24, Writes: 2, Events: 1},
	{Name: "commit-change", Seconds: 24, Writes: 2, Changes: 2, Early: true},
	{Name: "commit-wait", Seconds: 24, Writes: 2, Changes: 1, Within: 2 * when.Second},
	{Name: "commit-local", Seconds: 24, Writes: 3, Local: true, Changes: 1, Early: true},
	{Name: "commit-move", Seconds: 24, Writes: 2, Moves: 1, Changes: 1, Early: true},
	{Name: "commit-newcomer", Seconds: 24, Third: Newcomer, Writes: 1, Early: true},
	{Name: "commit-three", Seconds: 24, Third: Settled, Writes: 1, Changes: 1, Early: true},
	{Name: "acks-event", Seconds: 24, Acks: true, Writes: 2, Events: 1},
	{Name: "acks-change", Seconds: 24, Acks: true, Writes: 2, Changes: 2, Early: true},
	{Name: "acks-newcomer", Seconds: 24, Acks: true, Third: Newcomer, Writes: 1, Changes: 1,
		Early: true},
	{Name: "acks-twin", Seconds: 24, Acks: true, Third: Twin, Writes: 1, Early: true, Mild: true},
}
