package journal

import (
	"strconv"
	"time"
)

// Schema numbers the form of the records. A reader refuses another number.
const Schema = 1

// Time is an instant of a run: microseconds of the rig's monotonic clock since the run began.
type Time int64

// Sub is the time from u to t, negative when t is earlier.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Microsecond }

// Add is the instant d after t, to the microsecond.
func (t Time) Add(d time.Duration) Time { return t + Time(d.Microseconds()) }

// String is t in seconds with three decimals, such as "12.345 s".
func (t Time) String() string {
	return strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64) + " s"
}

// Kind says what a record is about, and so which of its fields are set.
type Kind string

// The kinds. Every journal begins with KindRun and, unless the rig itself was killed or could not
// write, the run finishes with KindEnd. docs/results.md has a table of them with an example each.
const (
	KindRun     Kind = "run"     // Run: what is run, with what
	KindBoot    Kind = "boot"    // Node, Boot: the rig started this machine
	KindConsole Kind = "console" // Node, Boot, Line: one console line
	KindEvent   Kind = "qmp"     // Node, Boot, Event: what QEMU reported
	KindExit    Kind = "exit"    // Node, Boot, Exit: the machine's QEMU is gone
	KindAction  Kind = "action"  // Node, Boot, Action: what the rig did to a machine
	KindFrame   Kind = "frame"   // Node (the sender), Frame: mesh traffic through the relay
	KindHTTP    Kind = "http"    // Node, Boot, HTTP: a request and its answer
	KindStep    Kind = "step"    // Step: the rig began a step or is through with it
	KindTrouble Kind = "trouble" // Trouble: the rig itself, or its artefacts, are not well
	KindEnd     Kind = "end"     // End: how the run ended
	KindCheck   Kind = "check"   // Check: an answer of the verdict; it and no other follows the end
)

// Record is one thing that happened. At is when it happened; N, from 1, is the order in which the
// journal heard of it, which for two sources can differ from the order of At by the time that a
// console line or a frame is under way inside the rig.
type Record struct {
	N    int    `json:"n"`
	At   Time   `json:"us"`
	Kind Kind   `json:"kind"`
	Node string `json:"node,omitempty"`
	Boot int    `json:"boot,omitempty"` // counts the starts of the node, from 1

	Run     *Run    `json:"run,omitempty"`
	Line    string  `json:"line,omitempty"`
	Event   *Event  `json:"event,omitempty"`
	Exit    *Exit   `json:"exit,omitempty"`
	Action  *Action `json:"action,omitempty"`
	Frame   *Frame  `json:"frame,omitempty"`
	HTTP    *HTTP   `json:"http,omitempty"`
	Step    *Step   `json:"step,omitempty"`
	Trouble string  `json:"trouble,omitempty"`
	End     *End    `json:"end,omitempty"`
	Check   *Check  `json:"check,omitempty"`
}

// Run is what a judge has to know besides what happens.
type Run struct {
	Schema int       `json:"schema"`
	Fault  string    `json:"fault"`
	Seed   uint64    `json:"seed"`
	Wall   time.Time `json:"wall"` // the wall clock's time when the run began
	Image  string    `json:"image"`
	SHA256 string    `json:"sha256"` // of the image
	RAM    string    `json:"ram"`
	QEMU   string    `json:"qemu"`           // its version
	CPUs   int       `json:"cpus,omitempty"` // of the rig's machine
	// Slow is by how much the rig was more patient than usual; 0 stands for 1, too.
	Slow float64 `json:"slow,omitempty"`
	// Scenario is the text of the file that the fault was read from; empty for a fault of the rig's.
	Scenario string `json:"scenario,omitempty"`
	Nodes    []Node `json:"nodes"`
	// Times is the mesh's timing; nil, in a journal of an older rig, for the usual one.
	Times *Times `json:"times_ms,omitempty"`
	// Objects are the lab objects, lowest number first.
	Objects []Object `json:"objects"`
}

// Times is a mesh's timing, in milliseconds.
type Times struct {
	Heartbeat int64 `json:"heartbeat"`
	Suspect   int64 `json:"suspect"`
	Fail      int64 `json:"fail"`
	Lease     int64 `json:"lease"`
	// Fence says what keeps an old home from committing, as the nodes' own answers do: "lease", or
	// "acks", with which no lease gives a right. It is empty in a journal of an older rig.
	Fence string `json:"fence,omitempty"`
}

// Node is one machine of a run.
type Node struct {
	Name      string `json:"name"`
	ID        string `json:"id"`
	Address   string `json:"address"`
	Authority bool   `json:"authority"`
}

// Object is an object that every node of a run knows from its start.
type Object struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// Event is an event of QMP, such as RESET.
type Event struct {
	Name string `json:"name"`
	Data string `json:"data,omitempty"` // JSON, as QEMU sent it
}

// Exit says how a machine's QEMU ended.
type Exit struct {
	Text string `json:"text"`
	Lost uint64 `json:"lost,omitempty"` // console bytes that the rig did not keep up with
}

// The actions on a machine, and those on the way between two.
const (
	ActionKill = "kill" // SIGKILL: a power cut
	ActionQuit = "quit" // the run is over; QEMU is asked to end

	ActionCut     = "cut"     // nothing passes between the two nodes any more
	ActionRelease = "release" // what the relay had kept of the node's frames goes on to the peer
	ActionHeal    = "heal"    // everything passes again
	ActionImpair  = "impair"  // what the node sends to the peer passes by a rule, Detail
)

// The actions that make a machine stand still, and those that let it go on. While it stands still,
// frames to it are lost.
const (
	ActionFreeze = "freeze" // QMP stop: the guest's counter stands still, too
	ActionThaw   = "thaw"   // QMP cont
	ActionStall  = "stall"  // SIGSTOP: the guest's counter jumps when it goes on
	ActionResume = "resume" // SIGCONT
)

// The actions of stopping a machine at one place in its program, Detail: the function that it is
// about to begin. While it is armed it stands still with its counter for a moment, until Done; once
// it has come there it stands still until the rig ends it.
const (
	ActionArm   = "arm"
	ActionReach = "reach"
)

// ActionTamper is a change of the EEPROM of a machine that is off, Detail says which.
const ActionTamper = "tamper"

// ActionAttack is what a stranger on the Ethernet did to a node, Detail says what, from the
// record's At to Done.
const ActionAttack = "attack"

// Action is something that the rig did to a machine, or between two. Its record's At is before the
// attempt.
type Action struct {
	Name string `json:"name"`
	Peer string `json:"peer,omitempty"` // the other node, of an action between two
	// Detail says more, for people.
	Detail string `json:"detail,omitempty"`
	// Offered is how many connections or frames an attack offered, Taken how many connections the
	// node's TCP took.
	Offered uint64 `json:"offered,omitempty"`
	Taken   uint64 `json:"taken,omitempty"`
	// StarvedMS is for how many milliseconds of an attack the machine's QEMU was ready to run and
	// this host ran something else.
	StarvedMS int64 `json:"starved_ms,omitempty"`
	// Done is when it had taken effect. One that ends a machine has when the attempt began: the
	// machine's KindExit has the rest.
	Done Time `json:"done_us"`
}

// Ends says whether the action ends the machine. What its console says from here on may break off
// in a line.
func (a *Action) Ends() bool { return a.Name == ActionKill || a.Name == ActionQuit }

// Frame is one Ethernet frame that carried bytes of a mesh session, with what became of it. Frames
// without payload, of other ports and of the rig's own station are in the capture only.
type Frame struct {
	To      string `json:"to"`
	Verdict string `json:"verdict"` // the relay's word
	Port    uint16 `json:"port"`    // of TCP, at the member; together with Seq it names the bytes
	Seq     uint32 `json:"seq"`     // of TCP
	Payload int    `json:"payload"` // bytes of TCP's payload
}

// HTTP is a request to a node. Its record's At is when the answer, or the failure, was there.
type HTTP struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Sent   Time   `json:"sent_us"`          // before the first packet
	Status int    `json:"status,omitempty"` // 0 when there was no answer
	Body   string `json:"body,omitempty"`
	Error  string `json:"error,omitempty"` // why there was no whole answer
	// Value is what a PUT asked to store.
	Value string `json:"value,omitempty"`
	// Request is the client's own name for the request, the same when it is sent again; empty when
	// the node was to give it one.
	Request string `json:"request,omitempty"`
	// Durability is what a PUT asked for; empty is the node's default.
	Durability string `json:"durability,omitempty"`
	// Class is what a GET asked for; empty is the node's default.
	Class string `json:"class,omitempty"`
	// Header has the answer's Holdfast headers, without that prefix and in lower case.
	Header map[string]string `json:"header,omitempty"`
}

// Step is a step of the fault. A step has two records: one when it begins, without Result, and one
// when it is through.
type Step struct {
	Name    string `json:"name"`
	LimitMS int64  `json:"limit_ms"`
	Result  string `json:"result,omitempty"` // "ok", or why the run did not go on
}

// Outcome is how the rig's part of a run ended; it is no verdict.
type Outcome string

// The outcomes.
const (
	Complete    Outcome = "complete"    // every step was done
	Stopped     Outcome = "stopped"     // what a machine printed or did made going on pointless
	Deadline    Outcome = "deadline"    // a step was not through within its time
	Refused     Outcome = "refused"     // a node's answer left nothing to go on with
	Interrupted Outcome = "interrupted" // the user ended it
	Trouble     Outcome = "trouble"     // the rig, QEMU or this machine failed
)

// End is the last record's content.
type End struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"`
}

// Check is what one question of the verdict was answered when the run was judged first. It is for
// readers who do not judge: a judge asks again, of the records up to the end.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // held, violated or inconclusive
	Detail string `json:"detail"`
	// Evidence is the numbers of the records that show it, ascending.
	Evidence []int `json:"evidence"`
	// SlackUS is what was left of the tightest bound, in microseconds: negative when it was late,
	// nil when the check measures no time.
	SlackUS *int64 `json:"slack_us,omitempty"`
}
