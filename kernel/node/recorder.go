package node

import (
	"crypto/ed25519"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"

	"holdfast/kernel/node/tape"
	"holdfast/kernel/node/web"
	"holdfast/mesh"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

const (
	// tapeMax is how many bytes of its tape a node keeps: somebody takes it along meanwhile.
	tapeMax = 1 << 20
	// tapePage is how many bytes an answer has at the most, but for a record that is longer.
	tapePage = 64 << 10
)

// recorder keeps the newest part of a boot's tape. The loop writes, HTTP reads; a nil one records
// nothing.
type recorder struct {
	boot   string      // names this boot
	writer tape.Writer // the loop's

	mu      sync.Mutex
	records [][]byte // the newest ones
	first   uint64   // the number of the first of them, from 1
	size    int      // of them, in bytes
}

func newRecorder(boot id.Boot) *recorder { return &recorder{boot: boot.String(), first: 1} }

// began records the start of the protocol.
func (r *recorder) began(now when.Instant, c mesh.Config, out *mesh.Effects) {
	if r == nil {
		return
	}
	build := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		build = info.Main.Version
	}
	r.add(r.writer.Head(tape.Head{
		Build: build, Key: c.Key.Public().(ed25519.PublicKey), Now: now, Config: c, Effects: out.List,
	}))
}

// stepped records a step, before anything can change what is in it.
func (r *recorder) stepped(now when.Instant, in mesh.Input, out *mesh.Effects) {
	if r != nil {
		r.add(r.writer.Step(tape.Step{Now: now, Input: in, Effects: out.List}))
	}
}

// add keeps a record, and lets go of the oldest ones when they are too many.
func (r *recorder) add(record []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, record)
	r.size += len(record)
	for r.size > tapeMax && len(r.records) > 1 {
		r.size -= len(r.records[0])
		r.records[0] = nil
		r.records = r.records[1:]
		r.first++
	}
}

// The headers of an answer: the number of its last record, which is what to ask for next, and the
// boot whose tape it is. Whoever knows another boot begins again.
const (
	tapeLast = "Holdfast-Last"
	tapeBoot = "Holdfast-Boot"
)

// page is the tape from behind record n on, whole records as they stand in a file; nothing when
// there is no newer one.
func (r *recorder) page(n uint64) web.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n+1 < r.first {
		return web.Refuse(http.StatusGone,
			"gone: the tape that is left begins behind record "+strconv.FormatUint(r.first-1, 10))
	}
	var body []byte
	for i := n + 1 - r.first; i < uint64(len(r.records)); i++ {
		record := r.records[i]
		if len(body) != 0 && len(body)+len(record) > tapePage {
			break
		}
		body = append(body, record...)
		n++
	}
	return web.Answer{Status: http.StatusOK, Body: string(body), Header: http.Header{
		"Content-Type": {"application/octet-stream"},
		tapeBoot:       {r.boot},
		tapeLast:       {strconv.FormatUint(n, 10)},
	}}
}
