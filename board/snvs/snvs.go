// Package snvs drives the one function of the i.MX secure non-volatile storage block that Holdfast
// uses: power off. It owns no state; a Block is nothing but its base address.
//
// Registers: IMX6ULRM chapter "Secure Non-Volatile Storage", low-power control register.
package snvs

import "holdfast/board/mmio"

// Block is an SNVS by its base address.
type Block uint32

const (
	lpcr = 0x38

	lpcrDumb     = 1 << 5 // DP_EN: the "dumb" power manager, which only knows on and off
	lpcrPowerOff = 1 << 6 // TOP: take the main supply away
)

// PowerOff asks the power manager to take the supply away. On a working board it does not return
// for long. The real-time clock's enable bit in the same register is kept.
func (b Block) PowerOff() { mmio.SetBits32(uint32(b)+lpcr, lpcrDumb|lpcrPowerOff) }
