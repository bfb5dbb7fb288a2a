// Package relay is the Ethernet between machines: a learning switch in this process, whose every
// direction can be made to misbehave.
//
// It owns the ports (pairs of unix datagram sockets for QEMU, in-process ports for stations of this
// program), the table of learned addresses, and the rules. It knows Ethernet's first
// fourteen bytes and nothing above them, starts no process, and lets no station, disk or observer
// hold up another station: every queue is bounded, and what overflows has a verdict and a count.
//
// The way of a frame:
//
//	port --> learn source, find destination --> rule of the path --> destination's queue --> port
//	              |                              |       |                |
//	              runt, local                    dropped held, delayed    full, frozen
//
// A direction is an ordered pair of ports: a Path. A frame gets one Verdict for each path it takes,
// when it arrives; a held or delayed one gets a second when it goes on. Options.Observe sees all of
// them, and package qemu/capture makes a file of them. All decisions are made in
// order of arrival under one lock, and every chance is drawn from the path's own generator, seeded
// by the relay's seed and the ports' names: the same frames get the same fate again.
//
// A port outlives its station. Frames to a station that is not there are absent, not an error; a
// station that was paused or stopped should be frozen first (Port.Freeze), since a real Ethernet
// would not keep for it what its socket does.
//
// The facts on the sockets come from QEMU 7.2.22 (net/dgram.c) and Linux: the kernel queues about
// ten datagrams a socket (net.unix.max_dgram_qlen), so that a writer that does not wait loses TCP's
// bursts; QEMU spins at full load while the queue that it writes to is full, so that every port is
// read always. Longest frame: 1,514 bytes, no check sequence. Addresses: IEEE 802-2014 section 8,
// learning: IEEE 802.1D-2004 section 7.8.
package relay
