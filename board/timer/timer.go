// Package timer is the ARM generic timer as seen through coprocessor 15: a 64-bit counter that
// never stops and never goes back, its frequency, and one compare register that raises the virtual
// timer's interrupt (private interrupt 27). It is the only clock of the system.
//
// The counter is not reset with the processor. Under QEMU it runs at 62.5 MHz; on silicon whoever
// boots starts it at 8 MHz (package syscnt) and writes that to the frequency register.
//
// All calls are a few instructions, allowed in every processor mode. On other architectures than
// ARM the registers are simulated (see host.go).
//
// Registers: ARM Architecture Reference Manual ARMv7-A, chapter B8 "The Generic Timer".
package timer
