//go:build arm

package main

// loadUnaligned makes an exclusive access, which the processor refuses, one byte behind p.
//
//go:noescape
func loadUnaligned(p *int)
