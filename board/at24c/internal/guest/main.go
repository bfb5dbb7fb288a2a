// Guest proves the EEPROM's drivers on the machine itself, from the registers of the I2C block up
// to the records of the NVRAM: it checks what it reads, changes what the next boot will read, and
// switches the board off. Every line it prints is a fact that the test beside it looks for; a check
// that fails is a panic.
//
// With the argument -count it counts boots instead, for as long as it lives, and prints each count
// once the chip has it: the test cuts the power in the middle.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"holdfast/board"
	"holdfast/board/at24c"
	"holdfast/board/i2c"
	_ "holdfast/kernel" // links the kernel into this program
	"holdfast/nvram"
)

func main() {
	start := time.Now()
	now := func() time.Duration { return time.Since(start) }
	bus := i2c.New(board.I2C2, now)
	bus.Init()
	if err := bus.Tx(board.EEPROMAddress+1, nil, nil); !errors.Is(err, i2c.ErrNoDevice) {
		panic(fmt.Sprint("an address without a device: ", err))
	}
	fmt.Println("absent: no acknowledge")

	chip, err := at24c.Open(bus, board.EEPROMAddress, nvram.Size, now)
	check(err)
	store, err := nvram.Open(chip)
	check(err)
	if slices.Contains(os.Args, "-count") {
		count(store)
	}
	scratch(chip)
	records(store)
	whole := make([]byte, nvram.Size)
	before := now()
	check(chip.ReadAt(whole, 0))
	fmt.Printf("figure: %d bytes read in %v\n", len(whole), now()-before)
}

// count does not return.
func count(store *nvram.Store) {
	for {
		id, err := store.CountBoot()
		check(err)
		fmt.Println("counted:", id.Boots)
	}
}

// scratch writes over several pages, from the middle of one to the middle of another, where no
// record stands, and to the chip's last byte.
func scratch(chip nvram.Chip) {
	const off = nvram.MarksOffset + nvram.CopyStride/4 + 7
	kept := make([]byte, 1)
	check(chip.ReadAt(kept, nvram.Size-1))
	fmt.Printf("last byte: %#02x\n", kept[0])
	pattern := make([]byte, 3*at24c.PageBytes+1)
	for i := range pattern {
		pattern[i] = byte(i) ^ kept[0]
	}
	check(chip.WriteAt(pattern, off))
	back := make([]byte, len(pattern)+2)
	check(chip.ReadAt(back, off-1))
	if !bytes.Equal(back[1:len(back)-1], pattern) {
		panic(fmt.Sprintf("read back % x", back))
	}
	check(chip.WriteAt([]byte{kept[0] + 1}, nvram.Size-1))
	fmt.Println("pages: read back")
}

// records does what a node does at boot, and leaves a note in the environment.
func records(store *nvram.Store) {
	env, err := store.LoadEnvironment()
	check(err)
	fmt.Printf("environment: copy=%v seq=%d bytes=%d\n", env.Copy, env.Sequence, env.Bytes)
	for name, value := range env.Environment.All() {
		fmt.Printf("environment: %s=%s\n", name, value)
	}
	before := time.Now()
	id, err := store.CountBoot()
	check(err)
	fmt.Printf("figure: boot counted in %v\n", time.Since(before))
	fmt.Println("boots:", id.Boots)

	seed, err := store.LoadEntropy()
	check(err)
	fmt.Println("entropy:", seed[0])
	seed[0]++
	check(store.SaveEntropy(seed))

	check(env.Environment.Set("boots", fmt.Sprint(id.Boots)))
	_, err = store.SaveEnvironment(env.Environment)
	check(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
