package selftest

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// change1 is one change to a journal.
type change1 = func([]journal.Record) []journal.Record

// behindOf does a change to what comes after the first record of a node that contains a text.
func behindOf(node, text string, do change1) change1 {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		return renumber(append(records[:i+1:i+1], do(records[i+1:])...))
	}
}

// action is the place of the first action of this name.
func action(records []journal.Record, name string) int {
	i := slices.IndexFunc(records, func(r journal.Record) bool {
		return r.Action != nil && r.Action.Name == name
	})
	if i < 0 {
		panic("no action " + name)
	}
	return i
}

// lastAnswerBefore changes a field in the last answer of a node before an action that has a line
// with a text.
func lastAnswerBefore(node, name, text, key, value string) change1 {
	return func(records []journal.Record) []journal.Record {
		i := action(records, name)
		request := "GET /mesh/route"
		if strings.HasPrefix(text, "lease=") {
			request = "GET /mesh/homes"
		}
		lastAnswer(node, request, text, key, value)(records[:i])
		return records
	}
}

// moveFramesOf moves the instants at which a node's frames passed the relay.
func moveFramesOf(node string, ms int64) change1 {
	return func(records []journal.Record) []journal.Record {
		for i, r := range records {
			if r.Frame != nil && r.Node == node {
				records[i].At += journal.Time(ms * 1000)
			}
		}
		return records
	}
}

// shifted is the value of a field of milliseconds, moved.
func shifted(line, key string, ms int) string {
	return strconv.Itoa(number(line, key) + ms)
}

func number(line, key string) int {
	n, err := strconv.Atoi(field(key).FindStringSubmatch(line)[2])
	if err != nil {
		panic(err)
	}
	return n
}

// ahead puts a line before the first one of a node that contains a text, at its instant.
func ahead(node, text, added string) change1 {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		r := line(added)
		r.At, r.Node, r.Boot = records[i].At, node, records[i].Boot
		return renumber(slices.Insert(records, i, r))
	}
}

// later moves a field of milliseconds of the first such row.
func later(node, text, key string, ms int) change1 {
	return func(records []journal.Record) []journal.Record {
		r := &records[pick(records, node, text, 1)]
		r.Line = change(r.Line, key, shifted(r.Line, key, ms))
		return records
	}
}

// lateRecord has the first such row arrive later.
func lateRecord(node, text string, ms int64) change1 {
	return func(records []journal.Record) []journal.Record {
		records[pick(records, node, text, 1)].At += journal.Time(ms * 1000)
		return records
	}
}

// last is the place of the last record of a node that contains a text.
func last(records []journal.Record, node, text string) int {
	return pick(records, node, text, count(records, node, text))
}

func count(records []journal.Record, node, text string) int {
	n := 0
	for _, r := range records {
		if is(r, node, text) {
			n++
		}
	}
	return n
}

func setLast(node, text, key, value string) change1 {
	return func(records []journal.Record) []journal.Record {
		r := &records[last(records, node, text)]
		r.Line = change(r.Line, key, value)
		return records
	}
}

// lastCommit is the place of the last commit that the isolated member accepted.
func lastCommit(records []journal.Record) int {
	found := -1
	for i, r := range records {
		if isPut(r) && r.HTTP.Status == 200 {
			found = i
		}
	}
	return found
}

// isPut says whether a record is a local commit that the member was asked for.
func isPut(r journal.Record) bool {
	return r.HTTP != nil && r.Node == member && r.HTTP.Method == "PUT" &&
		!strings.HasPrefix(r.HTTP.Path, judge.ObjectsPath+judge.KeptPrefix)
}

// commitAt has the member accept its last commit so many milliseconds after it had asked for its
// last lease.
func commitAt(ms int) change1 {
	return func(records []journal.Record) []journal.Record {
		sent := number(records[pick(records, member, lost, 1)].Line, "lease_sent_ms")
		r := &records[lastCommit(records)]
		at := sent + ms
		r.At += journal.Time((at - number(r.HTTP.Body, "at")) * 1000)
		r.HTTP.Body = change(r.HTTP.Body, "at", strconv.Itoa(at))
		return records
	}
}

// refusedAfter is the place of the first commit that the isolated member refused after a line, of
// the last one when there is no line.
func refusedAfter(records []journal.Record, line string) int {
	found := -1
	for i := lastCommit(records) + 1; i < len(records); i++ {
		if !isPut(records[i]) || line != "" && i < pick(records, member, line, 1) {
			continue
		}
		if found < 0 || line == "" {
			found = i
		}
	}
	return found
}

// accept has the member accept a commit that it refused, at the instant of the answer.
func accept(records []journal.Record, i int) []journal.Record {
	model, r := records[lastCommit(records)], records[i]
	at := number(model.HTTP.Body, "at") + int(r.At-model.HTTP.Sent)/1000
	r.HTTP.Status, r.HTTP.Body = 200, change(model.HTTP.Body, "at", strconv.Itoa(at))
	return records
}

// commitsUntil leaves out the member's own commits that it accepted so many milliseconds after the
// cut or later.
func commitsUntil(ms int) change1 {
	return func(records []journal.Record) []journal.Record {
		until := records[action(records, journal.ActionCut)].At + journal.Time(ms*1000)
		return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
			return isPut(r) && r.HTTP.Status == 200 && r.At > until
		}))
	}
}

// dropRefused leaves out the commits that the isolated member refused.
func dropRefused(records []journal.Record) []journal.Record {
	return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
		return isPut(r) && r.HTTP.Status != 200
	}))
}

// resultNth changes a row of a lab step that has several, on the console and in the answer.
func resultNth(node string, step, nth int, key, value string) change1 {
	return func(records []journal.Record) []journal.Record {
		text := "result step=" + strconv.Itoa(step) + " "
		r := &records[pick(records, node, text, nth)]
		was := r.Line
		r.Line = change(was, key, value)
		h := records[pick(records, node, "POST /mesh/step/"+strconv.Itoa(step), 1)].HTTP
		h.Body = strings.ReplaceAll(h.Body, was, r.Line)
		return records
	}
}

// resultLast changes the row of the second request for a lab step.
func resultLast(node string, step int, key, value string) change1 {
	return func(records []journal.Record) []journal.Record {
		r := &records[pick(records, node, "result step="+strconv.Itoa(step)+" ", 2)]
		was := r.Line
		r.Line = change(was, key, value)
		h := records[pick(records, node, "POST /mesh/step/"+strconv.Itoa(step), 2)].HTTP
		h.Body = strings.ReplaceAll(h.Body, was, r.Line)
		return records
	}
}

// heard is the instant of the member's clock at which it last heard of the root before the cut.
func heard(records []journal.Record) int {
	row := records[pick(records, member, suspect, 1)].Line
	return number(row, "at") - number(row, "silent_ms")
}

// readAt has the member serve its last read so many milliseconds after it last heard of the root.
func readAt(ms int) change1 {
	return func(records []journal.Record) []journal.Record {
		served := 0
		for i := range records {
			if is(records[i], member, "result step=3 ") && is(records[i], member, "status=ok") {
				served = i
			}
		}
		return postpone(records, served, heard(records)+ms)
	}
}

// postpone has a row made at a later instant of the node's clock, and arrive as much later.
func postpone(records []journal.Record, i, at int) []journal.Record {
	r := &records[i]
	r.At += journal.Time((at - number(r.Line, "at")) * 1000)
	r.Line = change(r.Line, "at", strconv.Itoa(at))
	return records
}

// refusedAt has the member refuse its first read at such an instant.
func refusedAt(ms int) change1 {
	return func(records []journal.Record) []journal.Record {
		r := &records[last(records, member, "result step=3 ")]
		r.Line = change(r.Line, "at", strconv.Itoa(heard(records)+ms))
		return records
	}
}
