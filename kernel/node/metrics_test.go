package node

import (
	"math"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"holdfast/mesh/when"
)

// scrape reads a node's metrics as Prometheus does.
func (r *running) scrape() map[string]*dto.MetricFamily {
	r.w.t.Helper()
	a := r.node.metricsPage()
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") !=
		string(expfmt.NewFormat(expfmt.TypeTextPlain)) {
		r.w.t.Fatalf("%d, %v", a.Status, a.Header)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(a.Body))
	if err != nil {
		r.w.t.Fatal(err)
	}
	return families
}

// checkFamily fails the test unless a family can be believed.
func checkFamily(t *testing.T, f *dto.MetricFamily) {
	t.Helper()
	counts := strings.HasSuffix(f.GetName(), "_total")
	if counts != (f.GetType() == dto.MetricType_COUNTER) || f.GetHelp() == "" {
		t.Errorf("%s is a %v: %q", f.GetName(), f.GetType(), f.GetHelp())
	}
	if len(f.Metric) != 1 {
		t.Errorf("%s: %d metrics", f.GetName(), len(f.Metric))
	}
	h := f.Metric[0].GetHistogram()
	if h == nil {
		return
	}
	last := h.Bucket[len(h.Bucket)-1]
	ascend := slices.IsSortedFunc(h.Bucket, func(a, b *dto.Bucket) int {
		return int(a.GetCumulativeCount()) - int(b.GetCumulativeCount())
	})
	if !ascend || !math.IsInf(last.GetUpperBound(), 1) ||
		last.GetCumulativeCount() != h.GetSampleCount() {
		t.Errorf("%s: %v", f.GetName(), h)
	}
}

func TestPrometheusReadsTheMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a, m := w.pair()
		<-time.After(30 * time.Second)
		for _, r := range []*running{a, m} {
			families := r.scrape()
			for _, f := range families {
				checkFamily(t, f)
			}
			value := func(name string) float64 {
				if f := families[name]; f == nil {
					t.Errorf("no %s", name)
				} else {
					return f.Metric[0].GetGauge().GetValue() + f.Metric[0].GetCounter().GetValue()
				}
				return 0
			}
			if value("holdfast_mutable") != 1 || value("holdfast_loop_ticks_total") < 100 ||
				value("go_goroutines") < 5 || value("holdfast_write_lease_ms") < 500 {
				t.Errorf("%v", families)
			}
			gaps := families["holdfast_peer_gap_seconds"].Metric[0].GetHistogram()
			left := families["holdfast_write_lease_left_seconds"].Metric[0].GetHistogram()
			if gaps.GetSampleCount() < 5 || gaps.GetSampleSum() < 25 || gaps.GetSampleSum() > 40 {
				t.Errorf("gaps %v", gaps)
			}
			if left.GetSampleCount() < 100 || left.Bucket[0].GetCumulativeCount() != 0 {
				t.Errorf("leases %v", left)
			}
		}
	})
}

func TestANodeWithoutAMeshHasMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.boot(filled(0xff)(t))
		synctest.Wait() // it serves: nobody asks before that
		families := r.scrape()
		for _, f := range families {
			checkFamily(t, f)
		}
		if families["go_sched_latencies_seconds"] == nil || families["holdfast_peer_gap_seconds"] != nil {
			t.Errorf("%d families", len(families))
		}
	})
}

func TestEveryRuntimeFigureExists(t *testing.T) {
	for _, f := range runtimeFigures {
		kind := map[string][]metrics.ValueKind{
			"gauge":     {metrics.KindUint64},
			"counter":   {metrics.KindUint64, metrics.KindFloat64},
			"histogram": {metrics.KindFloat64Histogram},
		}[f.kind]
		s := []metrics.Sample{{Name: f.source}}
		if metrics.Read(s); !slices.Contains(kind, s[0].Value.Kind()) {
			t.Errorf("%s is of kind %v", f.source, s[0].Value.Kind())
		}
	}
}

func TestSpansAreCountedAtTheirBounds(t *testing.T) {
	h := newHistogram(10, 100)
	for _, d := range []int{0, 10, 11, 100, 101, 5000} {
		h.observe(when.Span(d))
	}
	bounds, n, sum := h.buckets()
	wantBounds, want := []float64{0.01, 0.1}, []uint64{2, 4, 6}
	if !slices.Equal(bounds, wantBounds) || !slices.Equal(n, want) || sum != 5.222 {
		t.Errorf("%v %v %v", bounds, n, sum)
	}
}

func TestTheRuntimesBucketsArePutTogether(t *testing.T) {
	inf := math.Inf(1)
	_, n, sum := coarse(&metrics.Float64Histogram{
		Counts:  []uint64{1, 2, 3, 4, 5},
		Buckets: []float64{math.Inf(-1), 1e-6, 1e-5, 1.5e-5, 1, inf},
	})
	want := []uint64{1, 3, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 10, 15}
	if !slices.Equal(n, want) || math.Abs(sum-(2e-6+3e-5+4*1.5e-5+5)) > 1e-12 {
		t.Errorf("%v, sum %v; want %v", n, sum, want)
	}
}
