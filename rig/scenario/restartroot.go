package scenario

import (
	"context"
	"slices"
	"time"

	"holdfast/mesh/id"
	"holdfast/mesh/timing"
	"holdfast/nvram"
	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
	"holdfast/rig/world"
)

// operatorEpoch is what the operator sets mesh.epoch to when the marks are lost: above everything.
const operatorEpoch id.Epoch = 100

// restartRoot restarts the root twice: with the marks that it left, and with marks of which a power
// cut has torn one.
func restartRoot() *Fault {
	return &Fault{
		Name: "restart-root",
		About: "the root is killed and restarted with the marks it left, and with a torn one: it " +
			"serves nothing before the failure window is over, signs no epoch twice, and takes back " +
			"what was committed from the member, which reads its own copies meanwhile",
		Proof: "a root that forgot everything but its marks made no second history, and lost nothing",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), rootSteps(),
			rootSteps(tamper{root, "a torn page of marks", provision.TearMarks}), endSteps()),
		Checks: rootChecks(2, 3),
	}
}

// restartRootWiped restarts the root without marks. With the operator's epoch it waits until every
// member has shown its certificate, and takes the state of the newest.
func restartRootWiped() *Fault {
	return &Fault{
		Name: "restart-root-wiped",
		About: "the root is killed and restarted without marks: it refuses until the operator sets an " +
			"epoch above every certificate, and then takes back what was committed from the member",
		Proof: "a root that forgot even its marks waited for its operator, made no second history, and " +
			"lost nothing",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), []Step{
			kill{root}, tamper{root, "no marks", wipe}, ask{member, true},
			boot{root},
			row{root, "mesh-fail: refused", []string{"reason=marks"}, joinLimit},
			uptime{root, longer},
			survey{root},
		}, rootSteps(tamper{root, "mesh.epoch=" + operatorEpoch.String(), setEpoch}), endSteps()),
		Checks: append(rootChecks(3), judge.NoMarks(root, 2)),
	}
}

// restartRootOnce restarts the root with the marks that it left.
func restartRootOnce() *Fault {
	return &Fault{
		Name:  "restart-root-once",
		Short: true,
		About: "the root is killed and restarted with the marks it left: it serves nothing before " +
			"the failure window is over, and signs no epoch twice",
		Proof:  "a root that forgot everything but its marks made no second history",
		Nodes:  2,
		Steps:  slices.Concat(loadSteps(), rootSteps(), endSteps()),
		Checks: rootChecks(2),
	}
}

// restartRootGone restarts the root when nobody is left to prove what there was.
func restartRootGone() *Fault {
	return &Fault{
		Name: "restart-root-gone",
		About: "the member and the root are killed, and the root is restarted, alone and then with the " +
			"member, which has forgotten everything as well: every object is unknown, not empty, until " +
			"the operator's one-shot mark lets the root start empty",
		Proof: "where nobody could prove a state, nobody invented one, and the operator's word was " +
			"needed",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), []Step{
			hush{}, audit{[]string{root, member}},
			kill{member}, kill{root},
			boot{root},
			row{root, "mesh-fail: refused", []string{"reason=unproven"}, joinLimit},
			ask{node: root},
			boot{member},
			uptimeMore{root, 3 * time.Second},
			ask{node: root},
			kill{root},
			tamper{root, "may-start-empty", provision.AllowEmpty},
			boot{root},
			row{root, "mesh-view: installed", nil, joinLimit},
			converge{[]string{root}},
			ask{node: root},
			converge{[]string{root, member}},
			load{nodes: []string{root, member}},
		}, againSteps(), endSteps()),
		Checks: []judge.Check{
			judge.OneHome(),
			judge.Ordered(),
			judge.Agreed(root, member),
			judge.Quarantine(root, timing.FailMS*time.Millisecond, 3),
			judge.UnknownState(root, 2),
			judge.StartedEmpty(root, 3),
			judge.NewBoot(root),
		},
	}
}

// rootSteps kill the root, do something while it is off, and start it again.
func rootSteps(off ...Step) []Step {
	return slices.Concat([]Step{kill{root}}, off, []Step{
		ask{member, true},
		boot{root},
		row{root, "mesh-view: installed", nil, joinLimit},
	}, againSteps())
}

// rootChecks judge the boots in which the root comes to serve again.
func rootChecks(boots ...int) []judge.Check {
	return slices.Concat(loadChecks(), []judge.Check{
		judge.Quarantine(root, timing.FailMS*time.Millisecond, boots...),
		judge.StaleReads(member, root),
		judge.SameBoot(member),
		judge.NewBoot(root),
	})
}

// tamper changes the EEPROM of a machine that is off.
type tamper struct {
	node   string
	detail string
	change func(eeprom []byte) error
}

func (s tamper) String() string       { return s.node + "'s EEPROM to have " + s.detail }
func (s tamper) Limit() time.Duration { return answerLimit }
func (s tamper) Do(_ context.Context, w *world.World) error {
	return w.Tamper(s.node, s.detail, s.change)
}

func wipe(eeprom []byte) error {
	provision.WipeMarks(eeprom)
	return nil
}

// setEpoch is what an operator does to an authority that has lost its marks.
func setEpoch(eeprom []byte) error {
	store, err := nvram.Open(nvram.Memory(eeprom))
	if err != nil {
		return err
	}
	record, err := store.LoadEnvironment()
	if err != nil {
		return err
	}
	if err := record.Environment.Set(config.KeyEpoch, operatorEpoch.String()); err != nil {
		return err
	}
	_, err = store.SaveEnvironment(record.Environment)
	return err
}
