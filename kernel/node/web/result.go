package web

import (
	"maps"
	"net/http"
	"strconv"

	"holdfast/mesh"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// Result is the answer to a request for an object, out of the mesh's. The body is the value (GET),
// the result row of the evidence (PUT), or a refusal. What is known besides is in these headers,
// under the names of that row; what is not known is left out.
//
//	Holdfast-Request     the request's name: the client's own, or the one that the node gave it
//	Holdfast-Home        the object's home, as the answering node has it
//	Holdfast-Home-Epoch  the epoch of that assignment
//	Holdfast-Epoch       the epoch of the node that was asked
//	Holdfast-Version     of the value that was read or stored, or that is in the way
//	Holdfast-Class       GET: the class of the read
//	Holdfast-Durability  none (GET), local or replicated
//	Holdfast-Copies      how many nodes stored the value for this answer
//	Holdfast-Age-Ms      GET stale-ok: for how long the value may have been out of date
func Result(op wire.Op, m mesh.Answer) Answer {
	rep := &m.Reply
	known := knowledge(m)
	if rep.Word != refusal.OK {
		a := Word(rep.Word, "")
		maps.Copy(known.header, a.Header)
		a.Header = known.header
		return a
	}
	a := Answer{Status: http.StatusOK, Header: known.header}
	known.set("Holdfast-Durability", rep.Durability.String())
	known.set("Holdfast-Copies", strconv.Itoa(int(rep.Copies)))
	if op == wire.Stat {
		known.set("Holdfast-Class", rep.Class.String())
		if rep.Class == wire.StaleOK {
			known.set("Holdfast-Age-Ms", strconv.FormatUint(uint64(rep.AgeMS), 10))
		}
		known.header["Content-Type"] = octets
		a.Body = string(rep.Value)
		return a
	}
	for _, row := range m.Lines {
		a.Body += row.String() + "\n"
	}
	return a
}

// knowledge is the headers that an answer can have whatever its word is.
func knowledge(m mesh.Answer) *headers {
	rep := &m.Reply
	known := &headers{make(http.Header), make([]string, 0, headersMax)}
	known.set("Holdfast-Request", rep.Request.String())
	if !rep.Home.IsZero() {
		known.set("Holdfast-Home", rep.Home.String())
	}
	if rep.HomeEpoch != 0 {
		known.set("Holdfast-Home-Epoch", rep.HomeEpoch.String())
	}
	if len(m.Lines) > 0 { // none: it was refused before it began
		if epoch, ok := m.Lines[0].GetEpoch("epoch"); ok {
			known.set("Holdfast-Epoch", epoch.String())
		}
	}
	if rep.Word == refusal.OK || rep.Word == refusal.VersionConflict {
		known.set("Holdfast-Version", strconv.FormatUint(rep.Version, 10))
	}
	return known
}

// headers is a header in the making, with all values in one piece of memory.
type headers struct {
	header http.Header
	values []string
}

const headersMax = 9 // that Result has

func (h *headers) set(key, value string) {
	n := len(h.values)
	h.values = append(h.values, value)
	h.header[key] = h.values[n : n+1 : n+1]
}

// octets is the type of a value: the node does not know what it is.
var octets = []string{"application/octet-stream"}
