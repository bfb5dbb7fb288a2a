// Package qemu starts QEMU's model of the MCIMX6UL-EVK and looks after the process: its options,
// its console, its control socket, its time limit, its end.
//
// It owns QEMU's command line (nothing else in this module knows an option of QEMU's), the host
// files a machine needs, and every goroutine that serves a machine. It knows nothing of what runs
// inside: no memory layout, no message of the guest's; addresses and contents come from the
// caller. The Ethernet between machines is package qemu/relay, the control protocol qemu/qmp.
//
// The console must be drained always. QEMU's UART model sends a byte at a time to a socket of
// which the kernel takes 278 such sends unread, and then sleeps inside the guest's store with its
// global lock held: the guest, its timers, its network and QMP all stand still. So the reader runs
// before the machine does, never waits for anybody, and keeps what it reads in a queue of its own
// (see console.go).
//
// Console and QMP are socket pairs made here, whose far ends QEMU inherits. There is no path to
// collide, nothing to wait for and nothing to connect to: the reader is attached before QEMU's
// first instruction.
//
// States of a Process: running (Start returned it), then ended. Done closes when QEMU is gone and
// every line and event it left was delivered; Wait then tells how it ended. Every run has a hard
// limit, and every QEMU dies with this program, SIGKILL included (spawn.go).
//
// The facts come from QEMU 7.2.22: hw/char/imx_serial.c, hw/nvram/eeprom_at24c.c,
// hw/arm/mcimx6ul-evk.c, and its documents interop/qmp-spec and system/invocation.
package qemu
