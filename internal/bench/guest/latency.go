package main

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"holdfast/internal/guest/gpt"
)

const (
	// interruptRounds are so many that the 99th percentile has tens of rounds behind it.
	interruptRounds = 1000
	aheadMin        = 5_000   // ticks, 0.1 ms: the goroutine has long gone back to sleep
	aheadSpan       = 150_000 // ticks, 3 ms: more than a quantum of the kernel
)

// busy starts a goroutine that never calls anything and never ends.
func busy(w http.ResponseWriter, _ *http.Request) {
	go func() {
		for spins := 0; ; spins++ {
		}
	}()
	fmt.Fprintln(w, "busy")
}

// latency measures how long it takes from an interrupt to the goroutine that reads it.
func latency(w http.ResponseWriter, _ *http.Request) {
	late, err := interrupts()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	slices.Sort(late)
	at := func(permille int) float64 { return float64(late[len(late)*permille/1000]) / gpt.Hz * 1e6 }
	fmt.Fprintf(w, "median=%.3f p99=%.3f worst=%.3f\n",
		at(500), at(990), float64(late[len(late)-1])/gpt.Hz*1e6)
}

// interrupts sets GPT1 off again and again, at no regular distance, and returns by how many of its
// ticks each reader came late.
func interrupts() ([]uint32, error) {
	gpt.Start(1)
	f, err := gpt.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var count [8]byte
	late := make([]uint32, 0, interruptRounds)
	for ahead := uint32(0); len(late) < interruptRounds; {
		ahead = ahead*1664525 + 1013904223 // a linear congruential generator's next
		time.Sleep(time.Millisecond)
		at := gpt.Count() + aheadMin + ahead>>8%aheadSpan
		gpt.Set(at)
		if _, err := f.Read(count[:]); err != nil {
			return nil, err
		}
		late = append(late, gpt.Count()-at)
		gpt.Take()
	}
	return late, nil
}
