package relay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// Port is a station's place on the switch. It is made once and outlives its station.
type Port struct {
	name  string
	relay *Relay
	queue chan parcel // frames for the station; closed by close, under the relay's lock

	socket        *net.UnixConn // nil for an in-process port
	path, station string        // the socket's path and the station's

	// What follows is guarded by the relay's lock.
	frozen   bool
	received uint64 // frames from the station
	other    Counts // Runt and Local: frames from the station that took no path
}

// ErrName says that a port's name is taken or empty.
var ErrName = errors.New("relay: port name is empty or taken")

func (r *Relay) add(p *Port) error {
	p.relay, p.queue = r, make(chan parcel, r.options.Queue)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return net.ErrClosed
	}
	if p.name == "" || slices.ContainsFunc(r.ports, func(q *Port) bool { return q.name == p.name }) {
		return fmt.Errorf("%w: %q", ErrName, p.name)
	}
	r.ports = append(r.ports, p)
	return nil
}

// Local adds a port for a station of this process, which uses Send and Receive.
func (r *Relay) Local(name string) (*Port, error) {
	p := &Port{name: name}
	if err := r.add(p); err != nil {
		return nil, err
	}
	return p, nil
}

// Unix adds a port for a station in another process: the station binds the unix datagram socket
// station and sends to path, which is bound here. The station may come later, die, and come again.
// What stands at path is removed.
func (r *Relay) Unix(name, path, station string) (*Port, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("relay: port %s: %w", name, err)
	}
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("relay: port %s: %w", name, err)
	}
	p := &Port{name: name, socket: socket, path: path, station: station}
	if err := r.add(p); err != nil {
		socket.Close()
		os.Remove(path)
		return nil, err
	}
	r.working.Go(p.read)
	r.working.Go(p.write)
	return p, nil
}

// Name returns the port's name, unique in its relay.
func (p *Port) Name() string { return p.name }

// Sockets returns the paths of a Unix port, the station's first; both are empty for a Local port.
func (p *Port) Sockets() (station, relay string) { return p.station, p.path }

// Freeze loses every frame for the station from now on, and those that wait in the port's queue. A
// station has to be frozen before it is paused or stopped: what its socket holds already, up to
// about ten frames and the one being written, it gets when it goes on.
func (p *Port) Freeze() {
	r := p.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	p.frozen = true
	for {
		select {
		case x := <-p.queue:
			r.settle(&x, Frozen, time.Now())
		default:
			return
		}
	}
}

// Thaw ends Freeze.
func (p *Port) Thaw() {
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	p.frozen = false
}

// Received counts the frames that the station has sent.
func (p *Port) Received() uint64 {
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	return p.received
}

// Counts returns the verdicts on the station's frames, over all paths, so far.
func (p *Port) Counts() Counts {
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	return p.counts()
}

func (p *Port) counts() Counts {
	sum := p.other
	for key, path := range p.relay.paths {
		if key[0] == p {
			for v, n := range path.counts {
				sum[v] += n
			}
		}
	}
	return sum
}

// Send sends one frame from a Local port's station: the concatenation of parts, padded to
// Ethernet's minimum of 60 bytes. False means that the relay is closed; what else becomes of a
// frame, the station does not learn, as on any Ethernet. parts are the caller's again afterwards.
func (p *Port) Send(parts [][]byte) bool {
	if p.socket != nil {
		panic("relay: Send on a port whose station is another process")
	}
	frame := slices.Concat(parts...)
	if short := minFrame - len(frame); short > 0 && len(frame) >= headerLen {
		frame = append(frame, make([]byte, short)...)
	}
	return p.relay.arrive(p, frame)
}

// Receive calls f with each frame for a Local port's station, in order, until the relay is closed,
// and then returns net.ErrClosed. f may keep the frame, but must not change it: other stations may
// have got the same. One Receive at a time keeps the order.
func (p *Port) Receive(f func(frame []byte)) error {
	if p.socket != nil {
		panic("relay: Receive on a port whose station is another process")
	}
	for x := range p.queue {
		f(x.frame)
	}
	return net.ErrClosed
}

// enqueue hands a frame to the port's station. It does not wait. The relay's lock is held, and the
// relay is open.
func (p *Port) enqueue(x parcel) Verdict {
	if p.frozen {
		return Frozen
	}
	select {
	case p.queue <- x:
		return Forwarded
	default:
		return Full
	}
}

// read is the goroutine that takes the station's frames. It must never wait: QEMU spins meanwhile.
func (p *Port) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := p.socket.Read(buf)
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				p.relay.options.Report(fmt.Errorf("relay: port %s reads no more: %w", p.name, err))
			}
			return
		}
		p.relay.arrive(p, slices.Clone(buf[:n]))
	}
}

// write is the goroutine that sends the station its frames. It waits while the station's socket is
// full, which holds only about ten frames; the queue behind it is what bounds the waiting.
func (p *Port) write() {
	to := &net.UnixAddr{Name: p.station, Net: "unixgram"}
	reported := false
	for x := range p.queue {
		_, err := p.socket.WriteToUnix(x.frame, to)
		if err == nil || errors.Is(err, net.ErrClosed) {
			continue
		}
		p.absent(x)
		if !reported && !nobody(err) {
			p.relay.options.Report(fmt.Errorf("relay: port %s: %w", p.name, err))
			reported = true
		}
	}
}

// nobody tells the errors of a station that is not there, never was, or just ended.
func nobody(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET)
}

// absent settles a frame that the station's socket did not take.
func (p *Port) absent(x parcel) {
	r := p.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settle(&x, Absent, time.Now())
}

// close ends the port's goroutines. The relay's lock is held.
func (p *Port) close() {
	close(p.queue)
	if p.socket != nil {
		p.socket.Close()
		os.Remove(p.path)
	}
}
