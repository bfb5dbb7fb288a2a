package kernel

import (
	"holdfast/board"
	"holdfast/board/gic"
)

const controller = gic.Controller(board.GIC)

// interruptsMax bounds how many interrupts one entry takes: the line of a device may be up again at
// once.
const interruptsMax = 8

// interrupt takes the interrupts that are pending. The timer and the console are the kernel's; all
// others belong to the files under /dev/irq.
func (k *kernel) interrupt() {
	k.sched.inInterrupt = true
	for range interruptsMax {
		p := controller.Acknowledge()
		id, ok := p.ID()
		if !ok {
			break
		}
		k.calls.interrupts++
		switch id {
		case board.IRQVirtualTimer:
			k.expire()
		case board.IRQUART1:
			k.receive()
			k.transmit()
		default:
			controller.Mask(id) // until the reader has seen to the device
			k.irqArrived(id)
		}
		controller.End(p)
	}
	k.sched.inInterrupt = false
}

// initInterrupts turns on what the kernel itself uses. The console comes after everybody else: it
// has all the time in the world, and in QEMU a full ring to send without a pause.
func initInterrupts() {
	controller.Init()
	controller.Defer(board.IRQUART1)
	controller.Unmask(board.IRQVirtualTimer)
	controller.Unmask(board.IRQUART1)
}
