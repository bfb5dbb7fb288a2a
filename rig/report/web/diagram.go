package web

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"holdfast/rig/journal"
	"holdfast/rig/report/page"
	"holdfast/rig/report/timeline"
)

// The diagram's measures, in pixels.
const (
	axisHeight  = 20
	laneHeight  = 18
	laneGap     = 4
	groupGap    = 12
	lineGap     = 92 // between the lifelines of two nodes
	linesMargin = 16 // above the first and below the last
)

// frameMost is how many frames are drawn one by one, frameCoarse how many while nothing is zoomed.
const (
	frameMost   = 4000
	frameCoarse = 400
	coarseBins  = 260
	answerMost  = 3000 // and answers
)

// longAnswer is how long a request may be under way before it is drawn as a background: others are
// answered meanwhile.
const longAnswer = time.Second

// diagram is what diagram.tmpl shows.
type diagram struct {
	Height       int
	Leased       bool // a lease gives the right to commit
	Labels       []label
	Ticks        []tick
	Faults       []box
	Lanes        []lane // backgrounds
	Boxes        []box
	Lifelines    []lifeline
	Coarse, Fine []arrow // Coarse is nil when Fine is for every zoom
	Summary      string
}

type label struct {
	Y     int
	Text  string
	Title string // "" for none
	Head  bool
}

type tick struct {
	X, Text string
	Level   int // of zoom from which it is shown
}

type lane struct{ Y, Height int }

// box is a band in a lane.
type box struct {
	N        int
	X, Width string
	Y        int
	Height   int
	Class    string
	Text     string // in the box, or beside it when that has no width
	Beside   string // on which side, "" for in it
	Tip      string
}

type lifeline struct {
	Y     int
	Parts []box
}

// arrow is a frame, or several.
type arrow struct {
	N              int
	X1, X2         string
	Y1, Y2         int
	Class          string
	Tip            string
	Count          int
	from, to, fate string
	bin            int
}

// builder lays the diagram out from top to bottom.
type builder struct {
	t     *timeline.Timeline
	d     diagram
	y     int
	lines map[string]int // y of the nodes' lifelines
}

func newDiagram(t *timeline.Timeline) *diagram {
	b := &builder{t: t, y: axisHeight, lines: make(map[string]int)}
	b.d.Leased = t.Leased
	b.ticks()
	b.steps()
	faults := b.faults()
	b.lifelines()
	for _, n := range t.Nodes {
		b.node(n)
	}
	b.d.Height = b.y + laneGap
	for _, f := range faults {
		f.Y, f.Height = axisHeight, b.d.Height-axisHeight
		b.d.Faults = append(b.d.Faults, f)
	}
	b.d.Summary = b.summary()
	return &b.d
}

// levels are the zooms from which finer ticks are shown; the script knows them as well.
var levels = []int{1, 4, 16, 64}

// ticks marks round times, more of them the wider the diagram is.
func (b *builder) ticks() {
	seconds := page.Scale{From: 0, To: float64(max(1, b.t.End)) / 1e6}
	const about = 10
	seen := make(map[string]bool)
	for level, zoom := range levels {
		for _, t := range seconds.Ticks(about * zoom) {
			x := seconds.Percent(t.Value)
			if !seen[x] {
				seen[x] = true
				b.d.Ticks = append(b.d.Ticks, tick{x, t.Text + " s", level})
			}
		}
	}
}

// row begins a lane and returns its y.
func (b *builder) row(name, title string) int {
	y := b.y
	b.d.Labels = append(b.d.Labels, label{Y: y, Text: name, Title: title})
	b.d.Lanes = append(b.d.Lanes, lane{y, laneHeight})
	b.y += laneHeight + laneGap
	return y
}

// band puts a band into a lane.
func (b *builder) band(y int, x timeline.Band, class, text string) {
	b.d.Boxes = append(b.d.Boxes, b.box(y, x, class, text))
}

func (b *builder) box(y int, x timeline.Band, class, text string) box {
	tip, beside := fmt.Sprintf("%s to %s: %s", x.From, x.To, visible(x.Text)), ""
	if x.Instant() {
		tip, beside = fmt.Sprintf("%s: %s", x.From, visible(x.Text)), "right"
		if x.From > b.t.End/2 {
			beside = "left"
		}
	}
	return box{N: x.N, Beside: beside, X: place(b.t, x.From), Width: width(b.t, x.From, x.To), Y: y,
		Height: laneHeight, Class: class, Text: visible(text), Tip: tip}
}

func (b *builder) steps() {
	y := b.row("steps", "what the rig did or waited for")
	for i, s := range b.t.Steps {
		class := "step"
		if i%2 == 1 {
			class += " odd"
		}
		if s.Kind == timeline.Broken {
			class += " broken"
		}
		b.band(y, s, class, s.Text)
	}
}

// faults labels what the rig did to the mesh, in as many lanes as stand above each other, and
// returns the bands that go through the whole diagram.
func (b *builder) faults() []box {
	var bands []box
	var ends []journal.Time // of each lane
	lanes := []int{}
	for _, f := range b.t.Faults {
		lane := 0
		for lane < len(ends) && ends[lane] > f.From {
			lane++
		}
		if lane == len(ends) {
			name := "faults"
			if lane > 0 {
				name = ""
			}
			ends, lanes = append(ends, 0), append(lanes, b.row(name, "what the rig broke"))
		}
		ends[lane] = f.To
		class := "fault " + f.Kind
		if f.Instant() {
			class += " instant"
		}
		b.band(lanes[lane], f, class, f.Text)
		bands = append(bands, b.box(0, f, class, ""))
	}
	b.y += groupGap
	return bands
}

// lifelines draws a line for each node and the frames between them.
func (b *builder) lifelines() {
	b.y += linesMargin
	for i, n := range b.t.Nodes {
		y := b.y + i*lineGap
		b.lines[n.Name] = y
		b.d.Labels = append(b.d.Labels, label{Y: y - laneHeight/2, Text: n.Name, Head: true,
			Title: n.Address + ", id " + n.ID})
		l := lifeline{Y: y}
		for _, m := range n.Machine {
			l.Parts = append(l.Parts, b.box(y-4, m, "life "+m.Kind, ""))
		}
		b.d.Lifelines = append(b.d.Lifelines, l)
	}
	b.y += max(0, len(b.t.Nodes)-1)*lineGap + linesMargin + groupGap
	b.frames()
}

// node adds the lanes of one node.
func (b *builder) node(n timeline.Node) {
	role := "member"
	if n.Authority {
		role = "authority"
	}
	y := b.row(n.Name+" view", role+" "+n.Name+": the view that it has installed")
	for _, v := range n.Views {
		b.band(y, v, "view "+b.colour(v), v.Text)
	}
	y = b.row(b.right())
	for _, w := range n.Write {
		text := ""
		switch {
		case w.Kind != timeline.Denied || w.Instant(): // beside an instant it would stand in another band
		case b.t.Leased:
			text = "immutable"
		default:
			text = "takes none"
		}
		b.band(y, w, "write "+w.Kind, text)
	}
	for _, peer := range b.t.Nodes {
		var seen []timeline.Band
		for _, p := range n.Peers {
			if p.Peer == peer.Name {
				seen = append(seen, p)
			}
		}
		if len(seen) == 0 {
			continue
		}
		y = b.row("sees "+peer.Name, "what "+n.Name+" says of "+peer.Name)
		for _, p := range seen {
			b.band(y, p, "peer "+p.Kind, p.Kind)
		}
	}
	b.answers(n)
	b.y += groupGap
}

// right is the lane of the right to commit, and its explanation.
func (b *builder) right() (text, title string) {
	if !b.t.Leased {
		return "takes commits", "solid: it says so; hatched: it says that it does not; nothing: nobody " +
			"asked. No lease gives a right: every commit waits for the acknowledgements of all"
	}
	return "may commit", "solid: it says so; outlined: the frames that passed allow a lease; " +
		"hatched: it says that it must not; nothing: nobody asked"
}

// colour is the class of a view: each epoch has its own.
func (b *builder) colour(v timeline.Band) string {
	if v.Kind != timeline.Viewed {
		return "none"
	}
	var epoch int
	fmt.Sscanf(v.Text, "epoch %d", &epoch)
	const colours = 6
	return fmt.Sprintf("s%d", (epoch+colours-2)%colours) // the usual epoch, 2, has the first one
}

// answers draws the rig's requests to a node. Of very many the quiet ones are left out: those that
// were answered with ok to a page that is no object.
func (b *builder) answers(n timeline.Node) {
	y := b.row("answers", "requests to "+n.Name+": answered, refused, silent")
	many := len(n.Answers) > answerMost
	drawn := 0
	answers := slices.Clone(n.Answers)
	slices.SortStableFunc(answers, func(a, b timeline.Answer) int { // short ones above long ones
		return cmp.Compare(b.To-b.From, a.To-a.From)
	})
	for _, a := range answers {
		if many && (a.Class == timeline.OK && !a.Object || drawn == answerMost) {
			continue
		}
		drawn++
		class := "answer " + string(a.Class)
		switch {
		case a.To.Sub(a.From) > longAnswer:
			class += " long"
		case a.Object:
			class += " object"
		}
		b.band(y, a.Band, class, "")
	}
}

// frames draws the arrows.
func (b *builder) frames() {
	b.d.Fine = b.arrows(b.t.Frames)
	if len(b.d.Fine) > frameMost {
		b.d.Fine = gather(b.d.Fine, b.t, frameMost)
	}
	if len(b.d.Fine) > frameCoarse {
		b.d.Coarse = gather(b.arrows(b.t.Frames), b.t, coarseBins)
	}
}

func (b *builder) arrows(frames []timeline.Frame) []arrow {
	var all []arrow
	for _, f := range frames {
		from, ok1 := b.lines[f.From]
		to, ok2 := b.lines[f.To]
		if !ok1 || !ok2 {
			continue
		}
		const tip = 5 // the arrow's head stays off the line
		end := to - tip
		if to < from {
			end = to + tip
		}
		switch f.Fate {
		case timeline.Held:
			end = (from + to) / 2
		case timeline.Gone:
			end = from + (to-from)*6/10
		}
		text := fmt.Sprintf("%s: %s to %s, %s", f.At, f.From, f.To, visible(f.Text))
		if f.Sent != f.At {
			text += fmt.Sprintf(", kept since %s", f.Sent)
		}
		all = append(all, arrow{N: f.N, X1: place(b.t, f.Sent), X2: place(b.t, f.At),
			Y1: from, Y2: end, Class: "frame " + string(f.Fate), Tip: text, Count: 1,
			from: f.From, to: f.To, fate: string(f.Fate), bin: int(f.At)})
	}
	return all
}

// gather makes one arrow of those with one way and one fate in each of so many parts of the run.
func gather(arrows []arrow, t *timeline.Timeline, parts int) []arrow {
	type key struct {
		from, to, fate string
		bin            int
	}
	size := max(1, int(t.End)/parts)
	at := make(map[key]int)
	var all []arrow
	for _, a := range arrows {
		k := key{a.from, a.to, a.fate, a.bin / size}
		i, ok := at[k]
		if !ok {
			at[k] = len(all)
			all = append(all, a)
			continue
		}
		all[i].Count++
	}
	for i := range all {
		a := &all[i]
		if a.Count > 1 {
			a.Tip = fmt.Sprintf("from %s on: %d frames %s to %s, %s",
				journal.Time(a.bin), a.Count, a.from, a.to, a.fate)
			a.Class += fmt.Sprintf(" many%d", min(3, len(fmt.Sprint(a.Count))))
		}
	}
	return all
}

// summary tells the diagram to those who do not see it.
func (b *builder) summary() string {
	counts := make(map[timeline.Fate]int)
	for _, f := range b.t.Frames {
		counts[f.Fate]++
	}
	var faults []string
	for _, f := range b.t.Faults {
		faults = append(faults, visible(f.Text))
	}
	if len(faults) == 0 {
		faults = []string{"none"}
	}
	return fmt.Sprintf("%s of run; frames passed %d, held %d, lost %d; faults: %s.", b.t.End,
		counts[timeline.Passed], counts[timeline.Held], counts[timeline.Gone],
		strings.Join(faults, ", "))
}

// Style is the height of the labels, which is the diagram's.
func (d *diagram) Style() template.CSS { return template.CSS(fmt.Sprintf("height:%dpx", d.Height)) }

// Axis is where the lines of the ticks begin.
func (d *diagram) Axis() int { return axisHeight }

// Fates are those that an arrow has a head for.
func (d *diagram) Fates() []timeline.Fate {
	return []timeline.Fate{timeline.Passed, timeline.Held, timeline.Gone}
}
