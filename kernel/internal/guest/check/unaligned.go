//go:build arm

package check

// loadUnaligned makes an exclusive access, which the processor refuses, one byte behind p.
//
//go:noescape
func loadUnaligned(p *int)
