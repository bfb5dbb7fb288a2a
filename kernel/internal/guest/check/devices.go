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

	"holdfast/board"
	"holdfast/board/mmio"
)

// GPT1 as a source of interrupts: it counts peripheral clock ticks and raises its interrupt when
// the count reaches a compare value.
const (
	gptCR  = board.GPT1 + 0x00
	gptPR  = board.GPT1 + 0x04
	gptSR  = board.GPT1 + 0x08
	gptIR  = board.GPT1 + 0x0c
	gptOCR = board.GPT1 + 0x10
	gptCNT = board.GPT1 + 0x24

	gptReset        = 1 << 15
	gptFreeRun      = 1 << 9
	gptPeripheral   = 1 << 6
	gptEnable       = 1 << 0
	gptCompare      = 1 << 0
	gptPrescale     = 49 // 49.5 MHz in QEMU: about a microsecond a tick
	gptAhead        = 400
	interruptRounds = 100
)

func gptStart() {
	mmio.W32(gptCR, gptReset)
	for mmio.R32(gptCR)&gptReset != 0 {
	}
	mmio.W32(gptPR, gptPrescale-1)
	mmio.W32(gptCR, gptFreeRun|gptPeripheral|gptEnable)
}

// An interrupt wakes the goroutine that reads its file, each one exactly once.
func interrupts() (string, error) {
	gptStart()
	path := fmt.Sprint("/dev/irq/", board.IRQGPT1)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	if _, err := os.Open(path); !errors.Is(err, syscall.EBUSY) {
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
			now := mmio.R32(gptCNT)
			mmio.W32(gptIR, 0)
			mmio.W32(gptSR, gptCompare)
			if n := binary.LittleEndian.Uint64(count[:]); n != 1 {
				fmt.Println("interrupts: count", n)
				return
			}
			arrived <- now
		}
	}()
	var late []uint32
	for len(late) < interruptRounds {
		mmio.W32(gptSR, gptCompare)
		at := mmio.R32(gptCNT) + gptAhead
		mmio.W32(gptOCR, at)
		mmio.W32(gptIR, gptCompare)
		if now := mmio.R32(gptCNT); int32(now-at) >= 0 {
			// The moment passed before it was set, and the counter will not meet it again soon.
			mmio.W32(gptOCR, now+gptAhead)
			at = now + gptAhead
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
