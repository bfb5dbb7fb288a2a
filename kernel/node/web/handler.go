package web

import (
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// handler answers requests. It is on the path that is counted in instructions: it allocates little,
// and asks package http for nothing that the answer does not need.
type handler struct{ site Site }

// index is the page for somebody who has only the address.
const index = `holdfast: one node of a mesh

GET  /mesh              the node and its members
GET  /mesh/homes        every object and its home
GET  /mesh/route        authority, fences, results, counters
GET  /mesh/log?after=N  what happened, line by line
GET  /mesh/stats        figures of this node
POST /mesh/step/N       a lab step, body cap=<base64url>
`

// Header values, shared by all answers.
var (
	textPlain  = []string{"text/plain; charset=utf-8"}
	allowGet   = []string{"GET, HEAD"}
	allowPost  = []string{"POST"}
	closeAfter = []string{"close"}
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
	a := h.answer(r, header)
	if a.Status == http.StatusRequestEntityTooLarge {
		header["Connection"] = closeAfter // rather than read the rest
	}
	if a.Status != http.StatusOK {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body) // a client that is gone needs no answer
}

func (h handler) answer(r *http.Request, header http.Header) Answer {
	const step, objects = "/mesh/step/", "/objects/"
	path := r.URL.Path
	switch {
	case r.ContentLength > BodyMax:
		return tooLarge
	case strings.HasPrefix(path, step):
		if r.Method != http.MethodPost {
			return wrongMethod(header, allowPost)
		}
		return h.step(r, path[len(step):])
	case strings.HasPrefix(path, objects):
		return Refuse(http.StatusNotFound, "disabled")
	}
	page, ok := pages[path]
	switch {
	case !ok:
		return Refuse(http.StatusNotFound, "not found: GET / lists what there is")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return wrongMethod(header, allowGet)
	case r.ContentLength != 0:
		return Refuse(http.StatusBadRequest, "malformed: a GET has no body")
	case r.URL.RawQuery != "" && path != logPath:
		return Refuse(http.StatusBadRequest, "malformed: this page takes no query")
	}
	return page(h, r)
}

const logPath = "/mesh/log"

// pages is what answers a GET.
var pages = map[string]func(handler, *http.Request) Answer{
	"/":           func(handler, *http.Request) Answer { return Answer{http.StatusOK, index} },
	"/mesh":       func(h handler, r *http.Request) Answer { return h.site.Mesh(r.Context()) },
	"/mesh/homes": func(h handler, r *http.Request) Answer { return h.site.Homes(r.Context()) },
	"/mesh/route": func(h handler, r *http.Request) Answer { return h.site.Route(r.Context()) },
	"/mesh/stats": func(h handler, _ *http.Request) Answer { return h.site.Stats() },
	logPath:       handler.log,
}

// log takes no query, which means all that is kept, or after=N.
func (h handler) log(r *http.Request) Answer {
	query := r.URL.RawQuery
	if query == "" {
		return h.site.Log(0)
	}
	digits, ok := strings.CutPrefix(query, "after=")
	after, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return Refuse(http.StatusBadRequest, "malformed: the query is after=N, a decimal number")
	}
	return h.site.Log(after)
}

func (h handler) step(r *http.Request, digits string) Answer {
	number, err := strconv.ParseUint(digits, 10, 8)
	switch {
	case err != nil || strconv.FormatUint(number, 10) != digits:
		return Refuse(http.StatusNotFound, "not found: steps are numbered, /mesh/step/1")
	case r.URL.RawQuery != "":
		return Refuse(http.StatusBadRequest, "malformed: this page takes no query")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, BodyMax+1))
	switch {
	case len(body) > BodyMax:
		return tooLarge
	case err != nil:
		return Refuse(http.StatusBadRequest, "malformed: the body broke off")
	}
	text, ok := strings.CutPrefix(string(body), "cap=")
	if !ok {
		return Refuse(http.StatusBadRequest, "malformed: the body is cap=<base64url>")
	}
	capability, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return Refuse(http.StatusBadRequest,
			"malformed: the capability is not base64url without padding")
	}
	return h.site.Step(r.Context(), int(number), capability)
}

var tooLarge = Refuse(http.StatusRequestEntityTooLarge,
	"too-large: a body has at most "+strconv.Itoa(BodyMax)+" bytes")

func wrongMethod(header http.Header, allow []string) Answer {
	header["Allow"] = allow
	return Refuse(http.StatusMethodNotAllowed, "wrong method: this page takes "+allow[0])
}
