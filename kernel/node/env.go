package node

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"holdfast/nvram"
	"holdfast/nvram/config"
)

// The environment as an operator changes it: on the chip, where the next boot finds it. What this
// boot runs with stays as it is. A change that the next boot would refuse is refused here, and so
// is every change of an environment that is damaged: what of it cannot be read would be gone.

func (n *Node) envCommand(_ context.Context, say say, words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch verb, rest := words[0], words[1:]; {
	case verb == "get" && len(rest) <= 1:
		n.envGet(say, rest)
	case verb == "set" && len(rest) != 0:
		// A value may have spaces; more than one between two words of it is one.
		name, value, ok := strings.Cut(strings.Join(rest, " "), "=")
		if !ok {
			return false
		}
		n.envChange(say, name, func(e *nvram.Environment) error { return e.Set(name, value) })
	case verb == "unset" && len(rest) == 1:
		n.envChange(say, rest[0], func(e *nvram.Environment) error {
			if !e.Unset(rest[0]) {
				return errors.New("it is not set")
			}
			return nil
		})
	default:
		return false
	}
	return true
}

// environment is what the chip has; an empty one when it was never written.
func (n *Node) environment() (*nvram.Store, nvram.EnvironmentRecord, error) {
	if n.machine.NVRAM == nil {
		return nil, nvram.EnvironmentRecord{}, errors.New("no chip answers")
	}
	store, err := nvram.Open(n.machine.NVRAM)
	if err != nil {
		return nil, nvram.EnvironmentRecord{}, err
	}
	r, err := store.LoadEnvironment()
	var absent *nvram.AbsentError
	if errors.As(err, &absent) && absent.Reason() == nvram.ReasonBlank {
		return store, nvram.EnvironmentRecord{Environment: new(nvram.Environment)}, nil
	}
	return store, r, err
}

func (n *Node) envGet(say say, names []string) {
	_, r, err := n.environment()
	if err != nil {
		say("env: " + err.Error())
		return
	}
	for _, f := range r.Faults {
		say("env: damaged: " + f.String())
	}
	found := false
	for name, value := range r.Environment.All() {
		if len(names) == 0 || names[0] == name {
			say(name + "=" + value)
			found = true
		}
	}
	switch {
	case found:
	case len(names) == 0:
		say("env: empty")
	default:
		say("env: " + names[0] + " is not set")
	}
}

// envChange stores the environment with a change of one name.
func (n *Node) envChange(say say, name string, change func(*nvram.Environment) error) {
	store, r, err := n.environment()
	switch {
	case err != nil:
		say("env: " + err.Error())
		return
	case len(r.Faults) != 0:
		say("env: damaged, nothing changed: " + r.Faults[0].String())
		return
	}
	if err := change(r.Environment); err != nil {
		say("env: " + err.Error())
		return
	}
	c := config.Parse(r.Environment, nil)
	for _, refused := range c.Refused {
		if refused.Key == name {
			say("env: nothing changed: " + name + " would be refused: " + string(refused.Reason))
			return
		}
	}
	for _, unknown := range c.Unknown {
		if unknown == name {
			say("env: nothing changed: " + name + " means nothing to this node")
			return
		}
	}
	stored, err := store.SaveEnvironment(r.Environment)
	if err != nil {
		say("env: " + err.Error())
		return
	}
	for _, refused := range c.Refused {
		say("env: the next boot will refuse " + refused.Key + ": " + string(refused.Reason))
	}
	say("env: stored in copy " + stored.Copy.String() + ", " + strconv.Itoa(stored.Bytes) +
		" bytes; the next boot reads it")
}
