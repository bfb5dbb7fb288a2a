package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"holdfast/mesh/evidence"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/replay"
	"holdfast/rig/world"
)

// replayCommand hands the inputs of a run's nodes to the protocol once more.
type replayCommand struct {
	IntoSim bool `required:"" help:"Into the pure protocol, on this host: the one way there is."`

	Folder string `arg:"" name:"run" default:"runs/latest" help:"Folder of the run, or its journal."`
}

// Help is the example of --help.
func (*replayCommand) Help() string {
	return "Example: rig run --fault none --record-steps && rig replay runs/latest --into-sim. " +
		"Exit code 0: every step of every node gave on this host what it gave on the node; 1: one " +
		"gave something else; 2: a tape is missing or damaged. To run the same fault with the same " +
		"keys again: rig run --fault FAULT --seed SEED."
}

// Run replays every boot that had a mesh, and prints a line for each.
func (c *replayCommand) Run() error {
	records, err := readJournal(c.Folder)
	if err != nil {
		return err
	}
	records, _ = journal.Split(records)
	cast, err := castOf(records[0].Run)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Folder, err)
	}
	keys := make(map[string]ed25519.PrivateKey)
	for _, n := range cast.Nodes {
		keys[n.Name] = n.Key
	}
	s := session{}
	boots := meshBoots(records)
	for _, b := range boots {
		s.worsen(c.one(records, b, keys[b.node]))
	}
	switch {
	case len(boots) == 0:
		fmt.Println("no node of this run had a mesh: there is nothing to replay")
		s.worsen(judge.CodeInconclusive)
	case s.worst == judge.CodeHeld:
		fmt.Println("every step gave on this host what it gave on its node")
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}

// meshBoot is a boot of a node that started the protocol.
type meshBoot struct {
	node   string
	number int    // of the machine, in the journal
	name   string // as the node draws it
}

// meshBoots finds them by their first row. A node that resets itself has several with one number.
func meshBoots(records []journal.Record) []meshBoot {
	var boots []meshBoot
	for _, r := range records {
		if r.Kind != journal.KindConsole {
			continue
		}
		line, err := evidence.Parse(r.Line)
		if err != nil || !line.Is("mesh-node", "start") {
			continue
		}
		if name, ok := line.Get("boot"); ok {
			boots = append(boots, meshBoot{r.Node, r.Boot, name})
		}
	}
	return boots
}

// one replays one boot and says what came of it.
func (c *replayCommand) one(
	records []journal.Record, b meshBoot, key ed25519.PrivateKey,
) judge.Code {
	say := func(format string, args ...any) {
		fmt.Printf("%s boot %d  %s\n", b.node, b.number, fmt.Sprintf(format, args...))
	}
	folder := c.Folder
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		folder = filepath.Dir(folder) // the journal alone was named
	}
	from, err := os.ReadFile(filepath.Join(folder, world.TapeFile(b.node, b.name)))
	if errors.Is(err, fs.ErrNotExist) {
		say("no tape: it is kept with rig run --record-steps, of a node that runs for a second")
		return judge.CodeInconclusive
	}
	if err != nil {
		say("%v", err)
		return judge.CodeTrouble
	}
	o, err := replay.Do(from, key)
	switch {
	case err == nil && o.Boot.String() != b.name:
		err = fmt.Errorf("the tape is that of boot %v", o.Boot)
		fallthrough
	case err != nil:
		say("%v", err)
		c.hint(o)
		return judge.CodeInconclusive
	case o.Difference == nil:
		say("%v: the same", o)
		if n := replay.Unprinted(records, b.node, b.number, o.Rows); n > 0 {
			say("its console has not shown %d of these rows", n)
		}
		return judge.CodeHeld
	}
	say("%v; then", o)
	for _, line := range o.Difference.Lines() {
		fmt.Println("  " + line)
	}
	if r, ok := replay.Near(records, b.node, b.number, o.Difference.Now); ok {
		fmt.Printf("  before it   record %d, %v: %s\n", r.N, r.At, r.Line)
	}
	c.hint(o)
	return judge.CodeViolated
}

// hint says on standard error when the node and this program were built from different sources: a
// difference may be a change of the protocol then.
func (c *replayCommand) hint(o replay.Outcome) {
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.Main.Version
	}
	if o.Build != "" && o.Build != build {
		fmt.Fprintf(os.Stderr, "rig: the node was built from %s, this program from %s\n", o.Build, build)
	}
}
