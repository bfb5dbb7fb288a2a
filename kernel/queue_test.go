package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestARunQueueKeepsItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q runQueue
		var model []int
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push back": func(t *rapid.T) {
				if len(model) == threadsMax {
					t.Skip("full")
				}
				q.pushBack(next % threadsMax)
				model = append(model, next%threadsMax)
				next++
			},
			"push front": func(t *rapid.T) {
				if len(model) == threadsMax {
					t.Skip("full")
				}
				q.pushFront(next % threadsMax)
				model = append([]int{next % threadsMax}, model...)
				next++
			},
			"insert": func(t *rapid.T) {
				if len(model) == threadsMax {
					t.Skip("full")
				}
				n := rapid.IntRange(0, len(model)).Draw(t, "behind")
				q.insert(uint32(n), next%threadsMax)
				model = slices.Insert(model, n, next%threadsMax)
				next++
			},
			"pop front": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("empty")
				}
				if got := q.popFront(); got != model[0] {
					t.Fatalf("pop %d, want %d", got, model[0])
				}
				model = model[1:]
			},
			"": func(t *rapid.T) {
				if int(q.count) != len(model) {
					t.Fatalf("count %d, want %d", q.count, len(model))
				}
			},
		})
	})
}

func TestARunQueueRefusesWhatCanNotBe(t *testing.T) {
	full := runQueue{count: threadsMax}
	for name, f := range map[string]func(){
		"push back onto a full one":  func() { full.pushBack(1) },
		"push front onto a full one": func() { full.pushFront(1) },
		"pop from an empty one":      func() { new(runQueue).popFront() },
		"insert into a full one":     func() { full.insert(1, 1) },
		"insert behind what is not":  func() { new(runQueue).insert(1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			f()
		})
	}
}
