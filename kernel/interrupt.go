package kernel

import (
	"holdfast/board"
	"holdfast/board/gic"
)

const controller = gic.Controller(board.GIC)

// interrupt takes every interrupt that is pending. The timer and the console are the kernel's; all
// others belong to the files under /dev/irq.
func (k *kernel) interrupt() {
	k.sched.inInterrupt = true
	for {
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
		default:
			controller.Mask(id) // until the reader has seen to the device
			k.irqArrived(id)
		}
		controller.End(p)
	}
	k.sched.inInterrupt = false
}

// initInterrupts turns on what the kernel itself uses.
func initInterrupts() {
	controller.Init()
	controller.Unmask(board.IRQVirtualTimer)
	controller.Unmask(board.IRQUART1)
}
