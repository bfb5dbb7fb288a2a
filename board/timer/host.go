//go:build !arm

package timer

// Host is the timer's registers where there is no timer: tests set and read them.
var Host struct {
	Count     uint64 // what Counter returns
	Frequency uint32 // what Hz returns and SetHz sets
	Compare   uint64 // what Set was given last
	Sets      int    // how often Set was called
}

// Counter is Host.Count.
func Counter() uint64 { return Host.Count }

// Hz is Host.Frequency.
func Hz() uint32 { return Host.Frequency }

// SetHz sets Host.Frequency.
func SetHz(hz uint32) { Host.Frequency = hz }

// Set stores at in Host.Compare.
func Set(at uint64) {
	Host.Compare = at
	Host.Sets++
}
