package lab

import (
	"holdfast/mesh/when"
)

// Prices are what errors cost, in any one unit.
type Prices struct {
	Second     float64 // of a crash that nobody has noticed
	Conviction float64 // of a living peer
	Crashes    float64 // a day
}

// cost is what a day costs. A crash that is never noticed costs the rest of an average day.
func (p Prices) cost(r Result, played int) float64 {
	seconds := float64(r.Mean) / float64(when.Second)
	if played > 0 {
		missed := float64(r.Missed) / float64(played)
		seconds = seconds*(1-missed) + missed*dayMS/float64(when.Second)/2
	}
	return p.Crashes*seconds*p.Second + r.Convictions*p.Conviction
}

// Table is a comparison.
type Table struct {
	Settings Settings
	Prices   Prices
	Traces   []Part
}

// Part is the comparison on one trace.
type Part struct {
	Name, About string
	Gaps        int
	Length      when.Span
	Worst       when.Span
	Results     []Result // the contenders in their order
}

// price sets the costs, and marks what no other result is better than in one thing without being
// worse in another: the 99th percentile of detection, false convictions, and messages.
func (p *Part) price(prices Prices, played int) {
	for i := range p.Results {
		r := &p.Results[i]
		r.Pareto = r.Left == "" && r.P99 > 0 && r.Missed == 0
		if r.Left == "" {
			r.Cost = prices.cost(*r, played)
		}
	}
	for i := range p.Results {
		for _, o := range p.Results {
			if o.Left == "" && o.P99 > 0 && o.Missed == 0 && o.dominates(p.Results[i]) {
				p.Results[i].Pareto = false
			}
		}
	}
}

// dominates reports whether r is at least as good as o in everything, and better in something.
func (r Result) dominates(o Result) bool {
	return r.P99 <= o.P99 && r.Convictions <= o.Convictions && r.Messages <= o.Messages &&
		(r.P99 < o.P99 || r.Convictions < o.Convictions || r.Messages < o.Messages)
}
