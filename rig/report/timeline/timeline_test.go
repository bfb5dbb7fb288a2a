package timeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
)

var update = flag.Bool("update", false, "rewrite the files in testdata; review the difference")

// stored reads a run that is kept for tests.
func stored(t *testing.T, name string) *judge.Run {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "scenario", "testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := journal.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	run, err := judge.New(records)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// dump writes a timeline for people.
func dump(t *Timeline) string {
	var b strings.Builder
	list := func(name string, bands []Band) {
		for _, x := range bands {
			fmt.Fprintf(&b, "%-10s %9s to %9s  %-8s %s (%d)\n",
				name, x.From, x.To, x.Kind, x.Text, x.N)
		}
	}
	list("fault", t.Faults)
	list("step", t.Steps)
	for _, n := range t.Nodes {
		list(n.Name+" is", n.Machine)
		list(n.Name+" view", n.Views)
		list(n.Name+" write", n.Write)
		list(n.Name+" sees", n.Peers)
		counts := make(map[string]int)
		for _, a := range n.Answers {
			counts[string(a.Class)]++
		}
		fmt.Fprintf(&b, "%s answers  %v\n", n.Name, counts)
	}
	counts := make(map[string]int)
	for _, f := range t.Frames {
		counts[fmt.Sprintf("%s to %s %s", f.From, f.To, f.Fate)]++
		if f.Sent != f.At {
			fmt.Fprintf(&b, "%s to %s: kept from %s to %s\n", f.From, f.To, f.Sent, f.At)
		}
	}
	fmt.Fprintf(&b, "frames  %v\n", counts)
	return b.String()
}

func TestStoredRunsHaveTheirTimeline(t *testing.T) {
	for _, name := range []string{"kill-peer", "partition", "no-peer", "restart"} {
		t.Run(name, func(t *testing.T) {
			got := dump(Of(stored(t, name)))
			path := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
