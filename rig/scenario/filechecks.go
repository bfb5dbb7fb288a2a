package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// checkVerbs has what a line with a check can say.
var checkVerbs = map[string]func(p *parser) []judge.Check{
	// Those of every fault with traffic through a pair.
	"load": func(*parser) []judge.Check { return loadChecks() },

	"one-home": func(*parser) []judge.Check { return []judge.Check{judge.OneHome()} },
	"ordered":  func(*parser) []judge.Check { return []judge.Check{judge.Ordered()} },
	"round-trip": func(p *parser) []judge.Check {
		member, authority := p.two()
		return []judge.Check{judge.RoundTrip(member, authority)}
	},
	"lease-over": func(p *parser) []judge.Check {
		member, authority := p.two()
		return []judge.Check{judge.LeaseOver(member, authority)}
	},
	"served": func(p *parser) []judge.Check { return []judge.Check{judge.Served(p.nodes()...)} },
	"agreed": func(p *parser) []judge.Check { return []judge.Check{judge.Agreed(p.nodes()...)} },
	"nothing-lost": func(p *parser) []judge.Check {
		var epochs []id.Epoch
		for len(p.words) > 0 && p.err == nil {
			epochs = append(epochs, p.epoch())
		}
		return []judge.Check{judge.Durable(epochs...)}
	},
	"unknown-first": func(p *parser) []judge.Check {
		node := p.node()
		return []judge.Check{judge.UnknownState(node, p.number(1, bootsMost))}
	},
	"stale-reads": func(p *parser) []judge.Check {
		node, authority := p.two()
		return []judge.Check{judge.StaleReads(node, authority)}
	},
	"goes-on": func(p *parser) []judge.Check {
		epoch := p.epoch()
		return []judge.Check{judge.GoesOn(epoch, p.nodes()...)}
	},
	"linearizable": func(*parser) []judge.Check { return []judge.Check{judge.Linearizable()} },

	"quiet":    func(*parser) []judge.Check { return []judge.Check{judge.Quiet()} },
	"new-boot": func(p *parser) []judge.Check { return []judge.Check{judge.NewBoot(p.node())} },
	"same-boot": func(p *parser) []judge.Check {
		return []judge.Check{judge.SameBoot(p.node())}
	},
	"stopped-serving": func(p *parser) []judge.Check {
		member, authority := p.two()
		return []judge.Check{judge.StoppedServing(member, authority)}
	},
	"removals": func(p *parser) []judge.Check {
		member, authority := p.two()
		times := p.times()
		claim := strings.Join(p.words, " ")
		p.words = nil
		if claim == "" {
			p.fail("say what that means, such as: removals n1 n0 0..0 nobody is removed")
		}
		return []judge.Check{judge.Removals(member, authority, times, claim)}
	},
	"stood-still": func(p *parser) []judge.Check {
		node := p.node()
		times := []time.Duration{p.span()}
		for len(p.words) > 0 && p.err == nil {
			times = append(times, p.span())
		}
		return standChecks(node, times...)
	},
	"watchdog": func(p *parser) []judge.Check {
		return []judge.Check{judge.Bitten(p.node(), p.span())}
	},

	// Those that the scenario names itself.
	"never": func(p *parser) []judge.Check {
		return []judge.Check{judge.Counted(p.name(), p.row(), judge.Times{})}
	},
	"happens": func(p *parser) []judge.Check {
		name, row := p.name(), p.row()
		times := judge.Times{Least: 1, Most: math.MaxInt}
		if len(p.words) > 0 {
			p.literal("times")
			times = p.times()
		}
		return []judge.Check{judge.Counted(name, row, times)}
	},
	"within": withinCheck,
}

// check takes a check, or what stands for several.
func (p *parser) check() {
	verb := p.next("a check")
	make, ok := checkVerbs[verb]
	if !ok {
		p.fail("no check is called %q; there are %s", verb, verbs(checkVerbs))
		return
	}
	checks := make(p)
	p.end()
	p.f.Checks = append(p.f.Checks, checks...)
}

// name takes the name of a check.
func (p *parser) name() string {
	name := p.next("a name")
	if !slug.MatchString(name) {
		p.fail("a name is of a-z, 0-9 and -, not %q", name)
	}
	return name
}

// times takes bounds of a count, such as 1..2, or 1.. for no upper one.
func (p *parser) times() judge.Times {
	word := p.next("how often")
	from, to, ok := strings.Cut(word, "..")
	if ok && to == "" {
		to = strconv.Itoa(math.MaxInt)
	}
	least, err1 := strconv.Atoi(from)
	most, err2 := strconv.Atoi(to)
	if !ok || err1 != nil || err2 != nil || least < 0 || least > most {
		p.fail("%q is not how often, such as 0..0, 1..2 or 1..", word)
	}
	return judge.Times{Least: least, Most: most}
}

// withinCheck takes: NAME FROM..TO of ROW after MOMENT.
func withinCheck(p *parser) []judge.Check {
	name := p.name()
	word := p.next("bounds")
	from, to, ok := strings.Cut(word, "..")
	least, err1 := time.ParseDuration(from)
	most, err2 := time.ParseDuration(to)
	if !ok || err1 != nil || err2 != nil || least < 0 || most <= least || most > spanMost {
		p.fail("%q are no bounds, such as 6s..6.5s", word)
	}
	p.literal("of")
	row := p.row()
	p.literal("after")
	return []judge.Check{judge.Within(name, p.moment(), row, least, most)}
}

// bootsMost is more than a run starts a machine.
const bootsMost = 100

// moments has the words for actions. What cuts the way is journalled as an impairment.
var moments = map[string]string{
	"kill": journal.ActionKill, "heal": journal.ActionHeal, "impair": journal.ActionImpair,
	"cut": journal.ActionImpair, "lose": journal.ActionImpair, "hold": journal.ActionImpair,
	"freeze": journal.ActionFreeze, "thaw": journal.ActionThaw,
	"stall": journal.ActionStall, "resume": journal.ActionResume,
}

// moment takes: an action and a node, or row and a row.
func (p *parser) moment() judge.Moment {
	word := p.next("a moment")
	if word == "row" {
		return judge.Moment{Row: p.row()}
	}
	action, ok := moments[word]
	if !ok {
		p.fail("%q is no moment: there are row, %s", word, verbs(moments))
	}
	return judge.Moment{Action: action, Node: p.node()}
}
