package scenario

import (
	"slices"

	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
)

// wrongAuthority lets the member trust a key that is not the root's.
func wrongAuthority() *Fault {
	return &Fault{
		Name:  "wrong-authority",
		About: "the member trusts another root key than the root's",
		Proof: "both sides refused the link and said why, nobody joined, and the root served on",
		Nodes: 2,
		Configure: func(cast *provision.Cast, i int, node *config.Config) {
			if i > 0 {
				node.Root = config.Root{Key: cast.Stranger()}
			}
		},
		Steps: []Step{
			boot{root},
			boot{member},
			row{root, "mesh-link: refused", []string{"reason=wrong-key"}, joinLimit},
			row{member, "mesh-link: refused", []string{"reason=wrong-key"}, joinLimit},
			state{root, firstEpoch},
			survey{root},
			survey{member},
			uptime{root, longer},
			survey{root},
			survey{member},
		},
		Checks: slices.Concat([]judge.Check{
			judge.LinksRefused("wrong-key", root, member),
			judge.Outside(member),
		}, judge.Alone(root), []judge.Check{judge.Quiet()}),
	}
}
