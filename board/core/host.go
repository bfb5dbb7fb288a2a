//go:build !arm

package core

// Host is the processor's registers where there is none: tests set them. As it stands it is QEMU's.
var Host struct {
	PeripheralBase uint32
}

func peripheralBase() uint32 { return Host.PeripheralBase }
