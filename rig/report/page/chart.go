package page

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strconv"
)

// Scale maps values to places: From to the start of an axis, To to its end. From must be below To.
type Scale struct{ From, To float64 }

// Fit is a scale that holds all values, with a little room at both ends, also for a single value or
// none.
func Fit(values ...float64) Scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if low > high {
		return Scale{0, 1}
	}
	const room = 0.08
	margin := (high - low) * room
	if margin == 0 {
		margin = max(math.Abs(high)*room, 1e-9)
	}
	return Scale{low - margin, high + margin}
}

// Share is where a value lies: 0 at From, 1 at To, outside of both for what is outside.
func (s Scale) Share(v float64) float64 { return (v - s.From) / (s.To - s.From) }

// Percent is the same for an attribute of SVG.
func (s Scale) Percent(v float64) string { return percent(s.Share(v)) }

func percent(share float64) string { return short(share*100, 3) + "%" }

// short writes a number with at most so many decimals.
func short(v float64, decimals int) string {
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		for text[len(text)-1] == '0' {
			text = text[:len(text)-1]
		}
		if text[len(text)-1] == '.' {
			text = text[:len(text)-1]
		}
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// Tick is a round value on an axis.
type Tick struct {
	Value float64
	Text  string
}

// Ticks are round values within the scale, about as many as asked for: multiples of 1, 2 or 5 times
// a power of ten.
func (s Scale) Ticks(about int) []Tick {
	rough := (s.To - s.From) / float64(max(1, about))
	power := math.Floor(math.Log10(rough))
	step := math.Pow(10, power)
	for _, factor := range []float64{2, 5, 10} {
		if step < rough {
			step = factor * math.Pow(10, power)
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var all []Tick
	for i := math.Ceil(s.From/step - 1e-9); i*step <= s.To+step*1e-9; i++ {
		all = append(all, Tick{i * step, short(i*step, decimals)})
	}
	return all
}

// Plot is a chart of values over an axis.
type Plot struct {
	Title  string
	Note   string // "" for none
	X, Y   Axis
	Series []Series // at most 6 have colours of their own
	Marks  []Mark
	Height int // pixels of the plot itself; 0 is the usual
}

// Axis is one of a plot's.
type Axis struct {
	Label string   // with the unit, such as "loss, %"
	Scale *Scale   // nil: it fits the values, and the marks
	Ticks []string // of the x axis: names for 0, 1, 2, ... instead of round numbers
}

// Series is one colour of a plot.
type Series struct {
	Name   string // "" leaves it out of the key
	Points []Point
	Lines  bool // the points are joined, in their order
	Dashed bool
}

// Point is one value.
type Point struct {
	X, Y  float64
	Title string // shown when the pointer rests on it
	Bad   bool
}

// Mark is a horizontal line, such as a bound.
type Mark struct {
	Y    float64
	Name string
}

const (
	plotHeight = 170 // pixels
	plotRoom   = 18  // pixels above and below, so that letters and dots stay inside
	colours    = 6   // of series in the stylesheet
)

// HTML is the plot as a figure.
func (p Plot) HTML() template.HTML {
	view := p.view()
	var b bytes.Buffer
	if err := plotTemplate.Execute(&b, view); err != nil {
		panic("page: " + err.Error()) // the template is this file's and its data are ours
	}
	return template.HTML(b.String())
}

// plotView is a plot with places instead of values.
type plotView struct {
	Title, Note, XLabel, YLabel string
	Height                      int
	Rows                        []placed
	Columns                     []placed
	Marks                       []placed
	Series                      []seriesView
	Key                         bool
}

type placed struct{ X, Y, Text, Anchor string }

type seriesView struct {
	Name, Class string
	Dashed      bool
	Segments    []segment
	Dots        []dot
}

type segment struct{ X1, Y1, X2, Y2 string }

type dot struct {
	X, Y, Title string
	Bad         bool
}

func (p Plot) view() plotView {
	height := p.Height
	if height == 0 {
		height = plotHeight
	}
	x, y := p.scales()
	at := func(v float64) string {
		return short(float64(height-plotRoom)-y.Share(v)*float64(height-2*plotRoom), 1)
	}
	view := plotView{Title: p.Title, Note: p.Note, XLabel: p.X.Label, YLabel: p.Y.Label,
		Height: height, Columns: p.columns(x)}
	const rows = 4
	for _, t := range y.Ticks(rows) {
		view.Rows = append(view.Rows, placed{Y: at(t.Value), Text: t.Text})
	}
	for _, m := range p.Marks {
		view.Marks = append(view.Marks, placed{Y: at(m.Y), Text: m.Name})
	}
	for i, s := range p.Series {
		v := seriesView{Name: s.Name, Class: fmt.Sprintf("s%d", i%colours), Dashed: s.Dashed}
		view.Key = view.Key || s.Name != ""
		for j, point := range s.Points {
			v.Dots = append(v.Dots, dot{x.Percent(point.X), at(point.Y), point.Title, point.Bad})
			if s.Lines && j > 0 {
				v.Segments = append(v.Segments, segment{v.Dots[j-1].X, v.Dots[j-1].Y,
					v.Dots[j].X, v.Dots[j].Y})
			}
		}
		view.Series = append(view.Series, v)
	}
	return view
}

// scales are the plot's two.
func (p Plot) scales() (x, y Scale) {
	var xs, ys []float64
	for _, s := range p.Series {
		for _, point := range s.Points {
			xs, ys = append(xs, point.X), append(ys, point.Y)
		}
	}
	for _, m := range p.Marks {
		ys = append(ys, m.Y)
	}
	x, y = Fit(xs...), Fit(ys...)
	if p.X.Ticks != nil {
		x = Scale{-0.5, float64(len(p.X.Ticks)) - 0.5}
	}
	if p.X.Scale != nil {
		x = *p.X.Scale
	}
	if p.Y.Scale != nil {
		y = *p.Y.Scale
	}
	return x, y
}

// columns are the values under the x axis. Those at the edges grow inwards.
func (p Plot) columns(x Scale) []placed {
	var all []placed
	add := func(v float64, text string) {
		anchor := "middle"
		switch share := x.Share(v); {
		case share < 0.03:
			anchor = "start"
		case share > 0.97:
			anchor = "end"
		}
		all = append(all, placed{X: x.Percent(v), Text: text, Anchor: anchor})
	}
	if p.X.Ticks != nil {
		for i, text := range p.X.Ticks {
			add(float64(i), text)
		}
		return all
	}
	const about = 6
	for _, t := range x.Ticks(about) {
		add(t.Value, t.Text)
	}
	return all
}

var plotTemplate = template.Must(template.New("plot").Parse(`<figure class="chart">` +
	`<figcaption>{{.Title}}{{with .Note}} <span class="soft">{{.}}</span>{{end}}</figcaption>` +
	`<svg height="{{.Height}}" role="img" aria-label="{{.Title}}">` +
	`{{range .Rows}}<line class="grid" x1="0" x2="100%" y1="{{.Y}}" y2="{{.Y}}"/>` +
	`<text x="2" y="{{.Y}}" dy="-3">{{.Text}}</text>{{end}}` +
	`{{range .Marks}}<line class="mark" x1="0" x2="100%" y1="{{.Y}}" y2="{{.Y}}"/>` +
	`<text class="marked" x="100%" y="{{.Y}}" dx="-2" dy="-3" text-anchor="end">{{.Text}}</text>` +
	`{{end}}{{range .Columns}}<text x="{{.X}}" y="{{$.Height}}" dy="-2" ` +
	`text-anchor="{{.Anchor}}">{{.Text}}</text>{{end}}` +
	`{{range .Series}}{{$dashed := .Dashed}}<g class="{{.Class}}">` +
	`{{range .Segments}}<line class="curve{{if $dashed}} dashed{{end}}" ` +
	`x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}"/>{{end}}` +
	`{{range .Dots}}<circle class="dot{{if .Bad}} bad{{end}}" cx="{{.X}}" cy="{{.Y}}" r="3.5">` +
	`{{with .Title}}<title>{{.}}</title>{{end}}</circle>{{end}}</g>{{end}}</svg>` +
	`<div class="axis"><span>{{.YLabel}}</span><span>{{.XLabel}}</span></div>` +
	`{{if .Key}}<ul class="key">{{range .Series}}{{if .Name}}<li class="{{.Class}}">{{.Name}}</li>` +
	`{{end}}{{end}}</ul>{{end}}</figure>`))

// Gauge is a value and its bounds, small enough for a line of text. Unsharp is how much lower the
// value may be.
type Gauge struct {
	Least, Most, Value, Unsharp float64
	Tone                        Tone
	Title                       string
}

// HTML is the gauge as an inline picture.
func (g Gauge) HTML() template.HTML {
	s := Fit(g.Least, g.Most, g.Value)
	at := s.Percent(g.Value)
	return template.HTML(fmt.Sprintf(`<svg class="gauge %s" role="img" aria-label="%s">`+
		`<title>%[2]s</title><rect class="range" x="%s" width="%s" y="3" height="6"/>`+
		`<line class="end" x1="%[3]s" x2="%[3]s" y1="1" y2="11"/>`+
		`<line class="end" x1="%[5]s" x2="%[5]s" y1="1" y2="11"/>`+
		`<rect class="unsharp" x="%s" width="%s" y="4" height="4"/>`+
		`<circle class="value" cx="%s" cy="6" r="3.5"/></svg>`,
		g.Tone, template.HTMLEscapeString(g.Title),
		s.Percent(g.Least), percent(s.Share(g.Most)-s.Share(g.Least)), s.Percent(g.Most),
		s.Percent(g.Value-g.Unsharp), percent(s.Share(g.Value)-s.Share(g.Value-g.Unsharp)), at))
}
