package judge

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"holdfast/mesh/id"
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
	boot      string // nonce of the home's boot when it was the node that was asked, else empty
	homeEpoch id.Epoch
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
// answer does not tell what it must tell is reported.
func (q *inquiry) history() []done {
	var all []done
	for _, record := range q.run.Records {
		if record.Kind != journal.KindHTTP || record.HTTP.Status != 200 || record.HTTP.Error != "" {
			continue
		}
		name, object := strings.CutPrefix(record.HTTP.Path, ObjectsPath)
		// A read under a read lease, or of any copy, is no act of a home.
		if !object || record.HTTP.Method == "GET" &&
			record.HTTP.Header["class"] != wire.Authoritative.String() {
			continue
		}
		d, err := readDone(record)
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

// readDone reads what an answer with ok says.
func readDone(r journal.Record) (d done, err error) {
	h := r.HTTP
	d = done{n: r.N, node: r.Node, from: h.Sent, to: r.At, commit: h.Method == "PUT", value: h.Body}
	if d.home, err = id.ParseNode(h.Header["home"]); err != nil {
		return d, fmt.Errorf("no home: %w", err)
	}
	if d.homeEpoch, err = id.ParseEpoch(h.Header["home-epoch"]); err != nil {
		return d, fmt.Errorf("no home epoch: %w", err)
	}
	if d.version, err = strconv.ParseUint(h.Header["version"], 10, 64); err != nil {
		return d, fmt.Errorf("no version: %w", err)
	}
	request, err := wire.ParseRequest(h.Header["request"])
	if err != nil {
		return d, fmt.Errorf("no request: %w", err)
	}
	if id.Node(request.Client) == d.home {
		d.boot = request.Boot.String()
	}
	if d.commit {
		d.value = h.Value
	}
	return d, nil
}
