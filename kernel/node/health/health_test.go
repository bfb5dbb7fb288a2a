package health_test

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"holdfast/kernel/node/health"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
)

var a = id.Node{1}

// row is the first row with that head and those fields.
func row(t *testing.T, rows []evidence.Line, head string) map[string]string {
	t.Helper()
	for _, r := range rows {
		if _, err := evidence.ParseStatus(r.String()); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(r.String(), head+" ") {
			continue
		}
		fields := map[string]string{}
		for _, f := range strings.Fields(r.String())[1:] {
			key, value, _ := strings.Cut(f, "=")
			fields[key] = value
		}
		return fields
	}
	t.Fatalf("no row %q in %q", head, rows)
	return nil
}

func want(t *testing.T, got map[string]string, fields ...string) {
	t.Helper()
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if got[key] != value {
			t.Errorf("%s=%s, want %s", key, got[key], value)
		}
	}
}

func TestAPeersGapsAreCountedAndItsSilenceIsWeighed(t *testing.T) {
	m := health.Monitor{Outage: 12_000}
	now := when.Instant(5_000)
	for range 101 {
		m.Heard(now, a)
		now += 1_000
	}
	now -= 1_000
	r := row(t, m.Rows(now.Add(1_000)), "peer")
	want(t, r, "id="+a.String(), "n=100", "silent_ms=1000", "mean_us=1000000", "deviation_us=0",
		"p50_ms=1000", "p99_ms=1000", "worst_ms=1000", "phi_normal_milli=301",
		"phi_exponential_milli=434")
	want(t, row(t, m.Rows(now.Add(1_000)), "bucket"), "id="+a.String(), "most_ms=1023", "n=100")
	if far := row(t, m.Rows(now.Add(1_500)), "peer"); far["phi_normal_milli"] < "7" {
		t.Errorf("half a second late: %v", far)
	}
}

func TestAnOutageIsCountedAndNotLearntFrom(t *testing.T) {
	m := health.Monitor{Outage: 12_000}
	now := when.Instant(0)
	for range 50 {
		m.Heard(now, a)
		now += 1_000
	}
	now += 60_000
	m.Heard(now, a)
	want(t, row(t, m.Rows(now), "peer"), "n=50", "worst_ms=61000", "mean_us=1000000")
}

// After a burst of traffic a heartbeat every two seconds is astonishing; it must not stay so.
func TestAQuietPeerIsLearntAfterABurst(t *testing.T) {
	m := health.Monitor{Outage: 12_000}
	now := when.Instant(0)
	for range 40 {
		m.Heard(now, a)
		now += 5
	}
	for range 300 {
		now += 2_000
		m.Heard(now, a)
	}
	want(t, row(t, m.Rows(now.Add(2_000)), "peer"), "mean_us=2000000", "phi_normal_milli=301")
}

func TestTheNodesOwnPauseIsNobodysSilence(t *testing.T) {
	var m health.Monitor
	m.Heard(0, a)
	m.Heard(1_000, a)
	m.Ticked(30_000, 1_000)
	want(t, row(t, m.Rows(31_500), "peer"), "silent_ms=500")
	want(t, row(t, m.Rows(31_500), "tick"), "n=1", "worst_ms=30000")
	m.Ticked(1_000, 1_000)
	want(t, row(t, m.Rows(32_500), "peer"), "silent_ms=1500")
}

func TestTheTableIsBounded(t *testing.T) {
	var m health.Monitor
	for i := range 3 * health.PeersMax {
		m.Heard(when.Instant(i), id.Node{byte(i + 1)})
	}
	peers := 0
	for _, r := range m.Rows(100) {
		if strings.HasPrefix(r.String(), "peer ") {
			peers++
		}
	}
	if peers != health.PeersMax {
		t.Errorf("%d peers, want %d", peers, health.PeersMax)
	}
	if size := unsafe.Sizeof(health.Histogram{}); size > 700 {
		t.Errorf("a histogram takes %d bytes", size)
	}
}

func TestAQuantileIsRightToAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Int64Range(-5, 5_000_000), 1, 300).Draw(t, "spans")
		q := rapid.Float64Range(0.01, 1).Draw(t, "q")
		var h health.Histogram
		for i, s := range spans {
			h.Add(when.Span(s))
			spans[i] = max(0, min(s, 3_600_000))
		}
		slices.Sort(spans)
		rank := 0
		for float64(rank+1) < q*float64(len(spans)) {
			rank++
		}
		exact, got := spans[rank], int64(h.Quantile(q))
		if got < exact || got > exact+exact/8 || int64(h.Worst()) != spans[len(spans)-1] {
			t.Fatalf("quantile %g is %d, want %d or up to an eighth more; worst %d", q, got, exact,
				h.Worst())
		}
		n := uint64(0)
		for _, b := range h.Buckets() {
			n += b.N
		}
		if n != uint64(len(spans)) || h.N() != n {
			t.Fatalf("%d of %d spans are in buckets", n, len(spans))
		}
	})
}
