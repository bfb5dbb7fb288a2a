// Guest proves the real-time clock's driver on the machine itself: it reads the time that the test
// beside it gave the chip, sets it, watches it carry, and switches the board off. Every line it
// prints is a fact that the test looks for; a check that fails is a panic.
//
// With the argument -tick it prints both clocks at every second of the chip instead, for as long as
// it lives.
package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"holdfast/board"
	"holdfast/board/ds1338"
	"holdfast/board/i2c"
	_ "holdfast/kernel" // links the kernel into this program
)

func main() {
	start := time.Now()
	bus := i2c.New(board.I2C1, func() time.Duration { return time.Since(start) })
	bus.Init()
	clock, err := ds1338.Open(bus, board.RTCAddress)
	if err != nil {
		fmt.Println("no clock:", err)
		return
	}
	fmt.Println("time:", text(read(clock)))
	if slices.Contains(os.Args, "-tick") {
		tick(clock, start)
	}

	last := time.Date(2031, time.December, 31, 23, 59, 59, 0, time.UTC)
	check(clock.SetTime(last))
	fmt.Println("carried:", text(next(clock, last)))

	check(bus.Tx(board.RTCAddress, []byte{2, 0x72}, nil)) // 12 p.m., in 12 hours
	clock, err = ds1338.Open(bus, board.RTCAddress)
	check(err)
	hour := make([]byte, 1)
	check(bus.Tx(board.RTCAddress, []byte{2}, hour))
	fmt.Printf("noon: %#02x\n", hour[0])

	const reads = 100
	before := time.Now()
	for range reads {
		read(clock)
	}
	fmt.Println("figure: a reading takes", time.Since(before)/reads)
}

// tick does not return.
func tick(clock *ds1338.Device, start time.Time) {
	for at := read(clock); ; {
		at = next(clock, at)
		fmt.Println("second:", at.Unix(), "counter_ms:", time.Since(start).Milliseconds())
	}
}

// next is the clock's first reading that is not t.
func next(clock *ds1338.Device, t time.Time) time.Time {
	for {
		if now := read(clock); !now.Equal(t) {
			return now
		}
	}
}

func read(clock *ds1338.Device) time.Time {
	t, err := clock.Time()
	check(err)
	return t
}

func text(t time.Time) string { return t.Format(time.RFC3339) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
