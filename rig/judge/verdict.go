package judge

import "holdfast/rig/journal"

// Code is a run's exit code.
type Code int

// The exit codes, spec section 8. A violated property wins over everything; that the rig was not
// well wins over not knowing.
const (
	CodeHeld         Code = 0
	CodeViolated     Code = 1
	CodeInconclusive Code = 2
	CodeTrouble      Code = 3
)

// String says what the code means.
func (c Code) String() string {
	switch c {
	case CodeHeld:
		return "every check held"
	case CodeViolated:
		return "a property was violated"
	case CodeInconclusive:
		return "inconclusive: not everything could be judged"
	case CodeTrouble:
		return "trouble with the rig or QEMU"
	}
	panic("judge: no such exit code")
}

// Status is what the code says of the run as a whole, trouble being no answer.
func (c Code) Status() Status {
	switch c {
	case CodeHeld:
		return Held
	case CodeViolated:
		return Violated
	}
	return Inconclusive
}

// Verdict is the answers to all of a fault's checks.
type Verdict struct {
	Results []Result
	End     journal.End
	Code    Code
}

// Judge asks every check, in order.
func Judge(r *Run, checks []Check) Verdict {
	v := Verdict{End: r.End}
	counts := make(map[Status]int)
	for _, c := range checks {
		result := c.Ask(r)
		counts[result.Status]++
		v.Results = append(v.Results, result)
	}
	switch {
	case counts[Violated] > 0:
		v.Code = CodeViolated
	case r.End.Outcome == journal.Trouble || r.End.Outcome == journal.Interrupted:
		v.Code = CodeTrouble
	case r.End.Outcome != journal.Complete || counts[Held] != len(checks) || len(checks) == 0:
		v.Code = CodeInconclusive
	}
	return v
}
