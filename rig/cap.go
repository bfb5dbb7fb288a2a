package main

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// capCommand mints a capability with the authority's key of a run, which comes of the run's seed.
type capCommand struct {
	Node string `default:"n0" help:"The node that takes the request."`

	Object string `default:"lab-0" help:"Name of the object."`

	Rights []string `default:"stat,commit" enum:"stat,commit" help:"What it allows: ${enum}."`

	Epoch id.Epoch `help:"The epoch that it is good for; the run's newest when absent."`

	Folder string `arg:"" name:"run" default:"runs/latest" help:"Folder of the run, or its journal."`
}

// Help is the example of --help.
func (*capCommand) Help() string {
	return `Example, while rig run --hold keeps a pair up: curl -X PUT --data hello ` +
		`-H "Authorization: Holdfast $(rig cap --node n1 --object greeting)" ` +
		`http://127.0.0.1:PORT/objects/greeting`
}

// Validate refuses what the flags' types let through.
func (c *capCommand) Validate() error {
	if c.Object == "" {
		return errors.New("--object must not be empty")
	}
	return nil
}

// Run prints the capability in its text form.
func (c *capCommand) Run() error {
	records, err := readJournal(c.Folder)
	if err != nil {
		return err
	}
	var serial [8]byte
	rand.Read(serial[:])
	token, err := c.mint(records, binary.BigEndian.Uint64(serial[:]))
	if err != nil {
		return fmt.Errorf("%s: %w", c.Folder, err)
	}
	fmt.Println(capability.Text(token))
	return nil
}

// mint makes the capability for the run of a journal.
func (c *capCommand) mint(
	records []journal.Record, serial uint64,
) (token [capability.Size]byte, err error) {
	minted := capability.Capability{
		Object: id.ObjectOf(c.Object), Epoch: c.Epoch, Serial: serial,
	}
	if minted.Epoch == 0 {
		if minted.Epoch = newestEpoch(records); minted.Epoch == 0 {
			return token, errors.New("no node has a view yet; give --epoch")
		}
	}
	for _, r := range c.Rights {
		minted.Rights |= rights[r]
	}
	info := records[0].Run
	cast, err := castOf(info)
	if err != nil {
		return token, err
	}
	known := false
	for i, n := range info.Nodes {
		if n.Name == c.Node {
			minted.Holder, known = cast.Nodes[i].ID, true
		}
	}
	if !known {
		return token, fmt.Errorf("there is no node %s", c.Node)
	}
	return capability.Mint(minted, cast.Nodes[0].Key), nil
}

// castOf draws the nodes of a stored run again, with their keys.
func castOf(info *journal.Run) (*provision.Cast, error) {
	f, err := faultOf(info)
	if err != nil {
		return nil, err
	}
	cast := f.Cast(info.Seed)
	if len(cast.Nodes) != len(info.Nodes) {
		return nil, fmt.Errorf("it has %d nodes, %s has %d", len(info.Nodes), f.Name, len(cast.Nodes))
	}
	for i, n := range info.Nodes {
		if cast.Nodes[i].ID.String() != n.ID {
			return nil, fmt.Errorf("its keys are not those that this program draws from seed %d",
				info.Seed)
		}
	}
	return cast, nil
}

// rights has the words of the command line.
var rights = map[string]capability.Rights{
	"stat": capability.RightStat, "commit": capability.RightCommit,
}

// newestEpoch is the highest epoch of a view that a node has printed, 0 for none.
func newestEpoch(records []journal.Record) id.Epoch {
	var newest id.Epoch
	for _, r := range records {
		line, err := evidence.Parse(r.Line)
		if r.Kind != journal.KindConsole || err != nil || !strings.HasPrefix(r.Line, "mesh-") {
			continue
		}
		if _, view := line.Get("digest"); view {
			epoch, _ := line.GetEpoch("epoch")
			newest = max(newest, epoch)
		}
	}
	return newest
}
