//go:build !pprof

package node

import (
	"context"
	"net/http"
	"time"

	"holdfast/kernel/node/web"
)

// profiler is nil, or says that this image has no profiles to an operator who asked for them.
func (n *Node) profiler() func(context.Context, string, time.Duration) web.Answer {
	if !n.config.Pprof {
		return nil
	}
	return func(context.Context, string, time.Duration) web.Answer {
		return web.Refuse(http.StatusNotFound,
			"not found: this image has no profiles, build it with make image PPROF=1")
	}
}
