// Package world is what a run happens in: the machines, the Ethernet between them, the rig's own
// station on it, and the journal that hears of everything. Its methods are what a fault can do.
//
// It owns every process, socket, file and goroutine of one run, and ends them all in Close, however
// the run went. It must never judge what the machines do: it stops waiting when a judge.Watch says
// that going on is pointless, and that is all.
//
// Sources: spec section 8; the options and traps of the Ethernet are package qemu/relay's.
package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"holdfast/mesh/timing"
	"holdfast/mesh/when"
	"holdfast/netstack"
	"holdfast/nvram/config"
	"holdfast/qemu"
	"holdfast/qemu/capture"
	"holdfast/qemu/relay"
	"holdfast/rig/attack"
	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
)

// stationName is the rig's own port on the relay.
const stationName = "rig"

// The names of a run's artefacts, in its folder.
const (
	JournalFile = "events.jsonl"
	captureFile = "wire.pcapng"
)

// consoleFile is the artefact that has a node's raw console, all boots one after the other.
func consoleFile(node string) string { return node + ".console" }

// Config says what a run's world is made of.
type Config struct {
	Fault    string
	Scenario string // the text of the fault's file, when it is the user's
	Image    string // the node image
	SHA256   string // of the image
	RAM      string // of each machine, in QEMU's notation
	QEMU     string // its version
	Folder   string // for the artefacts; it exists
	Cast     *provision.Cast
	Patient  time.Duration // a machine that runs for longer is killed, before Slow
	// Watch, which may be nil, sees every record of the journal, in order. It must not call the world.
	Watch func(journal.Record)
	// Slow is by how much the rig is more patient than usual; less than 1 stands for 1.
	Slow float64
	// Configure changes what the cast's i-th node is provisioned with; nil leaves it as it is.
	Configure func(cast *provision.Cast, i int, node *config.Config)
	// Record has every node keep a tape of its protocol's steps, and the rig take it along.
	Record bool
}

// World is one run's. Its methods are called by one goroutine, but for those that say otherwise.
type World struct {
	Config
	Journal *journal.Journal

	ctx    context.Context // ends with the run, or when going on is pointless
	cancel context.CancelCauseFunc

	temp     string // sockets and EEPROM files: short paths
	sweep    func() // removes temp
	files    []*os.File
	capture  *capture.Writer
	relay    *relay.Relay
	station  *netstack.Stack
	client   *http.Client
	machines []*machine
	// recordings are the tapes that are taken along.
	recordings []*recording
	watchers   sync.WaitGroup
	callers    sync.WaitGroup  // requests that nobody waits for
	attacker   *attack.Station // nil before the first attack
	traffic    traffic
	commits    uint64 // that steps have made
	latest     Commit // that nobody waited for
	since      int    // where in the journal Await begins
}

// Stopped is why a run is not worth going on with.
type Stopped struct{ judge.Alarm }

func (s *Stopped) Error() string { return s.Reason }

// Open makes a world, without a machine running yet. ctx bounds its life; Close must follow.
func Open(ctx context.Context, c Config) (*World, error) {
	w := &World{Config: c}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	if err := w.open(); err != nil {
		end := journal.End{Outcome: journal.Trouble, Reason: err.Error()}
		return nil, errors.Join(err, w.Close(end))
	}
	return w, nil
}

func (w *World) open() error {
	events, err := w.create(JournalFile)
	if err != nil {
		return err
	}
	start := time.Now()
	w.Journal = journal.Start(events, start, w.watch(), w.unwritten)
	w.Journal.Add(start, journal.Record{Kind: journal.KindRun, Run: w.describe(start)})

	if w.temp, w.sweep, err = qemu.TempDir(); err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	frames, err := w.create(captureFile)
	if err != nil {
		return err
	}
	w.capture = capture.New(frames, w.trouble)
	w.relay = relay.New(relay.Options{Seed: w.Cast.Seed, Observe: w.observe, Report: w.trouble})
	port, err := w.relay.Local(stationName)
	if err != nil {
		return fmt.Errorf("rig: %w", err)
	}
	w.station, err = netstack.New(port, netstack.Config{
		MAC:  provision.MAC(provision.Rig),
		Addr: provision.Rig,
	})
	if err != nil {
		return fmt.Errorf("rig: station: %w", err)
	}
	w.client = newClient(w.station)
	for i := range w.Cast.Nodes {
		if err := w.prepare(i); err != nil {
			return err
		}
	}
	return nil
}

// create makes an artefact that Close closes.
func (w *World) create(name string) (*os.File, error) {
	f, err := os.Create(filepath.Join(w.Folder, name))
	if err != nil {
		return nil, fmt.Errorf("rig: %w", err)
	}
	w.files = append(w.files, f)
	return f, nil
}

// watch ends the world's context with the first record that makes going on pointless.
func (w *World) watch() func(journal.Record) {
	var watch judge.Watch
	return func(r journal.Record) {
		if alarm, ok := watch.See(r); ok {
			w.cancel(&Stopped{alarm})
		}
		w.noteEpoch(r)
		if w.Watch != nil {
			w.Watch(r)
		}
	}
}

// unwritten ends the world's context when the journal cannot be written any more: the verdict comes
// of it, so that going on is pointless.
func (w *World) unwritten(err error) {
	w.cancel(&Stopped{judge.Alarm{Reason: err.Error(), Trouble: true}})
}

func (w *World) describe(start time.Time) *journal.Run {
	run := &journal.Run{
		Schema:   journal.Schema,
		Fault:    w.Fault,
		Scenario: w.Scenario,
		Seed:     w.Cast.Seed,
		Wall:     start.UTC().Round(0),
		Image:    w.Image,
		SHA256:   w.SHA256,
		RAM:      w.RAM,
		QEMU:     w.QEMU,
		CPUs:     runtime.NumCPU(),
		Slow:     w.Slow,
	}
	authority := w.config(0)
	run.Times = times(authority.Timing, authority.AcksAll)
	for i, n := range w.Cast.Nodes {
		run.Nodes = append(run.Nodes, journal.Node{
			Name: n.Name, ID: n.ID.String(), Address: n.Address.String(), Authority: i == 0,
		})
	}
	for _, o := range provision.LabObjects() {
		run.Objects = append(run.Objects, journal.Object{Name: o.Name, ID: o.ID.String()})
	}
	return run
}

// times is a node's timing as the journal has it.
func times(given config.Timing, acks bool) *journal.Times {
	t := timing.Default
	if given != (config.Timing{}) {
		t = timing.Timing{Heartbeat: when.Span(given.Heartbeat.Milliseconds()),
			Suspect: when.Span(given.Suspect.Milliseconds()), Fail: when.Span(given.Fail.Milliseconds()),
			WriteLease: when.Span(given.Lease.Milliseconds())}
	}
	t.AcksAll = acks
	return &journal.Times{Heartbeat: int64(t.Heartbeat), Suspect: int64(t.Suspect),
		Fail: int64(t.Fail), Lease: int64(t.WriteLease), Fence: t.FencedBy()}
}

// trouble journals what went wrong on the rig's own side. It may be called from any goroutine.
func (w *World) trouble(err error) {
	w.Journal.Add(time.Now(), journal.Record{Kind: journal.KindTrouble, Trouble: err.Error()})
}

// Patience is how long the rig waits for what usually takes less than d.
func (w *World) Patience(d time.Duration) time.Duration {
	return time.Duration(float64(d) * max(1, w.Slow))
}

// Context ends when the run is to end: its cause is a *Stopped, or that of Open's context.
func (w *World) Context() context.Context { return w.ctx }

// lastWords is how long a machine that panicked may take to print its trace and to reset.
const lastWords = 3 * time.Second

// Linger waits, when the world has stopped because of a panic, until a machine has reset or ended,
// at most for a moment: the trace is worth having on the console.
func (w *World) Linger(ctx context.Context) {
	var stopped *Stopped
	if !errors.As(context.Cause(w.ctx), &stopped) || !stopped.Panic {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.Patience(lastWords))
	defer cancel()
	w.Journal.Await(ctx, 0, func(r journal.Record) bool {
		reset := r.Event != nil && (r.Event.Name == "RESET" || r.Event.Name == "SHUTDOWN")
		return reset || r.Kind == journal.KindExit
	})
}

// Close ends every machine and every goroutine, writes the journal's end and the capture's, and
// removes the temporary files. Its error is about the artefacts; trouble makes the end say so.
func (w *World) Close(end journal.End) error {
	w.Hush()
	for _, m := range w.machines {
		w.quit(m)
	}
	w.watchers.Wait()
	w.cancel(errors.New("the run is over"))
	w.callers.Wait()
	errs := []error{w.closeTapes()}
	if w.client != nil {
		w.client.CloseIdleConnections()
	}
	if w.station != nil {
		w.station.Close()
	}
	if w.attacker != nil {
		w.attacker.Close()
	}
	if w.relay != nil {
		w.relay.Close() // after this nobody observes any more
		if lost := w.relay.LostRecords(); lost > 0 {
			w.trouble(fmt.Errorf("%d frames are missing from the capture", lost))
		}
		errs = append(errs, w.capture.Finish(w.relay.Ports()))
	}
	if w.Journal != nil {
		errs = append(errs, w.Journal.Close(end))
	}
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	if w.sweep != nil {
		w.sweep()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("rig: artefacts: %w", err)
	}
	return nil
}

// heading separates the boots in a console file.
func heading(to io.Writer, node string, boot int) error {
	if boot == 1 {
		return nil
	}
	_, err := fmt.Fprintf(to, "\n==== %s, boot %d ====\n", node, boot)
	return err
}
