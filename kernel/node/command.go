package node

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"time"

	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/refusal"
)

// logShown is how many lines of evidence the command log shows unless it is told another number.
const logShown = 20

// say writes one line of a command's answer.
type say func(line string)

// command is what an operator can type, by its first word. Its answer is a few lines, at most as
// many as the evidence's ring has.
type command struct {
	name, arguments, help string

	// run gets the words behind the name. False means that they are not the arguments it takes.
	run func(n *Node, ctx context.Context, say say, words []string) bool
}

// commands is a function because help is one of them.
func commands() []command {
	return []command{
		{"help", "", "this list", (*Node).helpCommand},
		{"mesh", "", "the node and its members, as GET /mesh", (*Node).meshCommand},
		{"homes", "", "every object and its home, as GET /mesh/homes", (*Node).homesCommand},
		{"log", "[N]", "the latest N lines of evidence", (*Node).logCommand},
		{"threads", "", "what the processor is busy with", (*Node).threadsCommand},
		{"mem", "", "memory, in bytes and pages", (*Node).memCommand},
		{"net", "", "what the network counts", (*Node).netCommand},
		{"env", "get [NAME] | set NAME=VALUE | unset NAME", "the environment of the next boot",
			(*Node).envCommand},
		{"start-empty", "", "let an authority start that waits for a proof, with nothing if need be",
			(*Node).startEmptyCommand},
		{"reboot", "", "reset the board", (*Node).rebootCommand},
		{"poweroff", "", "switch the board off", (*Node).poweroffCommand},
	}
}

// command runs one line.
func (n *Node) command(ctx context.Context, line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	say := func(line string) { n.log.Answer(ctx, line) }
	for _, c := range commands() {
		if c.name != words[0] {
			continue
		}
		if !c.run(n, ctx, say, words[1:]) {
			say("usage: " + strings.TrimRight(c.name+" "+c.arguments, " "))
		}
		return
	}
	say("no such command: help lists them")
}

func (n *Node) helpCommand(_ context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	for _, c := range commands() {
		say(strings.TrimRight(c.name+" "+c.arguments, " ") + ": " + c.help)
	}
	return true
}

// sayPage says an answer that HTTP would give.
func sayPage(say say, a web.Answer) bool {
	for line := range strings.Lines(a.Body) {
		say(strings.TrimSuffix(line, "\n"))
	}
	return true
}

func (n *Node) meshCommand(ctx context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	return sayPage(say, n.site().Mesh(ctx))
}

func (n *Node) homesCommand(ctx context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	s := n.site()
	if s.NoMesh != nil {
		return sayPage(say, s.NoMesh())
	}
	return sayPage(say, s.Homes(ctx))
}

func (n *Node) logCommand(_ context.Context, say say, words []string) bool {
	shown := logShown
	if len(words) == 1 {
		v, err := strconv.Atoi(words[0])
		if err != nil || v < 1 || v > evidence.RingSize {
			return false
		}
		shown = v
	}
	if len(words) > 1 {
		return false
	}
	rows := n.log.After(0)
	for _, row := range rows[max(0, len(rows)-shown):] {
		say(row.String())
	}
	return true
}

func (n *Node) threadsCommand(_ context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	say("goroutines=" + itoa(runtime.NumGoroutine()))
	if n.machine.Threads != nil {
		for _, t := range n.machine.Threads() {
			say("thread " + itoa(t.ID) + " " + t.State + " busy=" +
				t.Busy.Round(time.Millisecond).String())
		}
	}
	return n.sayFigures(say, "kernel_switches", "kernel_interrupts", "kernel_signals", "loop_")
}

func (n *Node) memCommand(_ context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	say("runtime_sys=" + strconv.FormatUint(m.Sys, 10))
	say("heap_alloc=" + strconv.FormatUint(m.HeapAlloc, 10))
	say("heap_objects=" + strconv.FormatUint(m.HeapObjects, 10))
	say("collections=" + strconv.FormatUint(uint64(m.NumGC), 10))
	return n.sayFigures(say, "kernel_ram", "kernel_pages")
}

func (n *Node) netCommand(_ context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	address, gateway := n.Address()
	if !address.IsValid() {
		say("no network: net.ip was refused")
		return true
	}
	say("address=" + address.String())
	if gateway.IsValid() {
		say("gateway=" + gateway.String())
	}
	return n.sayFigures(say, "net_", "enet_", "http_", "link_")
}

// sayFigures says the node's figures whose names begin in one of these ways.
func (n *Node) sayFigures(say say, prefixes ...string) bool {
	n.figures(func(f Figure) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(f.Name, prefix) {
				say(f.Name + "=" + strconv.FormatUint(f.Value, 10))
			}
		}
	})
	return true
}

// startEmptyCommand is the operator's word that nobody is left who holds anything.
func (n *Node) startEmptyCommand(ctx context.Context, say say, words []string) bool {
	if len(words) != 0 {
		return false
	}
	if n.loop == nil {
		say("this node has no mesh")
		return true
	}
	a, w := n.ask(ctx, func(t mesh.Ticket) mesh.Input { return mesh.StartEmpty{Ticket: t} })
	switch {
	case w != refusal.OK:
		say(w.String())
	case a.Status == mesh.WrongRole:
		say("nothing changed: this node is no authority")
	case a.Status == mesh.WrongOrder:
		say("nothing changed: it has a view, or its marks are lost and mesh.epoch is not set")
	default:
		say("it starts with what everybody shows once its quarantine is over, else with nothing")
	}
	return true
}

func (n *Node) rebootCommand(_ context.Context, say say, words []string) bool {
	return len(words) == 0 && end(say, n.machine.Restart, "rebooting")
}

func (n *Node) poweroffCommand(_ context.Context, say say, words []string) bool {
	return len(words) == 0 && end(say, n.machine.PowerOff, "switching off")
}

func end(say say, how func(), word string) bool {
	if how == nil {
		say("this machine cannot")
		return true
	}
	say(word)
	how()
	return true
}

func itoa(v int) string { return strconv.Itoa(v) }
