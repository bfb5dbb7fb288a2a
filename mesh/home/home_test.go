package home

import (
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/mesh/id"
)

func TestScoresAndHomesMatchAnIndependentImplementation(t *testing.T) {
	file, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var scores, homes int
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		o, _ := id.ParseObject(f[1])
		nodes := make([]id.Node, len(f)-2)
		for i := range nodes {
			nodes[i], _ = id.ParseNode(f[2+i])
		}
		switch f[0] {
		case "score":
			scores++
			s := ScoreOf(o, nodes[0])
			if got := hex.EncodeToString(s[:]); got != f[3] {
				t.Errorf("score %s, want %s", got, f[3])
			}
		case "home":
			homes++
			if got := Of(o, nodes[1:]); got != nodes[0] {
				t.Errorf("home of %v among %d: %v, want %v", o, len(nodes)-1, got, nodes[0])
			}
		}
	}
	if scores == 0 || homes == 0 {
		t.Errorf("%d scores and %d homes in the vectors", scores, homes)
	}
}

// members draws two to eight nodes in any order.
func members(t *rapid.T) []id.Node {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) id.Node {
		return id.Node(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "node"))
	}), 2, 8, rapid.ID[id.Node]).Draw(t, "members")
}

func object(i int) id.Object { return id.ObjectOf("object-" + strconv.Itoa(i)) }

func TestTheOrderOfTheMembersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := members(t)
		shuffled := rapid.Permutation(ms).Draw(t, "shuffled")
		for i := range 8 {
			if a, b := Of(object(i), ms), Of(object(i), shuffled); a != b {
				t.Fatalf("home %v, shuffled %v", a, b)
			}
		}
	})
}

func TestAMembershipChangeMovesOnlyTheObjectsOfWhoeverLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := members(t)
		gone := rapid.SampledFrom(ms).Draw(t, "gone")
		rest := slices.DeleteFunc(slices.Clone(ms), func(n id.Node) bool { return n == gone })
		for i := range 8 {
			before, after := Of(object(i), ms), Of(object(i), rest)
			if before != gone && after != before {
				t.Fatalf("an object of %v moved to %v when %v left", before, after, gone)
			}
			if after == gone {
				t.Fatalf("the home left the view")
			}
		}
	})
}

// The hash is fixed, so the shares are too: a binomial share of 1000 objects among 5 is 200 with a
// standard deviation of 12.6, and four of them are a bound that only a broken score misses.
func TestHomesAreRoughlyBalanced(t *testing.T) {
	const objects, nodes, deviation = 1000, 5, 13
	var ms []id.Node
	for i := range nodes {
		ms = append(ms, id.NodeOf([]byte{byte(i)}))
	}
	shares := map[id.Node]int{}
	for i := range objects {
		shares[Of(object(i), ms)]++
	}
	for _, n := range ms {
		if d := shares[n] - objects/nodes; d > 4*deviation || d < -4*deviation {
			t.Errorf("%v is home of %d of %d objects", n, shares[n], objects)
		}
	}
}

func TestAnEmptyViewHasNoHomes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Of(id.Object{}, nil)
}
