// Package replay does the steps of a real node again on the host and compares what comes of them:
// the node's protocol is a pure function of its configuration and its inputs, and a tape has both
// (docs/replay.md). The same effects show that whatever the node did was the protocol's doing, and
// not that of the kernel, the compiler or the word size around it; a difference shows the step.
//
// It owns the comparison and what is said of it. It is the one part of the rig that runs the mesh's
// own logic beside rig/lab, and must never judge a run: whether what a node did was right is for
// package judge, which has it from outside.
package replay

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"holdfast/kernel/node/tape"
	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

// Outcome is what became of one boot's tape.
type Outcome struct {
	Build string  // the version of the program that wrote it
	Node  id.Node // whose it is
	Boot  id.Boot

	Steps    int // that gave the same, the start not counted
	Frames   int // that came, in these steps
	Requests int // for objects, and lab steps
	Sent     int // frames
	Rows     []string
	Until    when.Instant // of the latest of them, on the node's clock

	Difference *Difference // the first one; nil: there is none
}

// Difference is a step that gave something else on the host than on the node.
type Difference struct {
	Step   int          // from 1; 0 is the start of the protocol
	Now    when.Instant // on the node's clock
	Input  mesh.Input   // nil at the start
	Node   []mesh.Effect
	Replay []mesh.Effect
	Panic  string // that of the replay, which then has no effects; empty without one
}

// ErrKey is the error for a tape of a node that has another key.
var ErrKey = errors.New("replay: the tape is that of a node with another key")

// Do does the steps of a tape again, with the node's private key, until one differs. An error says
// that the tape cannot be read; the outcome then has the steps before the place.
func Do(from []byte, key ed25519.PrivateKey) (Outcome, error) {
	r, head, err := tape.Open(from)
	o := Outcome{Build: head.Build}
	if err != nil {
		return o, err
	}
	o.Node, o.Boot, o.Until = id.NodeOf(head.Key), head.Config.Boot, head.Now
	if !head.Key.Equal(key.Public()) {
		return o, ErrKey
	}
	head.Config.Key = key
	p := player{outcome: &o}
	if err := p.start(head); err != nil || o.Difference != nil {
		return o, err
	}
	for {
		s, err := r.Next()
		switch {
		case err == io.EOF:
			return o, nil
		case err != nil:
			return o, fmt.Errorf("behind step %d: %w", o.Steps, err)
		}
		if p.step(s); o.Difference != nil {
			return o, nil
		}
	}
}

// player is a node on the host.
type player struct {
	outcome *Outcome
	node    *mesh.Node
	out     mesh.Effects
	a, b    []byte // effects, encoded
}

// start does the start of the protocol. An error says that the configuration is none.
func (p *player) start(h tape.Head) (err error) {
	panicked := p.try(func() { p.node, err = mesh.New(h.Now, h.Config, &p.out) })
	if err != nil {
		return fmt.Errorf("replay: the tape's configuration: %w", err)
	}
	p.compare(tape.Step{Now: h.Now, Effects: h.Effects}, 0, panicked)
	return nil
}

func (p *player) step(s tape.Step) {
	panicked := p.try(func() { p.node.Step(s.Now, s.Input, &p.out) })
	p.compare(s, p.outcome.Steps+1, panicked)
	if p.outcome.Difference != nil {
		return
	}
	o := p.outcome
	o.Steps++
	o.Until = s.Now
	switch s.Input.(type) {
	case mesh.Frame:
		o.Frames++
	case mesh.Request, mesh.LabStep:
		o.Requests++
	}
}

// try returns how do panicked, "" if it did not: what a broken node does is a difference too.
func (p *player) try(do func()) (panicked string) {
	defer func() {
		if v := recover(); v != nil {
			panicked = fmt.Sprint(v)
		}
	}()
	do()
	return ""
}

// compare sets the difference, or counts what the step gave.
func (p *player) compare(s tape.Step, number int, panicked string) {
	p.a = tape.AppendEffects(p.a[:0], s.Effects)
	p.b = tape.AppendEffects(p.b[:0], p.out.List)
	if panicked != "" || !bytes.Equal(p.a, p.b) {
		d := &Difference{Step: number, Now: s.Now, Input: s.Input, Node: s.Effects, Panic: panicked}
		if panicked == "" {
			d.Replay = p.out.List
		}
		p.outcome.Difference = d
		return
	}
	for _, e := range s.Effects {
		switch e := e.(type) {
		case mesh.Send:
			p.outcome.Sent++
		case mesh.Print:
			p.outcome.Rows = append(p.outcome.Rows, e.Line.String())
		}
	}
}
