package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/qemu/relay"
	"holdfast/rig/world"
)

// stepVerbs has what a line with a step can say.
var stepVerbs = map[string]func(p *parser) []Step{
	// What many scenarios have in common.
	"pair":  func(*parser) []Step { return loadSteps() },
	"again": func(*parser) []Step { return againSteps() },
	"end":   func(*parser) []Step { return endSteps() },

	"boot": func(p *parser) []Step { return []Step{boot{p.node()}} },
	"kill": func(p *parser) []Step { return []Step{kill{p.node()}} },
	"await": func(p *parser) []Step {
		s := row{node: p.node(), limit: joinLimit}
		s.head, s.with = p.evidence()
		if len(p.words) > 0 {
			p.literal("within")
			s.limit = p.span()
		}
		return []Step{s}
	},
	"serve": func(p *parser) []Step {
		node := p.node()
		p.literal("epoch")
		return []Step{state{node, p.epoch()}}
	},
	"uptime":   func(p *parser) []Step { return []Step{uptime{p.node(), p.span()}} },
	"later":    func(p *parser) []Step { return []Step{uptimeMore{p.node(), p.span()}} },
	"survey":   func(p *parser) []Step { return []Step{survey{p.node()}} },
	"load":     func(p *parser) []Step { return []Step{load{nodes: p.nodes()}} },
	"served":   servedStep,
	"audit":    func(p *parser) []Step { return []Step{audit{p.nodes()}} },
	"ask":      func(p *parser) []Step { return []Step{ask{node: p.node()}} },
	"stale":    func(p *parser) []Step { return []Step{ask{p.node(), true}} },
	"hush":     func(*parser) []Step { return []Step{hush{}} },
	"converge": func(p *parser) []Step { return []Step{converge{p.nodes()}} },
	"pass":     passStep,

	"cut": func(p *parser) []Step {
		a, b := p.two()
		return []Step{impair{a, b, loses, "lose what goes"}, impair{b, a, loses, "lose what goes"}}
	},
	"hold": func(p *parser) []Step {
		a, b := p.two()
		return []Step{impair{a, b, keeps, "keep what goes"}, impair{b, a, keeps, "keep what goes"}}
	},
	"lose": func(p *parser) []Step {
		a, b := p.two()
		return []Step{impair{a, b, loses, "lose what goes"}}
	},
	"impair": impairStep,
	"heal": func(p *parser) []Step {
		a, b := p.two()
		return []Step{heal{a, b}}
	},
	"yield": func(p *parser) []Step {
		a, b := p.two()
		return []Step{yield{a, b}}
	},
	"freeze": func(p *parser) []Step { return []Step{stand{p.node(), world.Freeze, p.span()}} },
	"stall":  func(p *parser) []Step { return []Step{stand{p.node(), world.Stall, p.span()}} },
}

// step takes a step, or what stands for several.
func (p *parser) step() {
	verb := p.next("a step")
	make, ok := stepVerbs[verb]
	if !ok {
		p.fail("no step is called %q; there are %s", verb, verbs(stepVerbs))
		return
	}
	steps := make(p)
	p.end()
	for _, s := range steps {
		p.possible(s)
	}
	p.f.Steps = append(p.f.Steps, steps...)
}

// possible refuses to start a machine that runs, and to stop one that does not.
func (p *parser) possible(s Step) {
	down := func(node string) {
		if !p.up[node] {
			p.fail("%s does not run here", node)
		}
	}
	switch s := s.(type) {
	case boot:
		if p.up[s.node] {
			p.fail("%s runs already", s.node)
		}
		p.up[s.node] = true
	case kill:
		down(s.node)
		p.up[s.node] = false
	case stand:
		down(s.node)
	}
}

// verbs lists the keys of a table.
func verbs[T any](table map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

// servedStep waits for everything, through every node when none is named.
func servedStep(p *parser) []Step {
	if len(p.words) == 0 {
		return []Step{served{}}
	}
	return []Step{served{p.nodes()}}
}

// passStep lets time pass, and says of what.
func passStep(p *parser) []Step {
	s := pass{p.span(), strings.Join(p.words, " ")}
	p.words = nil
	if s.of == "" {
		p.fail("say of what the time is, such as: pass 9s nothing passing")
	}
	return []Step{s}
}

// impairStep makes the way from a node to a peer bad: each word is a chance or a time.
func impairStep(p *parser) []Step {
	a, b := p.two()
	var rule relay.Rule
	var parts []string
	if len(p.words) == 0 {
		p.fail("say how, such as: impair n0 n1 drop=20%% delay=10ms")
	}
	for _, word := range p.words {
		key, value, _ := strings.Cut(word, "=")
		chance := map[string]struct {
			of   *float64
			verb string
		}{
			"drop": {&rule.Drop, "lose"}, "corrupt": {&rule.Corrupt, "corrupt"},
			"truncate": {&rule.Truncate, "truncate"}, "repeat": {&rule.Repeat, "repeat"},
			"hurry": {&rule.Hurry, "hurry"},
		}[key]
		span := map[string]*time.Duration{"delay": &rule.Delay, "jitter": &rule.Jitter}[key]
		switch {
		case chance.of != nil:
			percent, ok := strings.CutSuffix(value, "%")
			n, err := strconv.ParseFloat(percent, 64)
			if !ok || err != nil || !(n > 0 && n <= 100) {
				p.fail("%q: a chance is above 0 and at most 100 %%, such as %s=20%%", word, key)
			}
			*chance.of = n / 100
			parts = append(parts, fmt.Sprintf("%s %g %% of", chance.verb, n))
		case span != nil:
			d, err := time.ParseDuration(value)
			if err != nil || d <= 0 || d > time.Minute {
				p.fail("%q: a time is above 0 and at most 1m, such as %s=10ms", word, key)
			}
			*span = d
		default:
			p.fail("%q: a way has drop, corrupt, truncate, repeat, hurry, delay, jitter", word)
		}
	}
	p.words = nil
	if late := rule.Delay + rule.Jitter; late > 0 {
		parts = append(parts, fmt.Sprintf("delay by up to %v", late))
	}
	return []Step{impair{a, b, rule, strings.Join(parts, ", ") + " what goes"}}
}
