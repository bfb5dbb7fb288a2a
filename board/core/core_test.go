//go:build !arm

package core

import "testing"

func TestSiliconKnowsWhereItsInterruptControllerIs(t *testing.T) {
	if !Emulated() {
		t.Error("zero is silicon")
	}
	Host.PeripheralBase = 0x00a00000
	defer func() { Host.PeripheralBase = 0 }()
	if Emulated() {
		t.Error("0x00a00000 is QEMU")
	}
}
