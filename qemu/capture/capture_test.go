package capture

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"holdfast/qemu/relay"
)

// disk is a file that remembers where its writes ended, and that may be full.
type disk struct {
	bytes.Buffer
	ends   []int
	room   int // bytes that still fit; negative is no limit
	writes int
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	d.writes++
	if d.room >= 0 && len(p) > d.room {
		return 0, errFull
	}
	n, _ := d.Buffer.Write(p)
	d.room -= n
	d.ends = append(d.ends, d.Len())
	return n, nil
}

// traffic runs three frames from a and one from b through a relay of two ports; w observes.
func traffic(t *testing.T, w *Writer) {
	t.Helper()
	r := relay.New(relay.Options{Observe: w.Record})
	a, errA := r.Local("a")
	b, errB := r.Local("b")
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	frame := func(payload string) [][]byte {
		return [][]byte{{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, []byte(payload)}
	}
	a.Send(frame("an odd payload, longer than what would be padded to sixty bytes"))
	r.Cut(a, b)
	time.Sleep(time.Second)
	a.Send(frame("lost"))
	a.Send([][]byte{{1, 2, 3}})
	r.Heal(a, b)
	a.Freeze()
	b.Send([][]byte{{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	w.Finish(r.Ports())
}

// packet is what the test reads back of one.
type packet struct {
	port    string
	at      time.Duration
	length  int
	comment string
}

func read(t *testing.T, file []byte, start time.Time) (packets []packet, dropped []uint64) {
	t.Helper()
	options := pcapgo.DefaultNgReaderOptions
	options.StatisticsCallback = func(_ int, s pcapgo.NgInterfaceStatistics) {
		dropped = append(dropped, s.PacketsDropped)
	}
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), options)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, info, more, err := r.ReadPacketDataWithOptions()
		if err == io.EOF {
			return packets, dropped
		}
		if err != nil {
			t.Fatal(err)
		}
		port, err := r.Interface(info.InterfaceIndex)
		if err != nil || port.LinkType != layers.LinkTypeEthernet || info.Length != len(data) {
			t.Fatalf("interface %v, %v, length %d of %d", port, err, len(data), info.Length)
		}
		p := packet{port.Name, info.Timestamp.Sub(start), len(data), ""}
		if len(more.Comments) > 0 {
			p.comment = more.Comments[0]
		}
		packets = append(packets, p)
	}
}

var wantPackets = []packet{
	{"a", 0, 77, "b forwarded"},
	{"a", time.Second, 60, "b dropped"},
	{"a", time.Second, 3, "runt"},
	{"b", time.Second, 60, "a frozen"},
}

func TestACaptureHasEveryFrameWithItsVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		file := &disk{room: -1}
		traffic(t, New(file, func(err error) { t.Error(err) }))
		packets, dropped := read(t, file.Bytes(), start)
		if !slices.Equal(packets, wantPackets) {
			t.Errorf("got\n%v\nwant\n%v", packets, wantPackets)
		}
		if want := []uint64{0, 1}; !slices.Equal(dropped, want) {
			t.Errorf("dropped %v, want %v", dropped, want)
		}
	})
}

func TestAFileIsReadableAfterEveryWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		file := &disk{room: -1}
		traffic(t, New(file, func(err error) { t.Error(err) }))
		if len(file.ends) < len(wantPackets) {
			t.Fatalf("%d writes for %d packets", len(file.ends), len(wantPackets))
		}
		for i, end := range file.ends {
			want := wantPackets[:min(i+1, len(wantPackets))]
			if packets, _ := read(t, file.Bytes()[:end], start); !slices.Equal(packets, want) {
				t.Errorf("after write %d: got\n%v\nwant\n%v", i, packets, want)
			}
		}
	})
}

func TestAFullDiskIsToldOnceAndLeavesWhatFitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := &disk{room: -1}
		traffic(t, New(whole, func(err error) { t.Error(err) }))

		start := time.Now()
		file := &disk{room: whole.ends[1]} // two packets fit
		var reports []error
		w := New(file, func(err error) { reports = append(reports, err) })
		traffic(t, w)
		if len(reports) != 1 || !errors.Is(reports[0], errFull) || !errors.Is(w.Finish(nil), errFull) {
			t.Errorf("reports %v, finished with %v", reports, w.Finish(nil))
		}
		if file.writes != 3 {
			t.Errorf("%d writes, want none after the one that failed", file.writes)
		}
		if packets, _ := read(t, file.Bytes(), start); !slices.Equal(packets, wantPackets[:2]) {
			t.Errorf("got %v", packets)
		}
	})
}

func TestACaptureWithoutTrafficDescribesItsPorts(t *testing.T) {
	r := relay.New(relay.Options{})
	if _, err := r.Local("a"); err != nil {
		t.Fatal(err)
	}
	r.Close()
	file := &disk{room: -1}
	if err := New(file, func(err error) { t.Error(err) }).Finish(r.Ports()); err != nil {
		t.Fatal(err)
	}
	if packets, dropped := read(t, file.Bytes(), time.Now()); len(packets) != 0 || len(dropped) != 1 {
		t.Errorf("%d packets, statistics of %d ports", len(packets), len(dropped))
	}
}
