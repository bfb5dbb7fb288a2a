//go:build arm

package check

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"holdfast/internal/guest/gpt"
)

// interruptRounds are enough to see one lost.
const interruptRounds = 100

// An interrupt wakes the goroutine that reads its file, each one exactly once.
func interrupts() (string, error) {
	const ahead = 400 // ticks of about a microsecond
	gpt.Start(uint32(gpt.Hz) / 1_000_000)
	f, err := gpt.Open()
	if err != nil {
		return "", err
	}
	if _, err := gpt.Open(); !errors.Is(err, syscall.EBUSY) {
		return "", fmt.Errorf("opened twice: %v", err)
	}
	arrived := make(chan uint32)
	go func() {
		defer close(arrived)
		var count [8]byte
		for {
			if _, err := f.Read(count[:]); err != nil {
				return
			}
			now := gpt.Count()
			gpt.Take()
			if n := binary.LittleEndian.Uint64(count[:]); n != 1 {
				fmt.Println("interrupts: count", n)
				return
			}
			arrived <- now
		}
	}()
	var late []uint32
	for len(late) < interruptRounds {
		at := gpt.Count() + ahead
		gpt.Set(at)
		if now := gpt.Count(); int32(now-at) >= 0 {
			// The moment passed before it was set, and the counter will not meet it again soon.
			at = now + ahead
			gpt.Set(at)
		}
		now, ok := <-arrived
		if !ok {
			return "", errors.New("the reader gave up")
		}
		late = append(late, now-at)
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if _, ok := <-arrived; ok {
		return "", errors.New("an interrupt arrived after the last one")
	}
	slices.Sort(late)
	return fmt.Sprintf("%d arrived, median %d us late, worst %d us",
		len(late), late[len(late)/2], late[len(late)-1]), nil
}

// The boot test types "typed" and a carriage return when it sees the prompt.
func consoleInput() (string, error) {
	if os.Getenv("TYPED") == "" {
		return "nobody types", nil
	}
	fmt.Println("selftest: type now")
	got := ""
	for buf := make([]byte, 3); len(got) == 0 || got[len(got)-1] != '\r'; {
		if err := os.Stdin.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			return "", err
		}
		n, err := os.Stdin.Read(buf)
		if err != nil {
			return "", fmt.Errorf("after %q: %w", got, err)
		}
		got += string(buf[:n])
	}
	if want := os.Getenv("TYPED") + "\r"; got != want {
		return "", fmt.Errorf("read %q, want %q", got, want)
	}
	return fmt.Sprintf("%q", got), nil
}
