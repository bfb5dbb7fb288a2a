package search

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTheWayToTwoHomes keeps the shortest conversation that leads to two homes by the lease of the
// ADR, and one without a second clock. A search has to find the very same, and carried out command
// by command it has to end where the search says. `go test ./mesh/search -run TheWayToTwoHomes
// -rewrite` writes them anew.
func TestTheWayToTwoHomes(t *testing.T) {
	for path, s := range map[string]Scope{
		"testdata/adr-lease":      {Seconds: 12, Changes: 1, ADR: true},
		"testdata/frozen-counter": {Seconds: 12, Events: 1, OneClock: true},
	} {
		t.Run(path, func(t *testing.T) {
			found := s.Run(nil).Script
			if flag.Lookup("rewrite").Value.String() == "true" {
				if err := os.WriteFile(path, []byte(found), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(found) != strings.TrimSpace(string(kept)) {
				t.Errorf("the search finds another way:\n%s", found)
			}
			c := newCast(s)
			c.speaks = true
			w := c.start()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				return c.follow(t, &w, d)
			})
			if c.judge(&w) == "" {
				t.Error("it does not end with two homes")
			}
		})
	}
}

// follow carries a command out.
func (c *cast) follow(t *testing.T, w *world, d *datadriven.TestData) string {
	words, lost := []string{d.Cmd}, []int(nil)
	for _, a := range d.CmdArgs {
		if a.Key != "lost" {
			words = append(words, a.Key)
			continue
		}
		for i := range a.Vals {
			var n int
			a.Scan(t, i, &n)
			lost = append(lost, n)
		}
	}
	a, err := c.parse(w, words, lost)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	if text := c.perform(w, a); text != "" {
		return text
	}
	return "ok"
}
