package scenario

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/nvram/config"
	"holdfast/rig/attack"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// hostile attacks the root, to which the member has its link, with all that a stranger has.
func hostile() *Fault {
	steps := append(loadSteps(), figures{[]string{root, member}})
	var names []string
	for _, a := range attack.All() {
		steps = append(steps, assault{root, a}, figures{[]string{root, member}})
		names = append(names, a.Name)
	}
	return &Fault{
		Name: "hostile",
		About: "a stranger on the Ethernet attacks the root for 68 s: garbage, length bombs, a byte a " +
			"second, held handshake slots, 1,000 wrong keys a second, an HTTP flood, malformed frames",
		Proof: "whatever a stranger sent, the pair stayed joined, its ticks came in time, its memory " +
			"stayed flat and the honest were served",
		Nodes:     2,
		Alone:     true,
		Configure: allowInsider,
		Steps:     slices.Concat(steps, againSteps(), endSteps()),
		Checks: slices.Concat([]judge.Check{
			judge.Attacked(root, names...),
			judge.StillJoined(joinEpoch, root, member),
			judge.Punctual(root, member),
			judge.MemoryFlat(root),
			judge.Admitted(root),
			judge.HonestServed([]string{root, member}, member),
		}, loadChecks()),
	}
}

// allowInsider has the root allow a key that no node has, so that the stranger gets past the
// handshake with it.
func allowInsider(cast *provision.Cast, i int, node *config.Config) {
	if i == 0 {
		key := cast.StrangersKey(world.InsiderKey)
		node.Allow = append(node.Allow, config.ID(id.NodeOf(key.Public().(ed25519.PublicKey))))
	}
}

// assault has the stranger attack a node.
type assault struct {
	node string
	attack.Attack
}

func (s assault) String() string       { return fmt.Sprintf("%s to befall %s", s.Name, s.node) }
func (s assault) Limit() time.Duration { return s.Time + rowSlack }
func (s assault) Do(ctx context.Context, w *world.World) error {
	return w.Attack(ctx, s.node, s.Attack)
}

// figures asks nodes for what they count, until they answer.
type figures struct{ nodes []string }

func (s figures) String() string       { return fmt.Sprintf("%v to tell their figures", s.nodes) }
func (s figures) Limit() time.Duration { return stateLimit }
func (s figures) Do(ctx context.Context, w *world.World) error {
	for _, node := range s.nodes {
		for _, path := range []string{judge.MetricsPath, judge.HealthPath, "/mesh"} {
			any := func(world.Answer) bool { return true }
			if err := w.Poll(ctx, node, path, pollSoon, any); err != nil {
				return err
			}
		}
	}
	return nil
}
