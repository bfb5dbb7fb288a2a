package main

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
	"holdfast/rig/replay/replaytest"
	"holdfast/rig/world"
)

// recorded writes the folder of a run whose steps were recorded, with one thing wrong if there is a
// second word: recorded FOLDER [changed|torn|damaged|missing|another|stranger].
func recorded(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 {
		ts.Fatalf("usage: recorded FOLDER [WRONG]")
	}
	seed, wrong := uint64(42), ""
	if len(args) > 1 {
		wrong = args[1]
	}
	cast := provision.Draw(seed, 2)
	keys := [2]ed25519.PrivateKey{cast.Nodes[0].Key, cast.Nodes[1].Key}
	pair := replaytest.Make(keys, 20*when.Second)
	second := pair.Tapes[1]
	switch wrong {
	case "changed": // the input of a step is another one
		second = replaytest.Rewrite(second, func(n int, s *tape.Step) bool {
			if n == 30 {
				s.Now += 5_000
			}
			return true
		})
	case "torn":
		second = second[:len(second)-1]
	case "damaged":
		second[len(second)/2] ^= 1
	case "another":
		second = pair.Tapes[0]
	case "stranger":
		seed++
	}
	folder := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(folder, 0o755))
	ts.Check(writeRun(folder, seed, cast, pair))
	for i, content := range [][]byte{pair.Tapes[0], second} {
		if wrong == "missing" && i == 1 {
			continue
		}
		name := world.TapeFile(cast.Nodes[i].Name, replaytest.Boot(i).String())
		ts.Check(os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
}

// writeRun writes the journal of a pair.
func writeRun(folder string, seed uint64, cast *provision.Cast, pair replaytest.Pair) error {
	file, err := os.Create(filepath.Join(folder, world.JournalFile))
	if err != nil {
		return err
	}
	defer file.Close()
	start := time.Unix(0, 0)
	j := journal.Start(file, start, nil, nil)
	run := &journal.Run{Schema: journal.Schema, Fault: "none", Seed: seed, Wall: start}
	for i, n := range cast.Nodes {
		run.Nodes = append(run.Nodes, journal.Node{
			Name: n.Name, ID: n.ID.String(), Address: n.Address.String(), Authority: i == 0,
		})
	}
	j.Add(start, journal.Record{Kind: journal.KindRun, Run: run})
	for i, n := range cast.Nodes {
		console := func(l evidence.Line) {
			j.Add(start, journal.Record{Kind: journal.KindConsole, Node: n.Name, Boot: 1, Line: l.String()})
		}
		role := []mesh.Role{mesh.Authority, mesh.Member}[i]
		console(evidence.New("mesh-node", "start").Node("node", n.ID).Str("role", role.String()).
			Boot("boot", replaytest.Boot(i)).Epoch("epoch", id.Epoch(1)).
			Str("ip", n.Address.Addr().String()).Str("seed", "nvram").At(30))
		for _, row := range pair.Rows[i] {
			console(row)
		}
	}
	return j.Close(journal.End{Outcome: journal.Complete})
}

// TestTheBootsOfARunAreFound looks for the first row that the protocol has printed in each.
func TestTheBootsOfARunAreFound(t *testing.T) {
	records := storedRun(t, "kill-peer")
	var found []string
	for _, b := range meshBoots(records) {
		found = append(found, fmt.Sprintf("%s.%d", b.node, b.number))
	}
	if want := []string{"n0.1", "n1.1", "n1.2"}; !slices.Equal(found, want) {
		t.Errorf("boots %v, want %v", found, want)
	}
	if boots := meshBoots(records[:1]); len(boots) != 0 {
		t.Errorf("boots %+v of nothing", boots)
	}
}
