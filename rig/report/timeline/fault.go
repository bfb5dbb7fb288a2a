package timeline

import (
	"fmt"
	"strings"

	"holdfast/rig/journal"
)

// faults is what the rig did, each until it was undone or to the end of the run.
func (t *Timeline) faults() {
	var b bands
	for _, r := range t.Run.Records {
		switch r.Kind {
		case journal.KindBoot:
			b.end("off "+r.Node, r.At)
		case journal.KindEvent:
			if r.Event.Name == resetEvent {
				b.all = append(b.all, Band{N: r.N, From: r.At, To: r.At, Kind: Reset,
					Text: r.Node + " begins anew"})
			}
		case journal.KindAction:
			t.fault(&b, r)
		}
	}
	t.Faults = b.all
}

// fault adds one action.
func (t *Timeline) fault(b *bands, r journal.Record) {
	a := r.Action
	band := Band{N: r.N, From: r.At, To: t.End, Kind: a.Name, Peer: a.Peer}
	between := "way " + strings.Join(sortedPair(r.Node, a.Peer), " ")
	there := "impair " + r.Node + " " + a.Peer
	switch a.Name {
	case journal.ActionQuit:
		return
	case journal.ActionKill:
		band.Text = r.Node + " killed"
		b.end("halt "+r.Node, r.At)
		b.begin("off "+r.Node, band)
	case journal.ActionCut:
		band.Text = fmt.Sprintf("%s and %s cut from each other", r.Node, a.Peer)
		b.begin(between, band)
	case journal.ActionImpair:
		band.Text = fmt.Sprintf("%s to %s: %s", r.Node, a.Peer, a.Detail)
		b.begin(there, band)
	case journal.ActionHeal:
		b.end(between, r.At)
		b.end(there, r.At)
		b.end("impair "+a.Peer+" "+r.Node, r.At)
	case journal.ActionFreeze:
		band.Text = r.Node + " frozen"
		b.begin("halt "+r.Node, band)
	case journal.ActionStall:
		band.Text = r.Node + " stalled"
		b.begin("halt "+r.Node, band)
	case journal.ActionArm:
		band.To, band.Text = a.Done, r.Node+" armed at "+a.Detail
		b.all = append(b.all, band)
	case journal.ActionReach:
		band.Text = r.Node + " stopped at " + a.Detail
		b.begin("halt "+r.Node, band)
	case journal.ActionThaw, journal.ActionResume:
		b.end("halt "+r.Node, r.At)
	default:
		band.To = r.At
		band.Text = strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Node, a.Name, a.Peer, a.Detail))
		b.all = append(b.all, band)
	}
}

func sortedPair(a, b string) []string {
	if a > b {
		a, b = b, a
	}
	return []string{a, b}
}
