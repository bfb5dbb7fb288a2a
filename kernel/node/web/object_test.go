package web

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"holdfast/mesh"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/refusal"
	"holdfast/mesh/wire"
)

// token is in the form of a capability, which is all that this package looks at.
var token = [capability.Size]byte{0: 1, 64: 2, 128: 3}

const (
	clientText  = "00112233445566778899aabbccddeeff"
	requestText = clientText + "/0000000000000001/7"
)

var authorization = "Authorization: Holdfast " + capability.Text(token)

// ask is a request for an object with its capability and more headers.
func ask(line, body string, headers ...string) string {
	return request(line, body, append([]string{authorization}, headers...)...)
}

// objects is a site that keeps what it is asked for.
func objects(asked *[]mesh.Request) Site {
	s := text()
	s.Object = func(_ context.Context, q mesh.Request) Answer {
		*asked = append(*asked, q)
		return Page("done\n")
	}
	return s
}

func TestARequestForAnObjectIsHandedOnWhole(t *testing.T) {
	read := mesh.Request{Name: "a", Op: wire.Stat, Class: wire.Authoritative,
		IfVersion: wire.AnyVersion, Capability: token}
	write := mesh.Request{Name: "a", Op: wire.Commit, Class: wire.Authoritative,
		Durability: wire.Replicated, IfVersion: wire.AnyVersion, Value: []byte{}, Capability: token}
	with := func(q mesh.Request, change func(q *mesh.Request)) mesh.Request {
		change(&q)
		return q
	}
	name := strings.Repeat("n", nameMax)
	whole := strings.Repeat("v", BodyMax)
	identity, err := wire.ParseRequest(requestText)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		request string
		want    mesh.Request
	}{
		{ask("GET /objects/a", ""), read},
		{ask("HEAD /objects/a", ""), read},
		{ask("GET /objects/"+name, ""), with(read, func(q *mesh.Request) { q.Name = name })},
		{ask("GET /objects/0.b_C-9", ""), with(read, func(q *mesh.Request) { q.Name = "0.b_C-9" })},
		{ask("GET /objects/%61", ""), read},
		{ask("GET /objects/a", "", "Class: lease"),
			with(read, func(q *mesh.Request) { q.Class = wire.Lease })},
		{ask("GET /objects/a", "", "Class: authoritative"), read},
		{ask("GET /objects/a", "", "class:  stale-ok "),
			with(read, func(q *mesh.Request) { q.Class = wire.StaleOK })},
		{ask("GET /objects/a", "", "Holdfast-Request: "+requestText),
			with(read, func(q *mesh.Request) { q.Identity = identity })},
		{request("GET /objects/a", "", "Authorization: holdfast "+capability.Text(token)), read},
		{ask("PUT /objects/a", "", "Content-Length: 0"), write},
		{ask("PUT /objects/a", ""), write},
		{ask("PUT /objects/a", whole),
			with(write, func(q *mesh.Request) { q.Value = []byte(whole) })},
		{ask("PUT /objects/a", "\x00\r\n", "If-Version: 0", "Durability: local"),
			with(write, func(q *mesh.Request) {
				q.Value, q.IfVersion, q.Durability = []byte("\x00\r\n"), 0, wire.Local
			})},
		{ask("PUT /objects/a", "v", "If-Version: 18446744073709551614", "Durability: replicated",
			"Copies: 5", "Within: 15000", "Holdfast-Request: "+requestText, "Holdfast-First-Epoch: 3"),
			with(write, func(q *mesh.Request) {
				q.Value, q.IfVersion, q.Copies, q.Within = []byte("v"), wire.AnyVersion-1, 5, 15_000
				q.Identity, q.FirstEpoch = identity, 3
			})},
	}
	var asked []mesh.Request
	inWorld(t, objects(&asked), func(t *testing.T, w *world) {
		for _, test := range tests {
			asked = nil
			if status, body, _ := w.send(test.request); status != http.StatusOK {
				t.Errorf("%.60q: %d %q", test.request, status, body)
				continue
			}
			if diff := cmp.Diff([]mesh.Request{test.want}, asked); diff != "" {
				t.Errorf("%.60q:\n%s", test.request, diff)
			}
		}
	})
}

const badName = "malformed: an object's name is 1 to 64 of"

// badRequests is what is wrong with a request that nobody needs a mesh to refuse.
var badRequests = []struct {
	request string
	status  int
	says    string
}{
	{ask("POST /objects/a", "v"), 405, "wrong method: this page takes GET, HEAD, PUT"},
	{ask("DELETE /objects/a", ""), 405, "wrong method"},
	{ask("GET /objects/", ""), 400, badName},
	{ask("GET /objects/"+strings.Repeat("n", nameMax+1), ""), 400, badName},
	{ask("GET /objects/a/b", ""), 400, badName},
	{ask("GET /objects/a%2fb", ""), 400, badName},
	{ask("GET /objects/a%20b", ""), 400, badName},
	{ask("GET /objects/%c3%a9", ""), 400, badName},
	{ask("GET /objects/.a", ""), 400, badName},
	{ask("GET /objects/-a", ""), 400, badName},
	{ask("GET /objects/a%00", ""), 400, badName},
	{ask("PUT /objects/..", "v"), 400, badName},
	{ask("GET /objects/a?x", ""), 400, "malformed: this page takes no query"},
	{ask("GET /objects/a", "v"), 400, "malformed: a GET has no body"},
	{ask("GET /objects/a", "", "Class: Lease"), 400,
		"malformed: Class is lease, authoritative or stale-ok"},
	{ask("GET /objects/a", "", "Class: none"), 400, "malformed: Class is"},
	{ask("GET /objects/a", "", "Class:"), 400, "malformed: Class is"},
	{ask("GET /objects/a", "", "Class: lease", "Class: lease"), 400,
		"malformed: Class is there twice"},
	{ask("PUT /objects/a", "v", "Class: lease"), 400, "malformed: Class is for GET"},
	{ask("PUT /objects/a", "v", "Durability: none"), 400,
		"malformed: Durability is local or replicated"},
	{ask("GET /objects/a", "", "Durability: local"), 400, "malformed: Durability is for PUT"},
	{ask("PUT /objects/a", "v", "Copies: 6"), 400, "malformed: Copies is 1 to 5"},
	{ask("PUT /objects/a", "v", "Copies: 0"), 400, "malformed: Copies is 1 to 5"},
	{ask("PUT /objects/a", "v", "Copies: 01"), 400, "malformed: Copies is 1 to 5"},
	{ask("GET /objects/a", "", "Copies: 2"), 400, "malformed: Copies is for PUT"},
	{ask("PUT /objects/a", "v", "Within: 15001"), 400,
		"malformed: Within is a number of milliseconds, 1 to 15000"},
	{ask("GET /objects/a", "", "Within: soon"), 400,
		"malformed: Within is a number of milliseconds, 1 to 15000"},
	{ask("GET /objects/a", "", "If-Version: 1"), 400, "malformed: If-Version is for PUT"},
	{ask("PUT /objects/a", "v", "If-Version: 01"), 400, "malformed: If-Version is a decimal"},
	{ask("PUT /objects/a", "v", "If-Version: -1"), 400, "malformed: If-Version is a decimal"},
	{ask("PUT /objects/a", "v", "If-Version: any"), 400, "malformed: If-Version is a decimal"},
	// The number that means any version on the wire is none here.
	{ask("PUT /objects/a", "v", "If-Version: 18446744073709551615"), 400,
		"malformed: If-Version is a decimal"},
	{ask("PUT /objects/a", "v", "If-Version: 18446744073709551616"), 400,
		"malformed: If-Version is a decimal"},
	{ask("PUT /objects/a", "v", "Holdfast-Request: 1"), 400,
		"malformed: Holdfast-Request is <client 32 hex>/<boot 16 hex>/<seq>"},
	{ask("PUT /objects/a", "v", "Holdfast-Request: "+clientText+"/0000000000000001/0"), 400,
		"malformed: Holdfast-Request is"},
	{ask("PUT /objects/a", "v", "Holdfast-First-Epoch: 3"), 400,
		"malformed: Holdfast-First-Epoch goes with Holdfast-Request"},
	{ask("PUT /objects/a", "v", "Holdfast-Request: "+requestText, "Holdfast-First-Epoch: 0"),
		400, "malformed: Holdfast-First-Epoch is a decimal number from 1"},
	{ask("PUT /objects/a", strings.Repeat("v", BodyMax+1)), 413, "too-large: a body has at most"},
	{ask("PUT /objects/a", "", "Transfer-Encoding: chunked") + "401\r\n" +
		strings.Repeat("v", BodyMax+1) + "\r\n0\r\n\r\n", 413, "too-large: a body has at most"},
	{ask("PUT /objects/a", "", "Transfer-Encoding: chunked") + "zz\r\n", 400,
		"malformed: the body broke off"},
	{request("GET /objects/a", ""), 401, "bad-capability: there is none, want Authorization: "},
	{request("GET /objects/a", "", authorization, authorization), 401,
		"bad-capability: there are two"},
	{request("GET /objects/a", "", "Authorization: Basic "+capability.Text(token)), 401,
		"bad-capability: the scheme of Authorization is Holdfast"},
	{request("GET /objects/a", "", "Authorization: Holdfast"), 401,
		"bad-capability: it has 0 characters, a capability has 172"},
	{request("GET /objects/a", "", authorization+"A"), 401,
		"bad-capability: it has 173 characters, a capability has 172"},
	{request("GET /objects/a", "", "Authorization: Holdfast "+capability.Text(token)[1:]), 401,
		"bad-capability: it has 171 characters"},
	{request("PUT /objects/a", "v", "Authorization: Holdfast "+capability.Text(token)[1:]+"="), 401,
		"bad-capability: it is not base64url without padding"},
}

func TestABadRequestForAnObjectIsRefusedWithItsReason(t *testing.T) {
	var asked []mesh.Request
	inWorld(t, objects(&asked), func(t *testing.T, w *world) {
		for _, test := range badRequests {
			status, body, header := w.send(test.request)
			if status != test.status || !strings.HasPrefix(body, test.says) {
				t.Errorf("%.60q: %d %q, want %d %q", test.request, status, body, test.status, test.says)
			}
			if strings.Index(body, "\n") != len(body)-1 {
				t.Errorf("%.60q: %q is not one line", test.request, body)
			}
			if (header.Get("WWW-Authenticate") == "Holdfast") != (status == 401) {
				t.Errorf("%.60q: %d with %v", test.request, status, header)
			}
		}
		if len(asked) != 0 {
			t.Errorf("the mesh was asked: %+v", asked)
		}
	})
}

func TestANodeWithoutAMeshSaysSoForAllThatNeedsOne(t *testing.T) {
	site := Site{
		Mesh:   func(context.Context) Answer { return Page("mesh\n") },
		NoMesh: func() Answer { return Word(refusal.Disabled, "no mesh") },
	}
	inWorld(t, site, func(t *testing.T, w *world) {
		if status, body, _ := w.send(request("GET /mesh", "")); status != 200 || body != "mesh\n" {
			t.Errorf("GET /mesh: %d %q", status, body)
		}
		for _, r := range []string{
			request("GET /mesh/homes", ""), request("GET /mesh/route", ""),
			request("POST /mesh/step/1", "cap="),
			// Without a mesh there are no capabilities either.
			request("GET /objects/a", ""), request("PUT /objects/a", "v"),
		} {
			if status, body, _ := w.send(r); status != 503 || body != "disabled: no mesh\n" {
				t.Errorf("%.30q: %d %q", r, status, body)
			}
		}
	})
}

func TestASlowBodyLeavesTheWholeTimeForTheAnswer(t *testing.T) {
	site := text()
	site.Object = func(ctx context.Context, q mesh.Request) Answer {
		<-time.After(AnswerTime)
		return Page(string(q.Value))
	}
	inWorld(t, site, func(t *testing.T, w *world) {
		c := w.dial()
		began := time.Now()
		whole := ask("PUT /objects/a", "value")
		io.WriteString(c, whole[:len(whole)-1])
		<-time.After(readTime - time.Millisecond)
		io.WriteString(c, whole[len(whole)-1:])
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "value" {
			t.Errorf("%q, %v", b, err)
		}
		if took := time.Since(began); took > RequestTime {
			t.Errorf("a request took %v", took)
		}
	})
}

func TestEveryWordHasASentenceAndItsStatus(t *testing.T) {
	want := map[refusal.Word]int{
		refusal.Malformed: 400, refusal.BadCapability: 401, refusal.NoObject: 404,
		refusal.VersionConflict: 409, refusal.TooLarge: 413, refusal.NotHome: 421,
		refusal.UnknownOutcome: 504,
	}
	for _, w := range refusal.All() {
		a := Word(w, "")
		status := want[w]
		if status == 0 {
			status = 503
		}
		if a.Status != status || a.Body != w.String()+": "+sentences[w]+"\n" || sentences[w] == "" {
			t.Errorf("%d %q, want %d", a.Status, a.Body, status)
		}
	}
}

// answered is what the mesh answers with this reply.
func answered(rep wire.RouteRep) mesh.Answer {
	row := evidence.New("mesh-route", "result").Word("status", rep.Word).Epoch("epoch", 4).At(9)
	return mesh.Answer{Lines: []evidence.Line{row}, Reply: rep}
}

func TestAnAnswerTellsWhatIsKnown(t *testing.T) {
	identity, _ := wire.ParseRequest(requestText)
	home := id.Node{15: 9}
	ok := wire.RouteRep{Request: identity, Home: home, HomeEpoch: 3, Version: 12,
		Class: wire.Lease, Durability: wire.Local, Copies: 1}
	stat, conflict, lost := ok, ok, ok
	stat.Durability, stat.Copies, stat.Value = wire.None, 0, []byte("\x00value\n")
	conflict.Word, lost.Word = refusal.VersionConflict, refusal.UnknownOutcome
	lost.Home, lost.HomeEpoch, lost.Version = id.Node{}, 0, 0
	unbegun := answered(wire.RouteRep{Request: identity, Word: refusal.Full})
	unbegun.Lines = nil
	known := []string{"Home: " + home.String(), "Home-Epoch: 3", "Epoch: 4", "Request: " + requestText}
	tests := []struct {
		name   string
		op     wire.Op
		answer mesh.Answer
		status int
		body   string
		header []string
	}{
		{"a read", wire.Stat, answered(stat), 200, "\x00value\n",
			append(known, "Version: 12", "Class: lease", "Durability: none", "Copies: 0")},
		{"a commit", wire.Commit, answered(ok), 200, "mesh-route: result status=ok epoch=4 at=9\n",
			append(known, "Version: 12", "Durability: local", "Copies: 1")},
		{"a version in the way", wire.Commit, answered(conflict), 409,
			"version-conflict: the object has another version\n", append(known, "Version: 12")},
		{"an unknown outcome", wire.Commit, answered(lost), 504,
			"unknown-outcome: it may have been done, or not; a GET will tell\n", known[2:]},
		{"a request that was not begun", wire.Commit, unbegun, 503,
			"full: too much is under way, or too many objects are there\n", known[3:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := Result(test.op, test.answer)
			want := make(http.Header)
			for _, h := range test.header {
				key, value, _ := strings.Cut(h, ": ")
				want.Set("Holdfast-"+key, value)
			}
			if test.op == wire.Stat {
				want.Set("Content-Type", "application/octet-stream")
			}
			if diff := cmp.Diff(Answer{test.status, test.body, want}, a); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARefusalOfTheCapabilityChallenges(t *testing.T) {
	a := Result(wire.Stat, answered(wire.RouteRep{Word: refusal.BadCapability}))
	if a.Status != 401 || a.Header.Get("WWW-Authenticate") != "Holdfast" ||
		a.Header.Get("Holdfast-Epoch") != "4" {
		t.Errorf("%+v", a)
	}
	if len(challenge) != 1 {
		t.Errorf("an answer has changed what all of them share: %v", challenge)
	}
}

// FuzzAnyRequest hands the handler whatever package http makes a request of. A panic ends the
// program there.
func FuzzAnyRequest(f *testing.F) {
	for _, s := range []string{
		request("GET /", ""), request("HEAD /mesh", ""), request("GET /mesh/log?after=1", ""),
		request("POST /mesh/step/1", "cap="+capability.Text(token)), request("OPTIONS *", ""),
		ask("GET /objects/a", "", "Class: lease"), "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
		ask("PUT /objects/a%2e", "value", "If-Version: 1", "Holdfast-Request: "+requestText),
		ask("PUT /objects/a", "", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	var asked []mesh.Request
	h := handler{objects(&asked)}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		asked = nil
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(context.WithValue(t.Context(), guestKey{}, new(room).take(""))))
		body := w.Body.String()
		word, sentence, ok := strings.Cut(strings.TrimSuffix(body, "\n"), ": ")
		if w.Code != 200 && (!ok || word == "" || sentence == "" || strings.Contains(sentence, "\n")) {
			t.Errorf("%d with %q", w.Code, body)
		}
		for _, q := range asked {
			name := id.ObjectOf(q.Name)
			m := wire.RouteReq{Request: q.Identity, FirstEpoch: max(q.FirstEpoch, 1), Object: name,
				Op: q.Op, Class: q.Class, Durability: q.Durability, IfVersion: q.IfVersion,
				Within: 1, Value: q.Value, Capability: q.Capability}
			m.Request.Seq = max(m.Request.Seq, 1)
			if !wire.Valid(&m) || !validName(q.Name) {
				t.Errorf("the mesh was asked for what nobody may ask: %s", fmt.Sprintf("%+v", q))
			}
		}
	})
}
