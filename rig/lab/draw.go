package lab

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"holdfast/rig/report/page"
)

// WriteHTML writes the comparison as a page that opens without a network.
func (t *Table) WriteHTML(to io.Writer) error {
	d := page.Document{
		Title: "Failure detectors on the same heartbeats",
		Lead: "How long a crash goes unnoticed, against how often a living peer is convicted. A row " +
			"with a star has no other that is better in the 99th percentile of detection, in false " +
			"convictions or in messages without being worse in another of them.",
		Facts: []page.Fact{
			{Name: "seed", Value: fmt.Sprint(t.Settings.Seed)},
			{Name: "crashes a row", Value: fmt.Sprint(t.Settings.Crashes)},
			{Name: "price of a second unnoticed", Value: number(t.Prices.Second)},
			{Name: "price of a false conviction", Value: number(t.Prices.Conviction)},
			{Name: "crashes a day", Value: number(t.Prices.Crashes)},
		},
	}
	for i, p := range t.Traces {
		html, err := p.html()
		if err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		d.Sections = append(d.Sections, page.Section{
			ID: fmt.Sprintf("trace-%d", i), Title: p.Name,
			Note: fmt.Sprintf("%s; %d gaps, the longest %s; what was seen once is %s a day",
				p.About, p.Gaps, text(p.Worst), number(p.once())),
			HTML: p.plot().HTML() + html,
		})
	}
	return d.Write(to)
}

// plot shows each policy by its detection and its false convictions, both as powers of ten.
func (p Part) plot() page.Plot {
	var best, rest page.Series
	best.Name, best.Lines, rest.Name = "no other is better in everything", true, "others"
	for _, r := range p.Results {
		if r.Left != "" || r.P99 == 0 {
			continue
		}
		point := page.Point{
			X: math.Log10(float64(r.P99)) - 1, Y: math.Log10(1 + r.Convictions),
			Title: fmt.Sprintf("%s: p99 %s, %s false convictions a day, %s messages a second",
				r.Policy, r.time(r.P99), number(r.Convictions), number(r.Messages)),
		}
		if r.Pareto {
			best.Points = append(best.Points, point)
		} else {
			rest.Points = append(rest.Points, point)
		}
	}
	slices.SortFunc(best.Points, func(a, b page.Point) int { return cmp.Compare(a.X, b.X) })
	return page.Plot{
		Title:  "Detection against false convictions",
		X:      page.Axis{Label: "p99 of detection", Ticks: decades},
		Y:      page.Axis{Label: "log10(1 + false convictions a day)"},
		Series: []page.Series{best, rest},
	}
}

// decades name the powers of ten of a time, from 10 ms on.
var decades = []string{"10 ms", "0.1 s", "1 s", "10 s", "100 s", "1000 s"}

// html is the table of a trace.
func (p Part) html() (template.HTML, error) {
	var b strings.Builder
	err := partTemplate.Execute(&b, p)
	return template.HTML(b.String()), err
}

// Columns are the figures of a result, for the table.
func (r Result) Columns() []string { return strings.Split(strings.TrimSpace(r.row()), "\t")[1:] }

var partTemplate = template.Must(template.New("part").Parse(
	`<div class="scroll" tabindex="0" role="region" aria-label="{{.Name}}"><table><thead><tr>` +
		`<th>policy</th><th class="num">p50</th><th class="num">p99</th><th class="num">max</th>` +
		`<th class="num">missed</th><th class="num">suspected</th><th class="num">convicted</th>` +
		`<th class="num">flaps</th><th class="num">msg/s</th><th class="num">cost</th></tr></thead>` +
		`<tbody>{{range .Results}}<tr><td>{{if .Pareto}}<b>{{.Policy}}</b> *{{else}}{{.Policy}}` +
		`{{end}}</td>{{if .Left}}<td class="soft" colspan="9">{{.Left}}</td>{{else}}` +
		`{{range .Columns}}<td class="num">{{.}}</td>{{end}}{{end}}</tr>{{end}}</tbody></table></div>`))
