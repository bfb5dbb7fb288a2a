package scenario

import (
	"slices"
	"strings"
	"time"

	"holdfast/mesh/timing"
	"holdfast/nvram/config"
	"holdfast/rig/provision"
)

// fast is the timing of the faults here (docs/timing.md).
var fast = timing.Fast

// isFast tells the faults of this file.
func isFast(f *Fault) bool { return strings.HasSuffix(f.Name, "-fast") }

// timed provisions every node with a timing.
func timed(t timing.Timing) func(*provision.Cast, int, *config.Config) {
	const ms = time.Millisecond
	return func(_ *provision.Cast, _ int, node *config.Config) {
		node.Timing = config.Timing{
			Heartbeat: time.Duration(t.Heartbeat) * ms, Suspect: time.Duration(t.Suspect) * ms,
			Fail: time.Duration(t.Fail) * ms, Lease: time.Duration(t.WriteLease) * ms,
		}
	}
}

// killPeerFast is killPeer with the fast timing.
func killPeerFast() *Fault {
	return &Fault{
		Name:  "kill-peer-fast",
		About: "kill-peer with the shortest times that rule L3 leaves",
		Proof: "the root noticed the death at 1.2 and 2.4 s, took the homes over behind a fence, " +
			"and the member came back at epoch 4",
		Nodes:     2,
		Short:     true,
		Times:     fast,
		Configure: timed(fast),
		Steps:     slices.Concat(joinSteps(), killSteps(fast), takeoverSteps(), rejoinSteps()),
		Checks:    slices.Concat(joinChecks(), removeChecks(fast), rejoinChecks()),
	}
}

// partitionFast is partition with the fast timing.
func partitionFast() *Fault {
	return &Fault{
		Name:  "partition-fast",
		About: "partition with the shortest times that rule L3 leaves",
		Proof: "the isolated member stopped committing 0.4 s after it was last answered and before " +
			"the root took its homes over, and came back at epoch 4 without a reboot",
		Nodes:     2,
		Short:     true,
		Times:     fast,
		Configure: timed(fast),
		Steps:     slices.Concat(joinSteps(), cutSteps(fast), isolatedSteps(), healSteps()),
		Checks: slices.Concat(joinChecks(), removeChecks(fast), isolatedChecks(fast),
			healChecks()),
	}
}
