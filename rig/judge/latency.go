package judge

import (
	"time"

	"holdfast/rig/journal"
)

// Latency is how long the system took for something, by the rig's clock. It is for people and for
// comparing runs: no verdict depends on it.
type Latency struct {
	Name  string        `json:"name"` // one of the constants
	From  int           `json:"from"` // the record with which the time begins
	To    int           `json:"to"`   // the record that ends it
	Value time.Duration `json:"value_ns"`
	// Most is the bound, 0 for none: what the system promises, or, of Rejoin, how long the rig waits.
	Most time.Duration `json:"most_ns,omitempty"`
}

// The names. A fault that does not have all of them has the ones that it has.
const (
	Detection = "detection" // from the loss of a node to the authority's word that it has failed
	Rehome    = "re-home"   // from the loss to the view in which its objects have another home
	Rejoin    = "rejoin"    // from the end of the fault to the node's new admission
)

// Latencies measures a run: its first loss of a node and what followed.
func (r *Run) Latencies() []Latency {
	loss, ok := r.firstLoss()
	if !ok {
		return nil
	}
	var all []Latency
	add := func(name string, from journal.Record, to Row, most time.Duration) {
		all = append(all, Latency{name, from.N, to.N, to.Seen.Sub(from.At), most})
	}
	// The latest that a failure is noticed after the last sign of life.
	failMost := time.Duration(r.Times().Fail)*time.Millisecond + lateMost
	failed, ok := r.rowAfter(loss.N, "", "mesh-fail", "failed")
	if ok {
		add(Detection, loss, failed, failMost)
		if view, ok := r.rowAfter(failed.N, failed.Node, "mesh-view", "installed"); ok {
			add(Rehome, loss, view, failMost)
		}
	}
	if back, ok := r.firstReturn(loss); ok {
		for _, n := range r.Info.Nodes {
			joined, ok := r.rowAfter(back.N, n.Name, "mesh-join", "confirmed")
			if ok && !n.Authority {
				add(Rejoin, back, joined, r.patience(joined.N))
				break
			}
		}
	}
	return all
}

// firstLoss is the first action that made a node silent.
func (r *Run) firstLoss() (journal.Record, bool) {
	for _, record := range r.Records {
		if record.Kind != journal.KindAction {
			continue
		}
		switch record.Action.Name {
		case journal.ActionKill, journal.ActionCut, journal.ActionFreeze, journal.ActionStall:
			return record, true
		}
	}
	return journal.Record{}, false
}

// firstReturn is what undid a loss.
func (r *Run) firstReturn(loss journal.Record) (journal.Record, bool) {
	undoes := map[string]string{journal.ActionCut: journal.ActionHeal,
		journal.ActionFreeze: journal.ActionThaw, journal.ActionStall: journal.ActionResume}
	for _, record := range r.Records[loss.N:] {
		switch {
		case record.Kind == journal.KindBoot && record.Node == loss.Node &&
			loss.Action.Name == journal.ActionKill,
			record.Kind == journal.KindAction && record.Action.Name == undoes[loss.Action.Name]:
			return record, true
		}
	}
	return journal.Record{}, false
}

// rowAfter is the first row of a node, or of any, behind a record.
func (r *Run) rowAfter(n int, node, prefix string, words ...string) (Row, bool) {
	for _, row := range r.rows(node, prefix, words...) {
		if row.N > n {
			return row, true
		}
	}
	return Row{}, false
}

// patience is how long the rig would have waited in the step in which a record came, 0 for none.
func (r *Run) patience(n int) time.Duration {
	limit := time.Duration(0)
	for _, record := range r.Records[:n] {
		if record.Kind == journal.KindStep {
			limit = time.Duration(record.Step.LimitMS) * time.Millisecond
			if record.Step.Result != "" {
				limit = 0
			}
		}
	}
	return limit
}
