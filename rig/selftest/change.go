package selftest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdfast/mesh/id"
	"holdfast/rig/journal"
)

// is says whether a record is a console line of a node that contains a text, or a request to it
// that is exactly the text, such as "GET /mesh".
func is(r journal.Record, node, text string) bool {
	if r.HTTP != nil {
		return r.Node == node && r.HTTP.Method+" "+r.HTTP.Path == text
	}
	return r.Node == node && strings.Contains(r.Line, text)
}

// pick finds the nth such record, from 1. It panics when there is none: then the damage would say
// nothing.
func pick(records []journal.Record, node, text string, nth int) int {
	for i, r := range records {
		if is(r, node, text) {
			if nth--; nth == 0 {
				return i
			}
		}
	}
	panic("no record of " + node + " with " + text)
}

// drop leaves out all such records.
func drop(node, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		pick(records, node, text, 1)
		return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
			return is(r, node, text)
		}))
	}
}

// dropRow leaves the line that contains a text out of the first answer to a request that has one
// and also contains another text.
func dropRow(node, request, with, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		for _, r := range records {
			if r.HTTP == nil || !is(r, node, request) || !strings.Contains(r.HTTP.Body, with) {
				continue
			}
			lines := slices.Collect(strings.Lines(r.HTTP.Body))
			i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, text) })
			r.HTTP.Body = strings.Join(slices.Delete(lines, i, i+1), "")
			return records
		}
		panic("no answer of " + node + " to " + request + " with " + with)
	}
}

// field matches a field of a line.
func field(key string) *regexp.Regexp { return regexp.MustCompile(`( |^)` + key + `=([^ \n]+)`) }

// change gives a field of a line another value. It panics when nothing changes.
func change(line, key, value string) string {
	changed := field(key).ReplaceAllString(line, "${1}"+key+"="+value)
	if changed == line {
		panic("no other " + key + " in " + line)
	}
	return changed
}

// set changes a field of the first console line of a node that contains a text.
func set(node, text, key, value string) func([]journal.Record) []journal.Record {
	return setNth(node, text, 1, key, value)
}

func setNth(node, text string, nth int, key, value string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		r := &records[pick(records, node, text, nth)]
		r.Line = change(r.Line, key, value)
		return records
	}
}

// answer changes a field in every line of an answer that contains a text; the answer is the first
// one to a request in which such a line exists, or the last one.
func answer(node, request, text, key, value string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		return changeAnswer(records, node, request, text, key, value)
	}
}

func lastAnswer(node, request, text, key, value string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		slices.Reverse(records)
		changeAnswer(records, node, request, text, key, value)
		slices.Reverse(records)
		return records
	}
}

func changeAnswer(
	records []journal.Record, node, request, text, key, value string,
) []journal.Record {
	for _, r := range records {
		if r.HTTP == nil || !is(r, node, request) || !strings.Contains(r.HTTP.Body, text) {
			continue
		}
		body := ""
		for line := range strings.Lines(r.HTTP.Body) {
			if strings.Contains(line, text) {
				line = change(line, key, value)
			}
			body += line
		}
		r.HTTP.Body = body
		return records
	}
	panic("no answer of " + node + " to " + request + " with " + text)
}

// result changes the result of a lab step, on the console and in the answer.
func result(node string, step int, key, value string) func([]journal.Record) []journal.Record {
	return both(
		set(node, fmt.Sprintf("result step=%d ", step), key, value),
		answer(node, fmt.Sprintf("POST /mesh/step/%d", step), "result", key, value))
}

// after puts records behind the nth one of a node that contains a text, at its instant.
func after(node, text string, added ...journal.Record) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		for j := range added {
			added[j].At, added[j].Node, added[j].Boot = records[i].At, node, records[i].Boot
		}
		return renumber(slices.Insert(records, i+1, added...))
	}
}

func line(text string) journal.Record {
	return journal.Record{Kind: journal.KindConsole, Line: text}
}

func event(name, data string) journal.Record {
	return journal.Record{Kind: journal.KindEvent, Event: &journal.Event{Name: name, Data: data}}
}

// again prints the line of a record once more behind it.
func again(node, text string) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		return after(node, text, line(records[pick(records, node, text, 1)].Line))(records)
	}
}

// remove leaves out the nth record of a node that contains a text.
func remove(node, text string, nth int) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, nth)
		return renumber(slices.Delete(records, i, i+1))
	}
}

// answerBody changes the first answer to a request as a whole.
func answerBody(
	node, request string, do func(*journal.HTTP),
) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		do(records[pick(records, node, request, 1)].HTTP)
		return records
	}
}

// unsilenced leaves out that the rig killed the member, or cut it off.
func unsilenced(records []journal.Record) []journal.Record {
	return renumber(slices.DeleteFunc(records, func(r journal.Record) bool {
		return r.Action != nil &&
			(r.Action.Name == journal.ActionKill || r.Action.Name == journal.ActionCut)
	}))
}

func renumber(records []journal.Record) []journal.Record {
	for i := range records {
		records[i].N = i + 1
	}
	return records
}

// until cuts the journal off before a record and ends it there.
func until(node, text string, end journal.End) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		i := pick(records, node, text, 1)
		at := records[i].At
		records = append(records[:i:i],
			journal.Record{Kind: journal.KindAction, Node: node, Boot: 1,
				Action: &journal.Action{Name: journal.ActionQuit, Done: at}},
			journal.Record{Kind: journal.KindExit, Node: node, Boot: 1,
				Exit: &journal.Exit{Text: "exit status 0"}},
			journal.Record{Kind: journal.KindEnd, End: &end})
		for j := i; j < len(records); j++ {
			records[j].At = at
		}
		return renumber(records)
	}
}

// shift moves what happens from a record on by so many milliseconds.
func shift(node, text string, ms int64) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		return shiftFrom(records, pick(records, node, text, 1), ms)
	}
}

func shiftFrom(records []journal.Record, first int, ms int64) []journal.Record {
	for i := first; i < len(records); i++ {
		records[i].At += journal.Time(ms * 1000)
		if h := records[i].HTTP; h != nil {
			h.Sent += journal.Time(ms * 1000)
		}
	}
	return records
}

// longer has the run end so many milliseconds later.
func longer(ms int64) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		return shiftFrom(records, len(records)-1, ms)
	}
}

// both does two damages.
func both(a, b func([]journal.Record) []journal.Record) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record { return b(a(records)) }
}

// moveFrame moves the instant at which the member's last frame passed the relay.
func moveFrame(ms int64) func([]journal.Record) []journal.Record {
	return func(records []journal.Record) []journal.Record {
		for i, r := range records {
			if r.Frame != nil && r.Node == member {
				records[i].At += journal.Time(ms * 1000)
			}
		}
		return records
	}
}

// digest is one that no view of a stored run has.
func digest(n byte) string { return id.Sum([]byte{n}).String() }

// shortened is a good journal that ends after so many records, because a step took too long.
func shortened(records []journal.Record, n int) []journal.Record {
	at := records[n-1].At
	return append(records[:n:n], journal.Record{
		N: n + 1, At: at, Kind: journal.KindEnd, End: &journal.End{Outcome: journal.Deadline},
	})
}
