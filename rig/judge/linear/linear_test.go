package linear

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/rig/journal"
)

// A conversation is written as one line a request: "sent answered op value epoch version [r|.
// [name]]"; op is w, a commit, r, a read, u, a commit without an answer, or x, one that was
// refused. All are of one object.
func conversation(t *testing.T, text string) []journal.Record {
	t.Helper()
	records := []journal.Record{{N: 1, Kind: journal.KindRun, Run: &journal.Run{}}}
	for line := range strings.Lines(strings.TrimSpace(text)) {
		var sent, at journal.Time
		var op, value, epoch, version, kept, name string
		n, _ := fmt.Sscan(line, &sent, &at, &op, &value, &epoch, &version, &kept, &name)
		if n < 6 {
			t.Fatalf("no request: %q", line)
		}
		h := &journal.HTTP{Method: "PUT", Path: "/objects/lab-0", Sent: sent, Status: 200, Value: value,
			Request: name,
			Header:  map[string]string{"home-epoch": epoch, "version": version, "durability": "local"}}
		switch op {
		case "r":
			h.Method, h.Body, h.Value = "GET", value, ""
			h.Header["class"] = "authoritative"
		case "u":
			h.Status, h.Error, h.Header = 0, "no answer", nil
		case "x":
			h.Status, h.Body = 503, "not-current: the lease is over\n"
		}
		if kept == "r" {
			h.Header["durability"] = "replicated"
		}
		records = append(records, journal.Record{N: len(records) + 1, At: at, Kind: journal.KindHTTP,
			Node: "n0", Boot: 1, HTTP: h})
	}
	return records
}

// histories are requests, and whether one register can have served them.
var histories = map[string]struct {
	text string
	want Outcome
}{
	"nothing": {"1 2 x a 1 0", Unknown},
	"one after the other": {`
			1 2 w a 2 1
			3 4 r a 2 1
			5 6 w b 2 2
			7 8 r b 2 2`, Linearizable},
	"concurrent reads see either": {`
			1 9 w a 2 1
			2 3 r a 2 1
			4 5 r a 2 1`, Linearizable},
	"a stale read": {`
			1 2 w a 2 1
			3 4 w b 2 2
			5 6 r a 2 1`, Broken},
	"a read back in time beside a commit": {`
			1 2 w a 2 1
			3 9 w b 2 2
			4 5 r b 2 2
			6 7 r a 2 1`, Broken},
	"one version twice": {`
			1 2 w a 2 1
			3 4 w b 2 1`, Broken},
	"another value under the version": {`
			1 2 w a 2 1
			3 4 r b 2 1`, Broken},
	"gaps in versions": {`
			1 2 w a 2 1
			3 4 w b 2 7
			5 6 r b 2 7`, Linearizable},
	"a read of what nobody wrote": {"1 2 r a 2 1", Broken},
	"no answer, and it was made": {`
			1 5 u a 0 0
			6 7 r a 2 1
			8 9 w b 2 2`, Linearizable},
	"no answer, and made much later": {`
			1 2 u a 0 0
			3 4 w b 2 1
			5 6 r b 2 1
			7 8 r a 2 2`, Linearizable},
	"no answer, and read before it was asked for": {`
			1 2 r a 2 1
			3 4 u a 0 0`, Broken},
	"no answer, made, and lost again": {`
			1 2 u a 0 0
			3 4 r a 2 1
			5 6 w b 2 2
			7 8 r a 2 1`, Broken},
	"no answer, and never made": {`
			1 2 u a 0 0
			3 4 w b 2 1
			5 6 r b 2 1`, Linearizable},
	"no answer twice with one value": {`
			1 2 u a 0 0
			3 4 u a 0 0
			5 6 r a 2 1`, Linearizable},
	"sent again, answered at the next home": {`
			1 2 w a 2 1 r
			3 4 u b 0 0 . c/1/1
			4 6 r b 2 2
			7 8 w b 3 2 r c/1/1
			9 10 r b 3 2`, Linearizable},
	"sent again, and made twice": {`
			1 2 w a 2 1 r
			3 4 u b 0 0 . c/1/1
			4 6 r b 2 2
			7 8 w b 3 3 r c/1/1
			9 10 r b 3 3`, Broken},
	"sent again, and refused then": {`
			3 4 u b 0 0 . c/1/1
			5 6 x b 0 0 . c/1/1
			7 8 r b 2 1`, Linearizable},
	"sent again, and refused both times": {`
			3 4 x b 0 0 . c/1/1
			5 6 x b 0 0 . c/1/1
			7 8 r b 2 1`, Broken},
	"refused, and made": {`
			1 2 x a 0 0
			3 4 r a 2 1`, Broken},
	"another home goes on": {`
			1 2 w a 2 1
			3 4 r a 3 1
			5 6 w b 3 2`, Linearizable},
	"another home has lost a local commit": {`
			1 2 w a 2 1
			3 4 w b 3 1
			5 6 r b 3 1`, Linearizable},
	"another home has lost a replicated commit": {`
			1 2 w a 2 1 r
			3 4 w b 3 1 r`, Broken},
	"another home reads what was replicated, and not what was local": {`
			1 2 w a 2 1 r
			3 4 w b 2 2
			5 6 r a 3 1`, Linearizable},
	"within a home epoch nothing is lost": {`
			1 2 w a 2 1 r
			3 4 w b 2 2
			5 6 r a 2 1`, Broken},
	"a replicated commit keeps the local ones before it": {`
			1 2 w a 2 1
			3 4 w b 2 2 r
			5 6 r a 3 1`, Broken},
	"the old home acts after the new one": {`
			1 2 w a 2 1
			3 4 w b 3 2
			5 6 w c 2 3`, Broken},
	"the old home acts beside the new one": {`
			1 2 w a 2 1
			3 9 w c 2 2
			4 8 w b 3 3`, Linearizable},
	"no answer, made at the next home": {`
			1 2 w a 2 5
			3 4 u b 0 0
			5 6 r b 3 1`, Linearizable},
}

func TestHistories(t *testing.T) {
	for name, c := range histories {
		t.Run(name, func(t *testing.T) {
			r := Check(conversation(t, c.text), 0)
			if r.Outcome != c.want {
				t.Errorf("outcome %d, want %d, of %d acts", r.Outcome, c.want, r.Acts)
			}
			if broken := len(r.Broken) > 0 && len(r.Records) > 0; broken != (c.want == Broken) {
				t.Errorf("broken objects %v, records %v", r.Broken, r.Records)
			}
		})
	}
}

// TestWhatARegisterDidIsLinearizable lets a real register act at drawn instants within drawn
// requests, some of them without an answer: whatever is drawn, the history is one of a register.
func TestWhatARegisterDidIsLinearizable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := []journal.Record{{N: 1, Kind: journal.KindRun, Run: &journal.Run{}}}
		version, value := 0, ""
		for i := range rapid.IntRange(1, 25).Draw(t, "acts") {
			at := journal.Time(10*i + 10) // the instant of the act
			h := &journal.HTTP{Path: "/objects/lab-0", Status: 200,
				Sent: at - journal.Time(rapid.IntRange(1, 40).Draw(t, "before"))}
			if version == 0 || rapid.Bool().Draw(t, "commit") {
				version, value = version+1, fmt.Sprint("v", i)
				h.Method, h.Value = "PUT", value
			} else {
				h.Method, h.Body = "GET", value
			}
			h.Header = map[string]string{"home-epoch": "2", "version": fmt.Sprint(version),
				"class": "authoritative", "durability": "replicated"}
			if h.Method == "PUT" && rapid.IntRange(0, 4).Draw(t, "silent") == 0 {
				h.Status, h.Error, h.Header = 0, "no answer", nil
			}
			records = append(records, journal.Record{N: len(records) + 1, Kind: journal.KindHTTP,
				Node: "n0", Boot: 1, HTTP: h,
				At: at + journal.Time(rapid.IntRange(1, 40).Draw(t, "after"))})
		}
		if r := Check(records, 0); r.Outcome == Broken {
			t.Fatalf("%v", r.Records)
		}
	})
}

func TestThePictureIsOneFileAndEscaped(t *testing.T) {
	r := Check(conversation(t, "1 2 w </script><b>x 2 1\n3 4 r y 2 1"), 0)
	var b strings.Builder
	bands := []Band{{"fault", "n1 killed </script>", 1, 3}}
	if err := r.WriteHTML(&b, bands); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, forbidden := range []string{"</script><b>", "killed </script>", "src=\"http", "href=\"http",
		"@import", "url(http"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page has %q", forbidden)
		}
	}
	if !strings.Contains(page, "lab-0 read: version 1") || !strings.Contains(page, "n1 killed") {
		t.Error("the page does not show the acts and the fault")
	}
}
