package lab

import (
	"holdfast/mesh/detect/phi"
	"holdfast/mesh/detect/policy"
	"holdfast/mesh/detect/swim"
	"holdfast/mesh/timing"
	"holdfast/mesh/when"
)

// Contender is one policy with its figures.
type Contender struct {
	Name     string
	About    string
	Interval when.Span // of its heartbeats; for one that asks, any trace will do: an hour
	make     func(s Settings) policy.Policy
	group    func(members int) swim.Config // instead of make
	look     when.Span                     // how often it looks, where that is less than usual
}

// asks is the interval of a contender that asks.
const asks when.Span = 3_600_000

// start is the contender at the beginning of a trace.
func (c Contender) start(s Settings, h *hearing) watcher {
	if c.group != nil {
		return newGroup(c.group(s.Members), s, h)
	}
	return single{c.make(s)}
}

// messages is what a node sends in a second for one watcher; in a group, probes and their answers
// for all of it.
func (c Contender) messages(s Settings) float64 {
	if c.group != nil {
		return 2 * float64(when.Second) / float64(c.group(s.Members).Period)
	}
	return float64(when.Second) / float64(c.Interval)
}

// Contenders are the policies that are compared, with the defaults of the systems they are from.
func Contenders() []Contender {
	fixed := func(name string, timeout when.Span) Contender {
		return Contender{Name: name, Interval: 100,
			About: "a fixed timeout of " + text(timeout),
			make:  func(Settings) policy.Policy { return policy.NewFixed(timeout) }}
	}
	pair := func(name, about string, t timing.Timing) Contender {
		return Contender{Name: name, About: about, Interval: max(100, t.Ask()),
			make: func(Settings) policy.Policy { return policy.NewPair(t) }}
	}
	normal := func(name, about string, interval when.Span, c phi.NormalConfig) Contender {
		return Contender{Name: name, About: about, Interval: interval,
			make: func(Settings) policy.Policy { return phi.NewNormal(c) }}
	}
	exponential := func(name, about string, every when.Span, c phi.ExponentialConfig) Contender {
		return Contender{Name: name, About: about, Interval: every,
			make: func(Settings) policy.Policy { return phi.NewExponential(c) }}
	}
	raft := func(name, about string, low, high when.Span) Contender {
		return Contender{Name: name, About: about, Interval: 100,
			make: func(s Settings) policy.Policy { return policy.NewRaft(low, high, s.Seed) }}
	}
	raw, floored, fast := phi.Akka, phi.Akka, phi.Cassandra
	raw.First, raw.Pause, raw.Floor = 100, 0, 1
	floored.First, floored.Pause = 100, 0
	fast.First, fast.LongestGap = 200, 200
	plain := func(n int) swim.Config {
		c := swim.LAN(n)
		c.Guard = false
		return c
	}
	return []Contender{
		fixed("fixed-300ms", 300), fixed("fixed-1s", 1_000), fixed("fixed-3s", 3_000),
		pair("holdfast", "what ships: suspect 6 s, fail 12 s, a question every 2 s", timing.Default),
		pair("holdfast-fast", "suspect 1.2 s, fail 2.4 s, a question every 0.1 s", timing.Fast),
		pair("holdfast-second", "suspect 0.6 s, fail 1 s, a question every 0.2 s; no leases",
			timing.OneSecond),
		normal("phi-normal", "Akka: a beat a second, 3 s of pause, floor 100 ms", 1_000, phi.Akka),
		normal("phi-normal-100ms", "the same with a beat every 100 ms and no pause", 100, floored),
		normal("phi-normal-raw", "and with the deviation as it is", 100, raw),
		exponential("phi-exp", "Cassandra: a beat a second", 1_000, phi.Cassandra),
		exponential("phi-exp-100ms", "the same with a beat every 100 ms", 100, fast),
		{Name: "swim", About: "a probe a second, three helpers, memberlist's shortest suspicion",
			Interval: asks, group: plain},
		{Name: "lifeguard", About: "memberlist's defaults for a local network", Interval: asks,
			group: swim.LAN},
		raft("raft", "the paper: an election after 150 to 300 ms", 150, 300),
		raft("etcd", "an election after 1 to 2 s", 1_000, 2_000),
		{Name: "kubernetes", About: "a lease every 10 s, grace 50 s, eviction 300 s later",
			Interval: policy.KubeRenewMS,
			make:     func(Settings) policy.Policy { return policy.NewKube(9, 0) }},
	}
}
