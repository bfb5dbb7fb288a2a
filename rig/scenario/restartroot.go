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

// restartRoot restarts the root three times: with the marks that it left, with marks of which a
// power cut has torn one, and with none.
func restartRoot() *Fault {
	return &Fault{
		Name: "restart-root",
		About: "the root is killed and restarted with the marks it left, with a torn one, and with " +
			"none: it serves nothing before the failure window is over, signs no epoch twice, and " +
			"without marks refuses until the operator sets an epoch",
		Proof: "a root that forgot everything but its marks, or even these, made no second history",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), rootSteps(),
			rootSteps(tamper{root, "a torn page of marks", provision.TearMarks}),
			[]Step{
				kill{root}, tamper{root, "no marks", wipe}, boot{root},
				row{root, "mesh-fail: refused", []string{"reason=marks"}, joinLimit},
				uptime{root, longer},
				survey{root},
			},
			rootSteps(tamper{root, "mesh.epoch=" + operatorEpoch.String(), setEpoch}), endSteps()),
		Checks: append(rootChecks(2, 3, 5), judge.NoMarks(root, 4)),
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

// rootSteps kill the root, do something while it is off, and start it again.
func rootSteps(off ...Step) []Step {
	return slices.Concat([]Step{kill{root}}, off, []Step{
		boot{root},
		row{root, "mesh-view: installed", nil, joinLimit},
	}, againSteps())
}

// rootChecks judge the boots in which the root comes to serve again.
func rootChecks(boots ...int) []judge.Check {
	return slices.Concat(loadChecks(), []judge.Check{
		judge.Quarantine(root, timing.FailMS*time.Millisecond, boots...),
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
