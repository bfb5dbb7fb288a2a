//go:build pprof

package node

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"runtime/pprof"
	"time"

	"holdfast/kernel/node/web"
	"holdfast/mesh/refusal"
)

// Profiles are a variant of the image (the build tag pprof), because runtime/pprof would make every
// image larger, and there only for a node whose environment asks for them.

// init turns the profile of allocations on, at the runtime's own rate: an image's environment turns
// it off.
func init() { runtime.MemProfileRate = 512 << 10 }

var profileHeader = http.Header{"Content-Type": {"application/octet-stream"}}

// profile is a profile of the program by its name; profile is the processor's, taken for so long.
func (n *Node) profile(ctx context.Context, name string, length time.Duration) web.Answer {
	var b bytes.Buffer
	if name == "profile" {
		if err := pprof.StartCPUProfile(&b); err != nil {
			return web.Word(refusal.NotReady, err.Error())
		}
		select {
		case <-time.After(length):
		case <-ctx.Done():
		}
		pprof.StopCPUProfile()
	} else {
		p := pprof.Lookup(name)
		if p == nil {
			return web.Refuse(http.StatusNotFound, "not found: no such profile")
		}
		if err := p.WriteTo(&b, 0); err != nil {
			return web.Word(refusal.NotReady, err.Error())
		}
	}
	return web.Answer{Status: http.StatusOK, Body: b.String(), Header: profileHeader}
}

// profiler is what the node's site has of profiles: nil unless the environment asks for them.
func (n *Node) profiler() func(context.Context, string, time.Duration) web.Answer {
	if !n.config.Pprof {
		return nil
	}
	return n.profile
}
