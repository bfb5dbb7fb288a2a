package world

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// Commit is a replicated commit with a name of the rig's own. Sent again, through whichever node,
// it is the same one: the mesh carries it out at most once.
type Commit struct {
	Object, Value string

	request wire.Request
	first   id.Epoch // in which it was first sent
}

// NewCommit makes a commit that is to be sent first under an epoch.
func (w *World) NewCommit(object, value string, first id.Epoch) Commit {
	w.about(object)
	w.commits++
	name := wire.Request{Client: clientOf("steps"), Boot: 1, Seq: w.commits}
	return Commit{object, value, name, first}
}

// clientOf is one of the clients that the rig plays.
func clientOf(name string) id.Client { return id.Client(id.Sum([]byte("rig: " + name))) }

// Replicate asks a node for a commit under its epoch, and waits for the answer; ReplicateAside does
// not wait.
func (w *World) Replicate(ctx context.Context, node string, epoch id.Epoch, c Commit) error {
	_, err := w.request(ctx, node, w.replicated(node, epoch, c))
	return err
}

// ReplicateAside is described at Replicate.
func (w *World) ReplicateAside(node string, epoch id.Epoch, c Commit) {
	w.latest = c
	w.aside(node, w.replicated(node, epoch, c))
}

// ReplicateAgain asks a node for the latest commit that nobody waited for once more, under its name
// and the node's own epoch, and waits for an answer, whatever it is.
func (w *World) ReplicateAgain(ctx context.Context, node string, epoch id.Epoch) error {
	err := w.Replicate(ctx, node, epoch, w.latest)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// replicated is a request for a commit.
func (w *World) replicated(node string, epoch id.Epoch, c Commit) call {
	return call{
		method: http.MethodPut, path: objectPath(c.Object), value: c.Value, patience: commitTimeout,
		header: http.Header{
			"Authorization": {"Holdfast " + w.mint(node, c.Object, capability.RightCommit, epoch)},
			durabilityKey:   {wire.Replicated.String()},
			requestKey:      {c.request.String()},
			firstEpochKey:   {c.first.String()},
		},
	}
}

// undecided says whether an answer leaves open what has become of a commit.
func undecided(a Answer, err error) bool {
	return err != nil &&
		(a.Status == 0 || strings.HasPrefix(a.Body, refusal.UnknownOutcome.String()+":"))
}
