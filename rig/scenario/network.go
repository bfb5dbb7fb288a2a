package scenario

import (
	"fmt"
	"slices"
	"time"

	"holdfast/qemu/relay"
	"holdfast/rig/judge"
)

// holdTimes is how long the relay keeps frames: from less than a tick to just less than the failure
// window, with the lease's end in between.
var holdTimes = []time.Duration{
	100 * time.Millisecond, time.Second, 5900 * time.Millisecond, 6100 * time.Millisecond,
	9 * time.Second, 11900 * time.Millisecond,
}

// hold keeps all frames between the two nodes for a time, and lets them go on in their order.
func hold() *Fault { return holding("hold", holdTimes...) }

// holdShort is the two that are just longer than the lease, and just shorter than the window.
func holdShort() *Fault {
	f := holding("hold-short", holdTimes[3], holdTimes[5])
	f.Short = true
	return f
}

func holding(name string, times ...time.Duration) *Fault {
	steps := loadSteps()
	for _, d := range times {
		steps = append(steps,
			impair{root, member, keeps, "keep what goes"},
			impair{member, root, keeps, "keep what goes"},
			pass{d, "nothing passing"},
			yield{root, member},
		)
		steps = append(steps, againSteps()...)
	}
	return &Fault{
		Name: name,
		About: "all frames between the two nodes are kept for " + list(times) + ", and then go on: " +
			"an answer that arrives late gives a lease from when it was asked for, not from when it comes",
		Proof:  "frames that were late, up to the failure window, renewed nothing that was over",
		Nodes:  2,
		Steps:  append(steps, endSteps()...),
		Checks: append(loadChecks(), undisturbed()...),
	}
}

// flapTimes is how long the way is cut: around the failure window.
var flapTimes = []time.Duration{
	11 * time.Second, 13 * time.Second, 11 * time.Second, 13 * time.Second,
}

// flap cuts the way between the two nodes for a little less and a little more than the failure
// window.
func flap() *Fault {
	steps := loadSteps()
	for _, d := range flapTimes {
		steps = append(steps,
			impair{root, member, loses, "lose what goes"},
			impair{member, root, loses, "lose what goes"},
			pass{d, "nothing passing"},
			heal{root, member},
		)
		steps = append(steps, againSteps()...)
	}
	return &Fault{
		Name: "flap",
		About: "the way between the two nodes is cut for 11, 13, 11 and 13 s: whether the member is " +
			"removed is decided by milliseconds, and whichever it is both nodes must know the same",
		Proof: "cuts around the failure window left no two homes, whichever way they were decided",
		Nodes: 2,
		Steps: append(steps, endSteps()...),
		Checks: slices.Concat(loadChecks(), []judge.Check{
			judge.Removals(member, root, judge.Times{Least: 2, Most: 4},
				"the longer cuts remove the member, and the shorter ones may"),
		}, undisturbed()),
	}
}

// lossTime is for how long the way is bad.
const lossTime = 45 * time.Second

// lossy makes the way between the two nodes bad in every way at once.
func lossy() *Fault {
	bad := relay.Rule{
		Drop: 0.2, Repeat: 0.1, Hurry: 0.1, Delay: 10 * time.Millisecond,
		Jitter: 200 * time.Millisecond,
	}
	detail := fmt.Sprintf("lose %.0f %% of, repeat %.0f %% of, and delay by up to %v what goes",
		100*bad.Drop, 100*bad.Repeat, bad.Jitter)
	return &Fault{
		Name: "lossy",
		About: "a fifth of the frames between the two nodes is lost, a tenth comes twice, and all " +
			"come late by up to 200 ms and out of order: TCP hides it, slowly, and nobody may be " +
			"taken for dead",
		Proof: "on a bad way the two nodes went on, slowly, and had one home for everything",
		Nodes: 2,
		Steps: slices.Concat(loadSteps(), []Step{
			impair{root, member, bad, detail},
			impair{member, root, bad, detail},
			pass{lossTime, "a bad way"},
			heal{root, member},
		}, againSteps(), endSteps()),
		Checks: slices.Concat(loadChecks(), []judge.Check{
			judge.Removals(member, root, judge.Times{}, "nobody is removed"),
		}, undisturbed()),
	}
}

// undisturbed asks of both nodes that they ran through: nothing was done to the machines.
func undisturbed() []judge.Check {
	return []judge.Check{judge.SameBoot(member)}
}
