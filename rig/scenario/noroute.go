package scenario

import (
	"holdfast/mesh/capability"
	"holdfast/mesh/id"
	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// noRoute leaves routing off on both nodes.
func noRoute() *Fault {
	const disabled = "status=disabled"
	first := judge.LabStep{Number: 1, At: member, Fields: []string{
		"op=stat", disabled, "epoch=2", "sends=0", "moved=0", "timeouts=0"}}
	fifth := judge.LabStep{Number: 5, At: root, Fields: []string{
		"op=commit", disabled, "epoch=2", "sends=0", "moved=0", "timeouts=0"}}
	tenth := judge.LabStep{Number: 10, At: root, Fields: []string{
		"op=commit", disabled, "epoch=2", "sends=0", "moved=0", "timeouts=0"}}
	return &Fault{
		Name:  "no-route",
		About: "two nodes without routing join",
		Proof: "without routing the nodes joined as ever, said that it is off, and routed nothing",
		Nodes: 2,
		Configure: func(_ *provision.Cast, _ int, node *config.Config) {
			node.Route = false
		},
		Steps: append(pairSteps(),
			lab{1, member, joinEpoch, capability.RightStat, anyObject},
			lab{5, root, joinEpoch, capability.RightCommit, anyObject},
			lab{10, root, joinEpoch, capability.RightCommit, anyObject},
			uptime{root, longer},
			survey{root},
			survey{member}),
		Checks: []judge.Check{
			judge.Joined("join", joinEpoch, root, member),
			judge.Disabled("routing-off", "mesh-route", []string{"result"}, root, member),
			first.Check("the member's read is refused because routing is off"),
			fifth.Check("the root's commit is refused because routing is off"),
			tenth.Check("another commit of the root is, too"),
			judge.Unrouted(root, member),
			judge.Quiet(),
		},
	}
}

// anyObject chooses the object that a node without routing takes: the first.
func anyObject(*world.World) (id.Object, error) { return provision.LabObjects()[0].ID, nil }
