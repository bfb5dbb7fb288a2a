package selftest

import (
	"slices"
	"strconv"
	"strings"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

// keptDamages are what a mesh would show that loses what it has acknowledged.
func keptDamages() []damage {
	return []damage{
		{"a last read of an older version", lastKept("GET", func(h *journal.HTTP) {
			h.Header["version"] = "1"
		}), "nothing-lost", violated, wrong},
		{"a last read of another value", lastKept("GET", func(h *journal.HTTP) {
			h.Body = "another value"
		}), "nothing-lost", violated, wrong},
		{"a last read that no register would give", lastKept("GET", func(h *journal.HTTP) {
			h.Body = "another value"
		}), "linearizable", violated, wrong},
		{"an acknowledgement without a version", lastKept("PUT", func(h *journal.HTTP) {
			delete(h.Header, "version")
		}), "nothing-lost", violated, wrong},
		{"no commit of before the fault", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool {
				return isKept(r, "PUT") && strings.HasPrefix(r.HTTP.Value, "before")
			}))
		}, "nothing-lost", inconclusive, wrong},
		{"nobody who reads at the end", func(rs []journal.Record) []journal.Record {
			return renumber(slices.DeleteFunc(rs, func(r journal.Record) bool {
				return isKept(r, "GET") && r.HTTP.Header["epoch"] == strconv.Itoa(4)
			}))
		}, "nothing-lost", inconclusive, open},
	}
}

func isKept(r journal.Record, method string) bool {
	return r.HTTP != nil && r.HTTP.Method == method && r.HTTP.Status == 200 &&
		strings.HasPrefix(r.HTTP.Path, judge.ObjectsPath+judge.KeptPrefix)
}

// lastKept changes the last answer with ok about one of the objects of Durable.
func lastKept(method string, do func(*journal.HTTP)) change1 {
	return func(records []journal.Record) []journal.Record {
		for i := len(records) - 1; ; i-- {
			if isKept(records[i], method) {
				do(records[i].HTTP)
				return records
			}
		}
	}
}
