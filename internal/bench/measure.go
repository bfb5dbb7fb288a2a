package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/qemu"
)

// machine is a running guest.
type machine struct {
	*qemu.Process
	client *http.Client
	dial   func(ctx context.Context, port uint16) (net.Conn, error)
	main   chan string // what it says when it enters main
}

// The guest's services.
const (
	portHTTP   = 80
	portSink   = 5001
	portSource = 5002
	portEcho   = 5003
)

// boot starts the guest on QEMU's user network; icount counts instructions instead of running free.
func boot(ctx context.Context, image string, icount bool) (*machine, error) {
	m := newMachine()
	spec := m.spec(image, icount)
	spec.Net = qemu.UserNet{Forward: []uint16{portHTTP, portSink, portSource, portEcho}}
	m.dial = func(ctx context.Context, port uint16) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", m.Forwarded(port).String())
	}
	p, err := qemu.Start(ctx, spec)
	m.Process = p
	return m, err
}

func newMachine() *machine {
	m := &machine{main: make(chan string, 1)}
	m.client = &http.Client{Timeout: limit, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return m.dial(ctx, portHTTP)
		},
		MaxIdleConnsPerHost: loadClients,
	}}
	return m
}

// spec is the guest's machine but for its network.
func (m *machine) spec(image string, icount bool) qemu.Machine {
	spec := qemu.Machine{Name: "bench", Image: image, RAM: ram, Limit: limit,
		OnLine: func(_ time.Time, line string) {
			if figures, ok := strings.CutPrefix(line, "bench: main "); ok {
				m.main <- figures
			}
		}}
	if icount {
		spec.ICount = "shift=0"
	}
	return spec
}

// get fetches a path; QEMU's user network accepts at once, whatever the guest does, so only an
// answer proves anything.
func (m *machine) get(path string) (string, error) {
	resp, err := m.client.Get("http://guest" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// figures are the guest's counters at one instant.
type figures struct{ ticks, hz, sys, gcs float64 }

func (m *machine) figures() (f figures, err error) {
	text, err := m.get("/figures")
	if err != nil {
		return f, err
	}
	_, err = fmt.Sscanf(text, "ticks=%g hz=%g sys=%g gcs=%g", &f.ticks, &f.hz, &f.sys, &f.gcs)
	return f, err
}

// instructions is the guest's busy time between two readings, one nanosecond an instruction.
func instructions(from, to figures) float64 { return (to.ticks - from.ticks) / to.hz * 1e9 }

// counted fills the rows that are instruction counts of one machine.
func counted(ctx context.Context, t *table, built images) error {
	m, err := boot(ctx, built.guest, true)
	if err != nil {
		return err
	}
	defer m.Kill()
	if err := m.begin(t); err != nil {
		return err
	}
	if err := m.bulk(ctx, t, tcpIn, tcpOut); err != nil {
		return err
	}
	after, err := m.figures()
	if err != nil {
		return err
	}
	t.set(sysLoad, after.sys/1e6)
	if err := m.load(ctx); err != nil {
		return err
	}
	under, err := m.figures()
	t.set(sysUnder, under.sys/1e6)
	return err
}

// begin measures from the reset to what a fresh machine does with small requests.
func (m *machine) begin(t *table) error {
	var reset, kernel float64
	if _, err := fmt.Sscanf(<-m.main, "ticks=%g kernel=%g", &reset, &kernel); err != nil {
		return err
	}
	if _, err := m.get("/"); err != nil {
		return err
	}
	first, err := m.figures()
	if err != nil {
		return err
	}
	t.set(resetToMain, reset/first.hz*1e3)
	t.set(resetKernel, kernel/first.hz*1e3)
	t.set(sysIdle, first.sys/1e6)
	perRequest, err := m.each(func() error { _, err := m.get("/"); return err })
	if err != nil {
		return err
	}
	t.set(httpRequest, perRequest/1e3)
	if err := m.clocks(t, first.hz); err != nil {
		return err
	}
	perEcho, err := m.perEcho()
	t.set(rawEcho, perEcho/1e3)
	return err
}

// perEcho is the cost of sending 64 bytes there and back on a connection that stays open.
func (m *machine) perEcho() (float64, error) {
	c, err := m.dial(context.Background(), portEcho)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	message := make([]byte, 64)
	return m.each(func() error {
		if _, err := c.Write(message); err != nil {
			return err
		}
		_, err := io.ReadFull(c, message)
		return err
	})
}

// load is everything at once: clients of HTTP, and bulk data both ways.
func (m *machine) load(ctx context.Context) error {
	var g errgroup.Group
	for range loadClients {
		g.Go(func() error {
			for range loadRequests {
				if _, err := m.get("/"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for port, move := range map[uint16]func(net.Conn) error{portSink: send, portSource: take} {
		g.Go(func() error {
			c, err := m.dial(ctx, port)
			if err != nil {
				return err
			}
			defer c.Close()
			return move(c)
		})
	}
	return g.Wait()
}

// clocks is what the guest's two clocks cost, as it has counted itself.
func (m *machine) clocks(t *table, hz float64) error {
	text, err := m.get("/clocks")
	if err != nil {
		return err
	}
	var reads, now, counter float64
	if _, err := fmt.Sscanf(text, "reads=%g now=%g counter=%g", &reads, &now, &counter); err != nil {
		return err
	}
	t.set(timeNow, now/hz*1e9/reads)
	t.set(rawCounter, counter/hz*1e9/reads)
	return nil
}

// each is what one of many calls of act costs the guest. Those before the first reading let caches
// fill and the heap reach its size.
func (m *machine) each(act func() error) (float64, error) {
	many := func() error {
		for range requests {
			if err := act(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := many(); err != nil {
		return 0, err
	}
	a, err := m.figures()
	if err != nil {
		return 0, err
	}
	b, err := m.figures() // a reading costs a request of another kind: it is taken off
	if err != nil {
		return 0, err
	}
	if err := many(); err != nil {
		return 0, err
	}
	c, err := m.figures()
	if err != nil {
		return 0, err
	}
	return (instructions(b, c) - instructions(a, b)) / requests, nil
}

// bulk fills the rows about a byte of a bulk transfer into the guest and out of it.
func (m *machine) bulk(ctx context.Context, t *table, inward, outward string) error {
	in, err := m.perByte(ctx, portSink, send)
	if err != nil {
		return err
	}
	out, err := m.perByte(ctx, portSource, take)
	if err != nil {
		return err
	}
	t.set(inward, in)
	t.set(outward, out)
	return nil
}

// perByte is the cost of a byte of a bulk transfer on one connection.
func (m *machine) perByte(
	ctx context.Context, port uint16, move func(net.Conn) error,
) (float64, error) {
	c, err := m.dial(ctx, port)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	a, err := m.figures()
	if err != nil {
		return 0, err
	}
	if err := move(c); err != nil {
		return 0, err
	}
	b, err := m.figures()
	return instructions(a, b) / transfer, err
}

// send sends, and waits until the guest has closed in return: then it has taken everything.
func send(c net.Conn) error {
	if _, err := io.CopyN(c, zeros{}, transfer); err != nil {
		return err
	}
	if err := c.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c)
	return err
}

func take(c net.Conn) error {
	_, err := io.CopyN(io.Discard, c, transfer)
	return errors.Join(err, c.Close())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// timed fills the rows about one machine that depend on the host.
func timed(ctx context.Context, t *table, built images) error {
	var firsts []float64
	for i := range firstRuns {
		start := time.Now()
		m, err := boot(ctx, built.guest, false)
		if err != nil {
			return err
		}
		if _, err = m.get("/"); err == nil {
			firsts = append(firsts, time.Since(start).Seconds())
			if i == firstRuns-1 {
				err = m.idle(t)
			}
		}
		m.Kill()
		if err != nil {
			return err
		}
	}
	slices.Sort(firsts)
	t.set(firstHTTP, firsts[len(firsts)/2])
	return nil
}

// idle measures what QEMU takes of a core while the guest has nothing to do.
func (m *machine) idle(t *table) error {
	before, err := cpuTicks(m.PID())
	if err != nil {
		return err
	}
	select {
	case <-time.After(idleTime): // the measured time itself
	case <-m.Done():
		return errors.New("the guest ended while idle")
	}
	after, err := cpuTicks(m.PID())
	t.set(idleCPU, (after-before)/clockTicks/idleTime.Seconds()*100)
	return err
}

// clockTicks is USER_HZ: the unit of the times in /proc/PID/stat, 100 on every Linux that Go runs
// on.
const clockTicks = 100

// cpuTicks is the processor time that a process has used (proc(5): utime and stime, fields 14 and
// 15).
func cpuTicks(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("/proc: malformed stat")
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return user + system, errors.Join(err1, err2)
}
