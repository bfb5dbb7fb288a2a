package node

import (
	"net/http"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"

	"holdfast/kernel/node/web"
)

// GET /metrics is everything that the node counts in the text format of Prometheus, version 0.0.4:
// what GET /mesh/stats has under holdfast_, the runtime's own figures under the names that the
// Prometheus client for Go gives them, and three histograms: gaps between a peer's frames, as the
// detector hears them; what is left of the write lease, at every tick; and the runtime's scheduling
// latency. Nothing of it asks the loop, so that a node that hangs can still be looked into.

// Figure is one number that a node or its machine counts.
type Figure struct {
	Name  string // lower case with underscores, as GET /mesh/stats has it
	Help  string // one sentence about it, for GET /metrics
	Gauge bool   // it can fall; a number that cannot is a total since boot
	Value uint64
}

// exposition is a page in the text format.
type exposition struct{ strings.Builder }

var expositionHeader = http.Header{
	"Content-Type": {"text/plain; version=0.0.4; charset=utf-8"},
}

func (n *Node) metricsPage() web.Answer {
	var e exposition
	e.head("holdfast_info", "gauge", "The node, by its id and how it was configured.")
	e.WriteString(`holdfast_info{node="` + n.id.String() + `",mesh="` + n.meshWord() + `"} 1` + "\n")
	n.figures(e.figure)
	if n.loop != nil {
		e.histogram("holdfast_peer_gap_seconds", "Time between two frames of a peer.",
			n.loop.stats.gaps.buckets)
		e.histogram("holdfast_write_lease_left_seconds",
			"What was left of the write lease at each tick at which there was one.",
			n.loop.stats.leases.buckets)
	}
	e.runtime()
	a := web.Page(e.String())
	a.Header = expositionHeader
	return a
}

// meshWord is the role that the node has in its mesh, or single.
func (n *Node) meshWord() string {
	if n.loop == nil {
		return "single"
	}
	return n.mesh.Role.String()
}

// head starts a metric. The texts are this package's and the machine's own: nothing needs escaping.
func (e *exposition) head(name, kind, help string) {
	e.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

func (e *exposition) sample(name string, value string) {
	e.WriteString(name + " " + value + "\n")
}

func (e *exposition) figure(f Figure) {
	name, kind := "holdfast_"+f.Name, "gauge"
	if !f.Gauge {
		name, kind = name+"_total", "counter"
	}
	e.head(name, kind, f.Help)
	e.sample(name, strconv.FormatUint(f.Value, 10))
}

// histogram writes what buckets returns: the upper bounds in seconds, how many observations each
// one covers and how many there are, and their sum.
func (e *exposition) histogram(name, help string,
	buckets func() (bounds []float64, cumulative []uint64, sum float64)) {
	bounds, cumulative, sum := buckets()
	e.head(name, "histogram", help)
	for i, n := range cumulative {
		bound := "+Inf"
		if i < len(bounds) {
			bound = float(bounds[i])
		}
		e.sample(name+`_bucket{le="`+bound+`"}`, strconv.FormatUint(n, 10))
	}
	e.sample(name+"_sum", float(sum))
	e.sample(name+"_count", strconv.FormatUint(cumulative[len(bounds)], 10))
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// runtimeFigures is what is shown of the runtime's metrics.
var runtimeFigures = []struct{ source, name, kind, help string }{
	{"/sched/goroutines:goroutines", "go_goroutines", "gauge", "Goroutines."},
	{"/sched/gomaxprocs:threads", "go_sched_gomaxprocs_threads", "gauge",
		"Goroutines that may run at the same time."},
	{"/gc/cycles/total:gc-cycles", "go_gc_cycles_total_gc_cycles_total", "counter",
		"Garbage collections."},
	{"/gc/heap/allocs:bytes", "go_gc_heap_allocs_bytes_total", "counter", "Bytes allocated."},
	{"/gc/heap/allocs:objects", "go_gc_heap_allocs_objects_total", "counter", "Objects allocated."},
	{"/gc/heap/live:bytes", "go_gc_heap_live_bytes", "gauge",
		"Heap that the latest collection found in use."},
	{"/gc/heap/goal:bytes", "go_gc_heap_goal_bytes", "gauge", "Heap at which the next one ends."},
	{"/gc/gomemlimit:bytes", "go_gc_gomemlimit_bytes", "gauge",
		"Memory that the collector keeps the program under."},
	{"/memory/classes/heap/objects:bytes", "go_memory_classes_heap_objects_bytes", "gauge",
		"Heap in use, dead objects included."},
	{"/memory/classes/heap/stacks:bytes", "go_memory_classes_heap_stacks_bytes", "gauge",
		"Goroutines' stacks."},
	{"/memory/classes/total:bytes", "go_memory_classes_total_bytes", "gauge",
		"All memory that the runtime has from the kernel."},
	{"/cpu/classes/gc/total:cpu-seconds", "go_cpu_classes_gc_total_cpu_seconds_total", "counter",
		"Estimated time spent collecting garbage, as of the latest collection."},
	{"/sync/mutex/wait/total:seconds", "go_sync_mutex_wait_total_seconds_total", "counter",
		"Time that goroutines have waited for mutexes."},
	{"/sched/latencies:seconds", "go_sched_latencies_seconds", "histogram",
		"How long goroutines were runnable before they ran."},
	{"/sched/pauses/total/gc:seconds", "go_sched_pauses_total_gc_seconds", "histogram",
		"How long the collector stopped the world."},
}

// runtime writes the runtime's figures. One that this runtime does not have is left out.
func (e *exposition) runtime() {
	samples := make([]metrics.Sample, len(runtimeFigures))
	for i, f := range runtimeFigures {
		samples[i].Name = f.source
	}
	metrics.Read(samples)
	for i, f := range runtimeFigures {
		switch v := samples[i].Value; v.Kind() {
		case metrics.KindUint64:
			e.head(f.name, f.kind, f.help)
			e.sample(f.name, strconv.FormatUint(v.Uint64(), 10))
		case metrics.KindFloat64:
			e.head(f.name, f.kind, f.help)
			e.sample(f.name, float(v.Float64()))
		case metrics.KindFloat64Histogram:
			e.histogram(f.name, f.help, func() ([]float64, []uint64, float64) {
				return coarse(v.Float64Histogram())
			})
		}
	}
}

// latencyBounds are the buckets, in seconds, into which the runtime's many are put.
var latencyBounds = []float64{1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1,
	0.25, 1}

// coarse puts a histogram of the runtime into the buckets of latencyBounds. What a bound cuts in
// two counts at the next one, and the sum, which the runtime does not keep, is of the lower bounds.
func coarse(h *metrics.Float64Histogram) (bounds []float64, cumulative []uint64, sum float64) {
	cumulative = make([]uint64, len(latencyBounds)+1)
	for i, n := range h.Counts {
		low, high := h.Buckets[i], h.Buckets[i+1]
		at, _ := slices.BinarySearch(latencyBounds, high)
		cumulative[at] += n
		sum += float64(n) * max(low, 0)
	}
	for i := range latencyBounds {
		cumulative[i+1] += cumulative[i]
	}
	return latencyBounds, cumulative, sum
}
