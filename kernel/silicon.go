package kernel

import (
	"holdfast/board"
	"holdfast/board/ccm"
	"holdfast/board/iomuxc"
	"holdfast/board/syscnt"
	"holdfast/board/timer"
	"holdfast/board/wdog"
)

// wakeBoard brings up what the kernel itself needs on silicon, where nobody has run before but the
// boot ROM: a counter that counts, watchdogs that leave the board alone until somebody asks for
// them, and a console. Devices that only the program uses are the program's to wake. In QEMU all of
// this is there from the start (see package core); there the loader's two pages hold what the
// loader put there, and here what the memory's cells happened to be.
//
// Never seen on silicon. Run once in QEMU, with core.Emulated turned round, it does no harm.
func (k *kernel) wakeBoard() {
	clearVirtualOffset()
	syscnt.Block(board.SYSCNT).Start()
	timer.SetHz(syscnt.Hz)
	k.sched.entered = timer.Counter() // what the entry read was no time

	const clocks = ccm.Block(board.CCM)
	clocks.Open(ccm.WDOG1)
	clocks.Open(ccm.WDOG2)
	clocks.Open(ccm.WDOG3)
	wdog.Watchdog(board.WDOG1).StopPowerDownCounter()
	wdog.Watchdog(board.WDOG2).StopPowerDownCounter()
	wdog.Watchdog(board.WDOG3).StopPowerDownCounter()

	clocks.Open(ccm.UART1)
	clocks.ClockUARTsByOscillator()
	iomuxc.Block(board.IOMUXC).ConnectUART1()
	port.SetSpeed()

	clear(bytesAt(seedPage, pageSize))
	clear(bytesAt(bootPage, pageSize))
}
