// Image is the node as a bootable image: the one place where the board, the kernel, the network
// stack and the node meet, so that another board or another network needs another package main and
// nothing else. It owns the order in which the hardware comes up, and how each device is wired to
// the board. It must hold no logic: what can be tested without the board is in the packages that
// it joins.
//
// The order is that of spec/system.md section 2. The NVRAM comes first, because the random
// generator's key and the network's address are in it; then the generator, before anything takes a
// random number; then the network.
package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"holdfast/kernel/node"
)

func main() {
	say("holdfast " + version() + " " + runtime.Version())
	var hw hardware
	hw.wakeBoard()                  // on silicon: clocks, pads, PHY; says what reset the board
	hw.openNVRAM()                  // I2C2, an EEPROM; a node without one has no mesh
	hw.openClock()                  // I2C1, a real-time clock; goes on while the machine is stopped
	n := node.Boot(hw.machine())    // environment, identity, entropy, marks
	network := hw.openNetwork(n)    // ENET1, TCP/IP
	end(n.Run(background, network)) // console, links, HTTP, mesh; for ever
}

// background is never done: a node ends with its machine.
var background = context.Background()

// end ends a node that should have run for ever. A panic ends in a trace and a reset.
func end(err error) {
	if err != nil {
		panic("image: " + err.Error())
	}
	panic("image: the node has ended")
}

// say prints a line that is no evidence.
func say(line string) { _, _ = os.Stdout.WriteString(line + "\n") }

// version is the module's, as the toolchain stamps it: a tag, or the time and hash of the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
