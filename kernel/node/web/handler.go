package web

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/refusal"
)

// handler answers requests. It is on the path that is counted in instructions: it allocates little,
// and asks package http for nothing that the answer does not need.
type handler struct{ site Site }

// index is the page for somebody who has only the address.
const index = `holdfast: one node of a mesh

GET  /mesh              the node and its members
GET  /mesh/homes        every object and its home
GET  /mesh/health       gaps between the peers' frames, phi, lateness of ticks
GET  /mesh/route        authority, fences, results, counters
GET  /mesh/log?after=N  what happened, line by line
GET  /mesh/stats        figures of this node
GET  /metrics           the same and more, for Prometheus
GET  /epitaph           the crash of the boot before, if it crashed
POST /mesh/step/N       a lab step, body cap=<base64url>
GET  /objects/{name}    an object's value
PUT  /objects/{name}    a new value, in the body

Objects want a header, Authorization: Holdfast <capability>.
`

// The paths that go on with a part of the client's choice, and those that take a query.
const (
	stepPath   = "/mesh/step/"
	objectPath = "/objects/"
	logPath    = "/mesh/log"
	tapePath   = "/mesh/tape"

	profilePath = "/debug/pprof/"
)

// Header values, shared by all answers.
var (
	textPlain   = []string{"text/plain; charset=utf-8"}
	allowGet    = []string{"GET, HEAD"}
	allowPost   = []string{"POST"}
	allowObject = []string{"GET, HEAD, PUT"}
	closeAfter  = []string{"close"}
)

// ServeHTTP implements http.Handler. A panic ends the program, as everywhere: package http would
// recover and serve on with whatever state is broken.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			go panic(v)
			select {} // keeps this goroutine's frames for the trace
		}
	}()
	header := w.Header()
	header["Content-Type"] = textPlain
	header["Date"] = nil // a node has no calendar (RFC 9110 section 6.6.1)
	a := h.inTurn(w, r)
	for key, values := range a.Header {
		header[key] = values
	}
	if a.Status == http.StatusRequestEntityTooLarge {
		header["Connection"] = closeAfter // rather than read the rest
	}
	if a.Status != http.StatusOK {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body) // a client that is gone needs no answer
}

// inTurn answers when the turn of the client's address has come.
func (h handler) inTurn(w http.ResponseWriter, r *http.Request) Answer {
	g := guestOf(r)
	waited, err := g.turn(r.Context())
	if err != nil {
		return gaveUp
	}
	defer g.rest(false)
	if waited {
		renew(w)
	}
	return h.answer(w, r)
}

// renew has the time for the answer begin again. A connection that takes no deadline fails when the
// answer is written.
func renew(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
}

func (h handler) answer(w http.ResponseWriter, r *http.Request) Answer {
	path := r.URL.Path
	switch {
	case r.ContentLength > BodyMax:
		return tooLarge
	case strings.HasPrefix(path, stepPath):
		return h.step(w, r, path[len(stepPath):])
	case strings.HasPrefix(path, profilePath) && h.site.Profile != nil:
		return h.profile(r, path[len(profilePath):])
	case strings.HasPrefix(path, objectPath):
		return h.object(w, r, path[len(objectPath):])
	}
	page, ok := pages[path]
	switch {
	case !ok:
		return Refuse(http.StatusNotFound, "not found: GET / lists what there is")
	case !isGet(r):
		return wrongMethod(allowGet)
	case r.ContentLength != 0:
		return bodyOfGet
	case r.URL.RawQuery != "" && path != logPath && path != tapePath:
		return noQuery
	case page.mesh && h.site.NoMesh != nil:
		return h.site.NoMesh()
	}
	return page.answer(h, r)
}

// page is what answers a GET of one path.
type page struct {
	answer func(handler, *http.Request) Answer
	mesh   bool // only a node with a mesh has it
}

var pages = map[string]page{
	"/":     {answer: func(handler, *http.Request) Answer { return Page(index) }},
	"/mesh": {answer: func(h handler, r *http.Request) Answer { return h.site.Mesh(r.Context()) }},
	logPath: {answer: func(h handler, r *http.Request) Answer { return after(r, h.site.Log) }},
	tapePath: {
		answer: func(h handler, r *http.Request) Answer { return after(r, h.site.Tape) },
		mesh:   true,
	},
	"/mesh/stats": {
		answer: func(h handler, _ *http.Request) Answer { return h.site.Stats() },
	},
	"/metrics": {
		answer: func(h handler, _ *http.Request) Answer { return h.site.Metrics() },
	},
	"/epitaph": {
		answer: func(h handler, _ *http.Request) Answer { return h.site.Epitaph() },
	},
	"/mesh/homes": {
		answer: func(h handler, r *http.Request) Answer { return h.site.Homes(r.Context()) },
		mesh:   true,
	},
	"/mesh/health": {
		answer: func(h handler, r *http.Request) Answer { return h.site.Health(r.Context()) },
		mesh:   true,
	},
	"/mesh/route": {
		answer: func(h handler, r *http.Request) Answer { return h.site.Route(r.Context()) },
		mesh:   true,
	},
}

// after answers for a page that takes no query, which means all that is kept, or after=N.
func after(r *http.Request, page func(after uint64) Answer) Answer {
	query := r.URL.RawQuery
	if query == "" {
		return page(0)
	}
	digits, ok := strings.CutPrefix(query, "after=")
	n, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return malformed("the query is after=N, a decimal number")
	}
	return page(n)
}

// profileMax bounds how long the processor is watched: an answer has to be out in AnswerTime.
const profileMax = 5

// profile takes a query of seconds=N, which go tool pprof always has, or none; debug=0, which is
// what there is, may stand there, too.
func (h handler) profile(r *http.Request, name string) Answer {
	length := profileMax
	for key, values := range r.URL.Query() {
		v, err := strconv.Atoi(values[0])
		switch {
		case key == "debug" && values[0] == "0":
		case key == "seconds" && err == nil && v >= 1 && v <= profileMax:
			length = v
		default:
			return malformed("the query is seconds=N, 1 to " + strconv.Itoa(profileMax))
		}
	}
	if !isGet(r) {
		return wrongMethod(allowGet)
	}
	Rest(r.Context())
	defer Resume(r.Context())
	return h.site.Profile(r.Context(), name, time.Duration(length)*time.Second)
}

func (h handler) step(w http.ResponseWriter, r *http.Request, digits string) Answer {
	number, err := strconv.ParseUint(digits, 10, 8)
	switch {
	case r.Method != http.MethodPost:
		return wrongMethod(allowPost)
	case err != nil || strconv.FormatUint(number, 10) != digits:
		return Refuse(http.StatusNotFound, "not found: steps are numbered, /mesh/step/1")
	case r.URL.RawQuery != "":
		return noQuery
	case h.site.NoMesh != nil:
		return h.site.NoMesh()
	}
	body, refused := body(w, r)
	if refused != nil {
		return *refused
	}
	text, ok := strings.CutPrefix(string(body), "cap=")
	if !ok {
		return malformed("the body is cap=<base64url>")
	}
	capability, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return malformed("the capability is not base64url without padding")
	}
	return h.site.Step(r.Context(), int(number), capability)
}

// body reads a request's body, or says what is wrong with it. A body may take as long to come as
// its whole request: the time for the answer begins again behind it.
func body(w http.ResponseWriter, r *http.Request) ([]byte, *Answer) {
	g := guestOf(r)
	g.rest(false)
	b, err := io.ReadAll(io.LimitReader(r.Body, BodyMax+1))
	g.resume(false)
	switch {
	case len(b) > BodyMax:
		return nil, &tooLarge
	case err != nil:
		broken := malformed("the body broke off")
		return nil, &broken
	}
	renew(w)
	return b, nil
}

// Refusals that several paths have.
var (
	tooLarge = Refuse(http.StatusRequestEntityTooLarge,
		"too-large: a body has at most "+strconv.Itoa(BodyMax)+" bytes")
	bodyOfGet = malformed("a GET has no body")
	noQuery   = malformed("this page takes no query")
	gaveUp    = Word(refusal.NotReady, "the client ended its side before its turn came")
)

func malformed(sentence string) Answer {
	return Refuse(http.StatusBadRequest, "malformed: "+sentence)
}

func wrongMethod(allow []string) Answer {
	a := Refuse(http.StatusMethodNotAllowed, "wrong method: this page takes "+allow[0])
	a.Header = http.Header{"Allow": allow}
	return a
}

func isGet(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}
