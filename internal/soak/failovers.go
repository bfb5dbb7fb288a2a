package main

import (
	"fmt"
	"io"
	"strings"

	"holdfast/mesh/sim"
)

// failover lives through a world of failovers and judges its history.
func failover(seed uint64) sim.Result {
	r := sim.RunFailover(seed)
	if names := broken(r.Acts); r.Verdict == "" && len(names) > 0 {
		r.Verdict = "the history is no register's: " + strings.Join(names, ", ")
	}
	return r
}

// casts is one more than the most nodes that a world has.
const casts = 6

// cast is the sum of what worlds of failovers with so many nodes have shown.
type cast struct {
	worlds   int64
	outcomes sim.Outcomes
	acts     int64
	homes    int64    // changes of a home
	restarts [3]int64 // of the authority: marks kept, torn, wiped
	emptied  int64
}

func (c *cast) add(r *sim.Result) {
	c.worlds++
	c.outcomes.Acknowledged += r.Outcomes.Acknowledged
	c.outcomes.Unknown += r.Outcomes.Unknown
	c.outcomes.Refused += r.Outcomes.Refused
	c.acts += int64(len(r.Acts))
	c.homes += r.Measures.Slack.N + r.Measures.HandOver.N
	for i := range c.restarts {
		c.restarts[i] += r.Restarts[i]
	}
	c.emptied += r.Emptied
}

// reportFailovers is the table of the casts.
func (s *soak) reportFailovers(to io.Writer) {
	fmt.Fprintln(to, "nodes  worlds  replicated commits               acts in   changes of  "+
		"restarts of the authority  started")
	fmt.Fprintln(to, "               acknowledged unknown  refused  histories    a home      "+
		"kept    torn    wiped    empty")
	for nodes, c := range s.casts {
		if c.worlds == 0 {
			continue
		}
		fmt.Fprintf(to, "%5d %7d %14d %7d %8d %10d %12d %9d %7d %8d %8d\n", nodes, c.worlds,
			c.outcomes.Acknowledged, c.outcomes.Unknown, c.outcomes.Refused, c.acts, c.homes,
			c.restarts[0], c.restarts[1], c.restarts[2], c.emptied)
	}
	fmt.Fprintf(to, "worlds in which something acknowledged was lost, or whose history is no "+
		"register's: %d\n", len(s.failed))
}
