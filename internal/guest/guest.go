// Package guest gives test images a network: TCP/IP over ENET1, as the product's image has it, with
// an address that the test chooses. It is for images that tests and benchmarks boot; the product's
// own boot is kernel/image.
package guest

import (
	"net/netip"
	"os"
	"strconv"

	"holdfast/board"
	"holdfast/board/enet"
	"holdfast/kernel/sys"
	"holdfast/netstack"
	"holdfast/netstack/ack"
)

// Network brings up ENET1 and TCP/IP with this address; the zero gateway is none. The Ethernet
// address is 02:00:00:00:00 and the last byte of the IP address.
func Network(address netip.Prefix, gateway netip.Addr) (*netstack.Stack, error) {
	irq, err := os.OpenFile("/dev/irq/"+strconv.Itoa(board.IRQENET1), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	mac := [6]byte{2, 0, 0, 0, 0, address.Addr().As4()[3]}
	dma, size := sys.DMA()
	port, err := enet.Open(enet.Config{Base: board.ENET1, PHY: board.PHY1, MDIO: board.ENET2,
		MAC: mac, DMA: dma, DMASize: size, Interrupt: irq})
	if err != nil {
		return nil, err
	}
	return netstack.New(ack.New(port), netstack.Config{MAC: mac, Addr: address, Gateway: gateway,
		Counter: netstack.Counter{Read: sys.Counter, Hz: sys.CounterHz()}})
}
