package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/evidence"
	"holdfast/mesh/wire"
	"holdfast/netstack"
	"holdfast/rig/journal"
)

const (
	// requestTimeout bounds a request with its dial, unless its maker says otherwise. A node answers
	// in some ten milliseconds, but gives a lab step whose remote home is out of reach five seconds.
	requestTimeout = 8 * time.Second
	// commitTimeout is for a commit that every member has to store: a node gives it 15 s, and answers
	// within 16.5 s whatever happens.
	commitTimeout = 18 * time.Second
	// bodyMax is more than the longest answer: a ring of 256 rows of at most 512 bytes.
	bodyMax = 256 << 10
)

// newClient makes an HTTP client on the rig's own station. A connection serves one request, so that
// none outlives a node's boot.
func newClient(s *netstack.Stack) *http.Client {
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, err
		}
		return s.Dial(ctx, to)
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

// Answer is a node's answer to a request.
type Answer struct {
	Status int
	Body   string
	Header map[string]string // those of the mesh, as in journal.HTTP
	Lines  []evidence.Line   // of the body, as far as they are evidence or status rows
}

// Refusal is an answer, or a silence, that a run cannot go on with.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }

// call is a request to a node.
type call struct {
	method, path string
	header       http.Header
	form         string        // the body of a POST
	value        string        // that a PUT asks to store
	patience     time.Duration // 0: requestTimeout
}

// Get asks a node for a page. Every request is journalled, whatever comes of it.
func (w *World) Get(ctx context.Context, node, path string) (Answer, error) {
	return w.request(ctx, node, call{method: http.MethodGet, path: path})
}

// Post sends a node a form.
func (w *World) Post(ctx context.Context, node, path string, form url.Values) (Answer, error) {
	return w.request(ctx, node, call{
		method: http.MethodPost, path: path, form: form.Encode(),
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
}

// ReadAside asks a node for an object under a read lease, and PutAside to commit one locally, both
// by name and with a capability. Nobody waits for the answer, which is journalled like any other.
func (w *World) ReadAside(node, object, token string) {
	w.aside(node, call{method: http.MethodGet, path: objectPath(object),
		header: http.Header{"Authorization": {"Holdfast " + token}, "Class": {"lease"}}})
}

// PutAside is described at ReadAside.
func (w *World) PutAside(node, object, token, value string) {
	w.aside(node, put(object, token, value))
}

// Recall has a node read an object at its home.
func (w *World) Recall(ctx context.Context, node, object, token string) error {
	_, err := w.request(ctx, node, get(object, token))
	return err
}

// RecallCopy has a node read its own copy of an object, and returns the age that it tells.
func (w *World) RecallCopy(
	ctx context.Context, node, object, token string,
) (age time.Duration, err error) {
	c := get(object, token)
	c.header.Set(classKey, wire.StaleOK.String())
	answer, err := w.request(ctx, node, c)
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseUint(answer.Header["age-ms"], 10, 32)
	return time.Duration(ms) * time.Millisecond, err
}

// put is a request to commit an object locally.
func put(object, token, value string) call {
	return call{method: http.MethodPut, path: objectPath(object),
		header: http.Header{"Authorization": {"Holdfast " + token},
			durabilityKey: {wire.Local.String()}},
		value: value}
}

// within is the call for which the node has a time, and not much more.
func (c call) within(d time.Duration) call {
	c.header = c.header.Clone()
	c.header.Set("Within", strconv.FormatInt(d.Milliseconds(), 10))
	c.patience = d + laneSlack
	return c
}

// Headers of a request.
const (
	requestKey    = "Holdfast-Request"
	firstEpochKey = "Holdfast-First-Epoch"
	durabilityKey = "Durability"
	classKey      = "Class"
)

// get is a request to read an object at its home, under the write lease.
func get(object, token string) call {
	return call{method: http.MethodGet, path: objectPath(object),
		header: http.Header{"Authorization": {"Holdfast " + token},
			classKey: {wire.Authoritative.String()}}}
}

func objectPath(name string) string { return "/objects/" + url.PathEscape(name) }

func (w *World) aside(node string, c call) {
	w.callers.Go(func() { w.request(w.ctx, node, c) })
}

// request returns a *Refusal for every answer but a whole one with status 200.
func (w *World) request(ctx context.Context, node string, c call) (Answer, error) {
	m := w.machine(node)
	h := &journal.HTTP{Method: c.method, Path: c.path, Value: c.value, Sent: w.Journal.Now(),
		Request: c.header.Get(requestKey), Durability: c.header.Get(durabilityKey),
		Class: c.header.Get(classKey)}
	boot := max(1, int(m.boots.Load()))
	waiting, cancel := m.during(ctx, w.Patience(cmp.Or(c.patience, requestTimeout)))
	answer, err := w.exchange(waiting, m, c)
	cancel()
	if err != nil {
		h.Error = err.Error()
	}
	h.Status, h.Body, h.Header = answer.Status, answer.Body, answer.Header
	w.Journal.Add(time.Now(), journal.Record{
		Kind: journal.KindHTTP, Node: node, Boot: boot, HTTP: h,
	})
	switch {
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case err != nil:
		return answer, &Refusal{fmt.Sprintf("%s did not answer %s %s: %v",
			node, c.method, c.path, err)}
	case answer.Status != http.StatusOK:
		return answer, &Refusal{fmt.Sprintf("%s answered %s %s with %d %s",
			node, c.method, c.path, answer.Status, strings.TrimSpace(answer.Body))}
	}
	return answer, nil
}

// exchange sends a request and reads its answer.
func (w *World) exchange(ctx context.Context, m *machine, c call) (Answer, error) {
	address := "http://" + m.node.Address.Addr().String() + c.path
	request, err := http.NewRequestWithContext(ctx, c.method, address,
		strings.NewReader(c.value+c.form))
	if err != nil {
		return Answer{}, err
	}
	if c.header != nil {
		request.Header = c.header
	}
	response, err := w.client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the method and URL, which stand beside it
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, bodyMax+1))
	if err == nil && len(text) > bodyMax {
		text, err = text[:bodyMax], fmt.Errorf("longer than %d bytes", bodyMax)
	}
	answer := Answer{
		Status: response.StatusCode, Body: string(text), Header: known(response.Header),
	}
	for line := range strings.Lines(answer.Body) {
		line = strings.TrimSuffix(line, "\n")
		l, parseErr := evidence.Parse(line)
		if parseErr != nil {
			l, parseErr = evidence.ParseStatus(line)
		}
		if parseErr == nil {
			answer.Lines = append(answer.Lines, l)
		}
	}
	return answer, err
}

// headerPrefix begins the headers in which a node says what it knows of an object.
const headerPrefix = "Holdfast-"

// known is what a journal keeps of an answer's headers; nil for none.
func known(header http.Header) map[string]string {
	var kept map[string]string
	for key, values := range header {
		name, ours := strings.CutPrefix(key, headerPrefix)
		if !ours {
			continue
		}
		if kept == nil {
			kept = make(map[string]string)
		}
		kept[strings.ToLower(name)] = values[0]
	}
	return kept
}

// Poll asks a node for a page again and again until an answer satisfies want or ctx ends, whether
// the node is silent, refuses or answers otherwise.
func (w *World) Poll(
	ctx context.Context, node, path string, every time.Duration, want func(Answer) bool,
) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		answer, err := w.Get(ctx, node, path)
		if err == nil && want(answer) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
