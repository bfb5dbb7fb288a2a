package core

// peripheralBase is CBAR.
//
//go:noescape
func peripheralBase() uint32
