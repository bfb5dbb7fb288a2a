package judge

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
	"holdfast/rig/journal"
)

// done is an answered request for an object: what a home did, and when at the earliest and latest.
// The package comment says what that proves.
type done struct {
	n         int // of its record
	node      string
	object    string // its name
	from, to  journal.Time
	commit    bool
	home      id.Node
	boot      string // nonce of the home's boot when that was the node that was asked; empty: unknown
	homeEpoch id.Epoch
	epoch     id.Epoch // of the node that was asked; 0: unknown
	version   uint64
	value     string
}

// local says whether the home is the node that was asked. Only then is it known which boot of it,
// and, if two machines have one key, which machine it was.
func (d *done) local() bool { return d.boot != "" }

// what is for people.
func (d *done) what() string {
	op := "read"
	if d.commit {
		op = "commit"
	}
	return fmt.Sprintf("the %s of version %d through %s (%s)", op, d.version, d.node, d.from)
}

// ObjectsPath begins the path of a request for an object.
const ObjectsPath = "/objects/"

// history returns the answered requests for objects, in the order of their answers. One whose
// answer does not tell what it must tell is reported. A commit that was sent before is left out: a
// home that remembers it says so at any time, lease or none.
func (q *inquiry) history() []done {
	var all []done
	again := q.run.sentAgain()
	for _, record := range q.run.Records {
		if record.Kind != journal.KindHTTP || record.HTTP.Status != 200 || record.HTTP.Error != "" ||
			again[record.N] {
			continue
		}
		name, object := strings.CutPrefix(record.HTTP.Path, ObjectsPath)
		// A read under a read lease, or of any copy, is no act of a home.
		if !object || record.HTTP.Method == "GET" &&
			record.HTTP.Header["class"] != wire.Authoritative.String() {
			continue
		}
		d, err := q.run.readDone(record)
		if err != nil {
			q.cite(record.N)
			q.violated("%s answered %s %s with ok and %v", record.Node, record.HTTP.Method,
				record.HTTP.Path, err)
			continue
		}
		if unescaped, err := url.PathUnescape(name); err == nil {
			name = unescaped
		}
		d.object = name
		all = append(all, d)
	}
	return all
}

// nothings returns the authoritative reads that were answered with the word that there is no such
// object: what they have read is version 0.
func (q *inquiry) nothings() []done {
	var all []done
	for _, r := range q.run.Records {
		if traffic(r) && r.HTTP.Class == wire.Authoritative.String() &&
			word(r.HTTP) == refusal.NoObject.String() {
			all = append(all, done{n: r.N, node: r.Node, from: r.HTTP.Sent, to: r.At,
				object: strings.TrimPrefix(r.HTTP.Path, ObjectsPath)})
		}
	}
	return all
}

// sentAgain has the records of requests whose name an earlier one had.
func (r *Run) sentAgain() map[int]bool {
	type name struct{ path, request string }
	first, again := make(map[name]journal.Record), make(map[int]bool)
	for _, record := range r.Records {
		if !traffic(record) || record.HTTP.Request == "" {
			continue
		}
		n := name{record.HTTP.Path, record.HTTP.Request}
		earlier, known := first[n]
		switch {
		case !known:
			first[n] = record
		case record.HTTP.Sent < earlier.HTTP.Sent:
			first[n], again[earlier.N] = record, true
		default:
			again[record.N] = true
		}
	}
	return again
}

// readDone reads what an answer with ok says.
func (r *Run) readDone(record journal.Record) (d done, err error) {
	h := record.HTTP
	d = done{n: record.N, node: record.Node, from: h.Sent, to: record.At,
		commit: h.Method == "PUT", value: h.Body}
	if d.home, err = id.ParseNode(h.Header["home"]); err != nil {
		return d, fmt.Errorf("no home: %w", err)
	}
	if d.homeEpoch, err = id.ParseEpoch(h.Header["home-epoch"]); err != nil {
		return d, fmt.Errorf("no home epoch: %w", err)
	}
	if d.version, err = strconv.ParseUint(h.Header["version"], 10, 64); err != nil {
		return d, fmt.Errorf("no version: %w", err)
	}
	d.epoch, _ = id.ParseEpoch(h.Header["epoch"])
	request, err := wire.ParseRequest(h.Header["request"])
	if err != nil {
		return d, fmt.Errorf("no request: %w", err)
	}
	switch {
	case id.Node(request.Client) == d.home: // the node gave the request its own name
		d.boot = request.Boot.String()
	case r.has(record.Node) && r.ID(record.Node) == d.home:
		d.boot = r.nonceAt(record.Node, record.At)
	}
	if d.commit {
		d.value = h.Value
	}
	return d, nil
}

// nonceAt is the nonce of the boot in which a node answered at an instant: of its latest start,
// since no connection outlives one. It is empty when the node had not printed a start.
func (r *Run) nonceAt(node string, at journal.Time) (nonce string) {
	for _, row := range r.rows(node, "mesh-node", "start") {
		if row.Seen <= at {
			nonce = fieldOf(row.Line, "boot")
		}
	}
	return nonce
}
