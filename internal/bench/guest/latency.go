package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"holdfast/board"
	"holdfast/board/mmio"
)

// GPT1 as a source of interrupts: it counts the peripheral clock, 49.5 MHz in QEMU, and raises its
// interrupt when the count reaches a compare value (IMX6ULRM chapter 30).
const (
	gptCR  = board.GPT1 + 0x00
	gptSR  = board.GPT1 + 0x08
	gptIR  = board.GPT1 + 0x0c
	gptOCR = board.GPT1 + 0x10
	gptCNT = board.GPT1 + 0x24

	gptReset      = 1 << 15
	gptFreeRun    = 1 << 9
	gptPeripheral = 1 << 6
	gptEnable     = 1 << 0
	gptCompare    = 1 << 0 // in SR and in IR
	gptHz         = 49.5e6

	// interruptRounds are so many that the 99th percentile has tens of rounds behind it.
	interruptRounds = 1000
	gptAheadMin     = 5_000   // ticks, 0.1 ms: the goroutine has long gone back to sleep
	gptAheadSpan    = 150_000 // ticks, 3 ms: more than a quantum of the kernel
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
	at := func(permille int) float64 { return float64(late[len(late)*permille/1000]) / gptHz * 1e6 }
	fmt.Fprintf(w, "median=%.3f p99=%.3f worst=%.3f\n",
		at(500), at(990), float64(late[len(late)-1])/gptHz*1e6)
}

// interrupts sets GPT1 off again and again, at no regular distance, and returns by how many of its
// ticks each reader came late.
func interrupts() ([]uint32, error) {
	mmio.W32(gptCR, gptReset)
	for mmio.R32(gptCR)&gptReset != 0 {
	}
	mmio.W32(gptCR, gptFreeRun|gptPeripheral|gptEnable)
	f, err := os.OpenFile("/dev/irq/"+strconv.Itoa(board.IRQGPT1), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var count [8]byte
	late := make([]uint32, 0, interruptRounds)
	for ahead := uint32(0); len(late) < interruptRounds; {
		ahead = ahead*1664525 + 1013904223 // a linear congruential generator's next
		time.Sleep(time.Millisecond)
		mmio.W32(gptSR, gptCompare)
		at := mmio.R32(gptCNT) + gptAheadMin + ahead>>8%gptAheadSpan
		mmio.W32(gptOCR, at)
		mmio.W32(gptIR, gptCompare)
		if _, err := f.Read(count[:]); err != nil {
			return nil, err
		}
		late = append(late, mmio.R32(gptCNT)-at)
		mmio.W32(gptIR, 0)
	}
	return late, nil
}
