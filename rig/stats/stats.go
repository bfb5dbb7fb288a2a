// Package stats says what many runs of a fault show together: how often everything held, with an
// interval for what that is worth, and how the measured times lie in their bounds. It owns the
// arithmetic and its text. It must never judge a run: that every check of every run holds is what
// is wanted, and a check that sometimes fails is a bug, however rare.
//
// The interval is Wilson's, for 95 %: with all of n runs held its lower end is n/(n+3.84), so that
// 50 runs show 92.9 %. Quantiles are by nearest rank: each is a time that was measured.
package stats

import (
	"cmp"
	"math"
	"slices"
	"time"

	"holdfast/rig/judge"
	"holdfast/rig/report"
)

// z is the normal distribution's quantile for an interval of 95 %.
const z = 1.959964

// Rate is how many of so many runs were as they should be.
type Rate struct{ Held, Runs int }

// Share is the part of the runs that held, from 0 to 1; 0 of no runs.
func (r Rate) Share() float64 {
	if r.Runs == 0 {
		return 0
	}
	return float64(r.Held) / float64(r.Runs)
}

// Interval is Wilson's score interval for the share, 0 to 1 for no runs.
func (r Rate) Interval() (low, high float64) {
	if r.Runs == 0 {
		return 0, 1
	}
	n, p := float64(r.Runs), r.Share()
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-half), min(1, middle+half)
}

// Fault is what the runs of one fault show.
type Fault struct {
	Name   string
	Rate   Rate
	Checks []Check   // in the order in which they are asked
	Failed []Failure // in the runs' order
}

// Check is what the runs show of one check.
type Check struct {
	Name  string
	Rate  Rate
	Times *Times // nil when it measures none
}

// Times is the times that a check measured, each the tightest of its run.
type Times struct {
	What               string
	Count              int
	Min, P50, P95, Max time.Duration
	Least, Most        time.Duration // the bounds
	Slack              time.Duration // the least that was left of them
	Seed               uint64        // of the run with the least slack
}

// Failure is a run in which not everything held.
type Failure struct {
	Seed   uint64
	Exit   judge.Code
	Reason string   // why it ended early, if it did
	Checks []string // those that were violated; when none was, those that were open
}

// Of gathers results by fault, in the order in which the faults come first.
func Of(results []report.Result) []Fault {
	var faults []Fault
	var runs [][]report.Result
	for _, r := range results {
		i := slices.IndexFunc(faults, func(f Fault) bool { return f.Name == r.Fault })
		if i < 0 {
			i = len(faults)
			faults, runs = append(faults, Fault{Name: r.Fault}), append(runs, nil)
		}
		runs[i] = append(runs[i], r)
	}
	for i := range faults {
		faults[i].gather(runs[i])
	}
	return faults
}

func (f *Fault) gather(runs []report.Result) {
	samples := make(map[string][]sample)
	for _, r := range runs {
		f.Rate.Runs++
		if r.Exit == judge.CodeHeld {
			f.Rate.Held++
		} else {
			f.Failed = append(f.Failed, failure(r))
		}
		for _, c := range r.Checks {
			check := f.check(c.Name)
			check.Rate.Runs++
			if c.Status == judge.Held {
				check.Rate.Held++
			}
			if c.Margin != nil {
				samples[c.Name] = append(samples[c.Name], sample{*c.Margin, r.Seed})
			}
		}
	}
	for i := range f.Checks {
		f.Checks[i].Times = times(samples[f.Checks[i].Name])
	}
}

// check returns the check of this name, a new one behind the others if there is none.
func (f *Fault) check(name string) *Check {
	i := slices.IndexFunc(f.Checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		i = len(f.Checks)
		f.Checks = append(f.Checks, Check{Name: name})
	}
	return &f.Checks[i]
}

func failure(r report.Result) Failure {
	f := Failure{Seed: r.Seed, Exit: r.Exit, Reason: r.Reason}
	for _, status := range []judge.Status{judge.Violated, judge.Inconclusive} {
		for _, c := range r.Checks {
			if c.Status == status {
				f.Checks = append(f.Checks, c.Name)
			}
		}
		if len(f.Checks) > 0 {
			break
		}
	}
	return f
}

// sample is one run's tightest time.
type sample struct {
	judge.Margin
	seed uint64
}

// times is nil without samples.
func times(samples []sample) *Times {
	if len(samples) == 0 {
		return nil
	}
	tight := slices.MinFunc(samples, func(a, b sample) int {
		return cmp.Compare(a.Slack, b.Slack)
	})
	t := &Times{
		What: tight.What, Count: len(samples), Least: tight.Least, Most: tight.Most,
		Slack: tight.Slack, Seed: tight.seed,
	}
	var values []time.Duration
	for _, s := range samples {
		values = append(values, s.Value)
	}
	slices.Sort(values)
	t.Min, t.Max = values[0], values[len(values)-1]
	t.P50, t.P95 = quantile(values, 0.50), quantile(values, 0.95)
	return t
}

// quantile is the smallest of the sorted values that is not below a part p of them.
func quantile(sorted []time.Duration, p float64) time.Duration {
	return sorted[max(1, int(math.Ceil(p*float64(len(sorted)))))-1]
}
