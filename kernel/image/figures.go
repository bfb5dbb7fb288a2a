package main

import (
	"holdfast/kernel/node"
	"holdfast/kernel/sys"
)

// figures is what kernel, stack and controller count. Ticks are the counter's.
func (hw *hardware) figures(add func(node.Figure)) {
	total := func(name, help string, v uint64) { add(node.Figure{Name: name, Help: help, Value: v}) }
	gauge := func(name, help string, v uint64) {
		add(node.Figure{Name: name, Help: help, Gauge: true, Value: v})
	}
	now, k := sys.Counter(), sys.ReadStats()
	gauge("counter_hz", "Frequency of the counter behind the ticks.", uint64(sys.CounterHz()))
	gauge("kernel_boot_ticks", "Ticks from reset to the Go runtime.", k.Started-k.Entered)
	total("kernel_busy_ticks", "Ticks that the processor was busy.", now-k.Entered-k.IdleTicks)
	total("kernel_idle_ticks", "Ticks that it waited for an interrupt.", k.IdleTicks)
	total("kernel_switches", "Switches from one thread to another.", k.Switches)
	total("kernel_interrupts", "Interrupts.", k.Interrupts)
	total("kernel_signals", "Signals delivered, most of them to preempt goroutines.", k.Signals)
	gauge("kernel_threads", "Threads of the Go runtime.", uint64(k.Threads))
	total("kernel_console_waits", "Writes that waited for the console.", k.ConsoleWaits)
	total("kernel_console_lost", "Bytes of the kernel's words that found no room.",
		uint64(k.ConsoleLost))
	total("kernel_keys_lost", "Overruns of the console's receiver.", uint64(k.KeysLost))
	gauge("kernel_ram_bytes", "Memory that the kernel uses.", uint64(k.RAM))
	gauge("kernel_pages_total", "Page frames for the program.", uint64(k.PagesTotal))
	gauge("kernel_pages_in_use", "Pages promised to the program.", uint64(k.PagesInUse))
	gauge("kernel_pages_touched", "Pages that have a frame.", uint64(k.PagesTouched))

	s := hw.stack.Stats() // there is a stack when anybody asks over it
	total("net_frames_taken", "Ethernet frames taken.", s.FramesTaken)
	total("net_frames_dropped", "Ethernet frames that were malformed or for others.",
		s.FramesMalformed+s.FramesNotMine+s.FramesOtherType)
	total("net_requests_dropped", "Connection requests over the rate of one address.",
		s.RequestsDropped)
	total("net_frames_sent", "Ethernet frames sent.", s.FramesSent)
	total("net_frames_lost", "Ethernet frames for which the controller had no room.", s.FramesLost)
	total("net_packets_malformed", "Packets and segments that made no sense.",
		s.PacketsMalformed+s.SegmentsInvalid)
	total("net_retransmissions", "TCP segments sent again.", s.SegmentsRetransmitted)
	gauge("net_connections", "TCP connections.", s.ConnectionsOpen)
	e := hw.port.Stats()
	total("enet_receive_errors", "Frames that the controller marked as damaged.",
		e.Overrun+e.TooLong+e.Bad+e.TooShort)
	total("enet_ring_full", "Frames not sent because the transmit ring was full.", e.RingFull)
}
