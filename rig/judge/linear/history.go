package linear

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/mesh/evidence"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// File is the artefact that has the picture.
const File = "history.html"

// Outcome is the answer.
type Outcome uint8

// The outcomes.
const (
	Unknown Outcome = iota // the search was not through in time, or there was nothing to ask
	Linearizable
	Broken
)

// Result is an answer with the history that it is about.
type Result struct {
	Outcome Outcome
	Acts    int      // in the history
	Objects int      // in it
	Broken  []string // the objects whose history no register has, by name
	Records []int    // of their answers, ascending
	info    porcupine.LinearizationInfo
}

// Check reads a run's history and asks. limit bounds the search of each object; 0 is no bound.
func Check(records []journal.Record, limit time.Duration) *Result {
	history := read(records)
	parts := byObject(history)
	r := &Result{Acts: len(history), Objects: len(parts)}
	unknown := len(history) == 0
	for _, part := range parts {
		switch porcupine.CheckOperationsTimeout(model, part, limit) {
		case porcupine.Unknown:
			unknown = true
		case porcupine.Illegal:
			r.Broken = append(r.Broken, part[0].Input.(act).object)
			for _, o := range part {
				r.Records = append(r.Records, o.Output.(done).n)
			}
		}
	}
	slices.Sort(r.Broken)
	slices.Sort(r.Records)
	switch {
	case len(r.Broken) > 0:
		r.Outcome = Broken
	case !unknown:
		r.Outcome = Linearizable
	}
	_, r.info = porcupine.CheckOperationsVerbose(model, history, limit)
	return r
}

// Band is something beside the history, such as a fault.
type Band struct {
	Name, Text string
	From, To   journal.Time
}

// WriteHTML writes the picture: every act as a bar, the longest order that a register can have had,
// and where it breaks.
func (r *Result) WriteHTML(w io.Writer, bands []Band) error {
	var notes []porcupine.Annotation
	for _, b := range bands {
		notes = append(notes, porcupine.Annotation{Tag: b.Name, Description: b.Text,
			Start: int64(b.From), End: int64(max(b.To, b.From+1)), BackgroundColor: "#ffd7d3"})
	}
	info := r.info
	info.AddAnnotations(notes)
	if err := porcupine.Visualize(model, info, w); err != nil {
		return fmt.Errorf("linear: %w", err)
	}
	return nil
}

// read makes the history of a run.
func read(records []journal.Record) []porcupine.Operation {
	var history []porcupine.Operation
	var silent []journal.Record
	var end journal.Time
	names := make(map[string]string) // of objects, by id
	for _, r := range once(records) {
		end = max(end, r.At)
		switch {
		case r.Kind == journal.KindRun:
			for _, o := range r.Run.Objects {
				names[o.ID] = o.Name
			}
			continue
		case r.Kind != journal.KindHTTP:
			continue
		}
		object, isObject := objectOf(r.HTTP.Path)
		if isObject && r.HTTP.Method == "PUT" && unanswered(r.HTTP) {
			silent = append(silent, r)
			continue
		}
		a, d, ok := answered(r, object, isObject)
		if !ok {
			continue
		}
		a.object = cmp.Or(names[a.object], a.object)
		history = append(history, porcupine.Operation{Input: a, Call: int64(r.HTTP.Sent), Output: d,
			Return: int64(r.At)})
	}
	history = append(history, shown(history, silent, end)...)
	slices.SortStableFunc(history, func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Call, b.Call)
	})
	clients(history)
	return history
}

// once makes one record of the requests of one name, in the place of the last: asked for when it
// was sent first, answered by the first answer with ok. Without one its outcome is unknown if that
// of any of them is.
func once(records []journal.Record) []journal.Record {
	type name struct{ path, request string }
	best := make(map[name]journal.Record)
	var all []journal.Record
	for _, r := range records {
		if r.Kind != journal.KindHTTP || r.HTTP.Request == "" {
			all = append(all, r)
			continue
		}
		n := name{r.HTTP.Path, r.HTTP.Request}
		b, another := best[n]
		if !another {
			best[n] = r
			continue
		}
		sent := min(b.HTTP.Sent, r.HTTP.Sent)
		if rank(r.HTTP) > rank(b.HTTP) || rank(r.HTTP) == rank(b.HTTP) && r.At < b.At {
			b = r
		}
		h := *b.HTTP
		h.Sent, b.HTTP = sent, &h
		best[n] = b
	}
	for _, r := range best {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b journal.Record) int { return cmp.Compare(a.N, b.N) })
	return all
}

// rank is how much an answer tells: that it was done is more than that nobody knows, and that more
// than a refusal, which is about one request only.
func rank(h *journal.HTTP) int {
	switch {
	case h.Status == 200 && h.Error == "":
		return 2
	case unanswered(h):
		return 1
	}
	return 0
}

// shown are the commits without an answer that reads show to have been made.
func shown(history []porcupine.Operation, silent []journal.Record, end journal.Time,
) []porcupine.Operation {
	type version struct {
		object string
		number uint64
		value  string
	}
	explained := make(map[version]bool)
	for _, o := range history {
		if a, d := o.Input.(act), o.Output.(done); a.commit {
			explained[version{a.object, d.version, a.value}] = true
		}
	}
	earliest := slices.SortedFunc(slices.Values(silent), func(a, b journal.Record) int {
		return cmp.Compare(a.HTTP.Sent, b.HTTP.Sent)
	})
	var all []porcupine.Operation
	for _, o := range history {
		a, d := o.Input.(act), o.Output.(done)
		v := version{a.object, d.version, d.value}
		if a.commit || explained[v] {
			continue
		}
		for _, r := range earliest {
			if object, _ := objectOf(r.HTTP.Path); object != a.object || r.HTTP.Value != d.value {
				continue
			}
			explained[v] = true
			all = append(all, porcupine.Operation{
				Input: act{object: a.object, commit: true, value: d.value, known: true},
				Call:  int64(r.HTTP.Sent), Return: int64(end) + 1, // it may have been done at any time
				Output: done{n: r.N, epoch: d.epoch, version: d.version, silent: true},
			})
			break
		}
	}
	return all
}

// clients numbers the acts so that those of one number follow each other, which the picture needs.
func clients(history []porcupine.Operation) {
	var free []int64 // when the latest act of each is over
	for i := range history {
		o := &history[i]
		c := slices.IndexFunc(free, func(until int64) bool { return until < o.Call })
		if c < 0 {
			c = len(free)
			free = append(free, 0)
		}
		o.ClientId, free[c] = c, o.Return
	}
}

// objectsPath begins the path of a request for an object, stepPath that of a step of the lab.
const (
	objectsPath = "/objects/"
	stepPath    = "/mesh/step/"
)

func objectOf(path string) (string, bool) {
	name, ok := strings.CutPrefix(path, objectsPath)
	if unescaped, err := url.PathUnescape(name); ok && err == nil {
		name = unescaped
	}
	return name, ok
}

// unanswered says whether a commit may have been made although no answer says so.
func unanswered(h *journal.HTTP) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(h.Body), ":")
	unknown := refusal.UnknownOutcome.String()
	return h.Status == 0 || h.Error != "" || word == unknown || resultOf(h.Body, "status") == unknown
}

// resultOf is a field of the result row that an answer begins with; "" for none.
func resultOf(body, key string) string {
	first, _, _ := strings.Cut(body, "\n")
	line, err := evidence.Parse(first)
	if err != nil || !line.Is("mesh-route", "result") {
		return ""
	}
	value, _ := line.Get(key)
	return value
}

// answered reads an answer with ok. One that does not say what it has to is package judge's to
// find; here it is left out.
func answered(r journal.Record, object string, isObject bool) (a act, d done, ok bool) {
	h := r.HTTP
	if h.Status != 200 || h.Error != "" {
		return a, d, false
	}
	d = done{n: r.N}
	switch {
	case isObject && h.Method == "PUT":
		a = act{object: object, commit: true, value: h.Value, known: true}
	case isObject && h.Method == "GET" && h.Header["class"] == wire.Authoritative.String():
		a, d.value = act{object: object}, h.Body
	case strings.HasPrefix(h.Path, stepPath) && resultOf(h.Body, "op") == "commit" &&
		resultOf(h.Body, "status") == "ok":
		return ofStep(h.Body, d)
	default:
		return a, d, false
	}
	_, err1 := fmt.Sscanf(h.Header["home-epoch"], "%d", &d.epoch)
	_, err2 := fmt.Sscanf(h.Header["version"], "%d", &d.version)
	d.kept = h.Header["durability"] == wire.Replicated.String()
	return a, d, err1 == nil && err2 == nil
}

// ofStep reads the commit of a step of the lab; its row has the object's id.
func ofStep(body string, d done) (a act, _ done, ok bool) {
	first, _, _ := strings.Cut(body, "\n")
	line, _ := evidence.Parse(first)
	epoch, ok1 := line.GetUint("home_epoch")
	version, ok2 := line.GetUint("version")
	id, ok3 := line.GetObject("object")
	d.epoch, d.version = epoch, version
	d.kept = resultOf(body, "durability") == wire.Replicated.String()
	return act{object: id.String(), commit: true}, d, ok1 && ok2 && ok3
}
