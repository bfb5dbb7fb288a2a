package node

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/kernel/node/internal/memnet"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/home"
	"holdfast/mesh/id"
	"holdfast/mesh/when"
	"holdfast/nvram"
)

// identity is one node's key with what names it.
type identity struct {
	seed nvram.Secret
	key  ed25519.PrivateKey
	id   id.Node
}

func newIdentity(n byte) identity {
	i := identity{seed: nvram.Secret{n, n, n}}
	i.key = ed25519.NewKeyFromSeed(i.seed[:])
	i.id = id.NodeOf(i.public())
	return i
}

func (i identity) public() ed25519.PublicKey { return i.key.Public().(ed25519.PublicKey) }

func (i identity) keyText() string {
	return base64.RawURLEncoding.EncodeToString(i.public())
}

// root and member home some of the lab objects each; a test says so, since everything that routes
// rests on it.
var root, member, stranger = newIdentity(1), newIdentity(2), newIdentity(3)

const (
	rootIP   = "10.7.0.10"
	memberIP = "10.7.0.11"
	rigIP    = "10.7.0.1"
)

// rootEnv and memberEnv are the environments of a lab with failure detection.
func rootEnv(more ...string) []string {
	return append([]string{
		"net.ip=" + rootIP + "/24", "mesh.peer=:7070", "mesh.root=self",
		"mesh.allow=" + member.id.String(), "mesh.fail=1", "mesh.route=1", "mesh.lab=1",
	}, more...)
}

func memberEnv(more ...string) []string {
	return append([]string{
		"net.ip=" + memberIP + "/24", "mesh.peer=" + rootIP + ":7070",
		"mesh.root=" + root.keyText(), "mesh.fail=1", "mesh.route=1", "mesh.lab=1",
	}, more...)
}

// chip is a provisioned chip. Without an identity and entropy it has the environment alone.
func chip(t *testing.T, env []string, who *identity, entropy bool) nvram.Memory {
	t.Helper()
	e, err := nvram.NewEnvironment(env...)
	if err != nil {
		t.Fatal(err)
	}
	p := nvram.Provision{Environment: e}
	if who != nil {
		p.Identity = &nvram.Identity{Seed: who.seed}
	}
	if entropy {
		p.Entropy = &nvram.Secret{42}
	}
	image, err := p.Image()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// console records what a node prints.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *console) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Split(strings.TrimSuffix(c.text.String(), "\n"), "\n")
}

// ended is the lines that have ended.
func (c *console) ended() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(c.text.String(), "\n")
	return lines[:len(lines)-1]
}

// testMachine is a Machine that a test looks into.
type testMachine struct {
	chip    nvram.Chip
	seed    *[32]byte // of the loader
	keys    [][32]byte
	console console
	onRekey func()
	second  *secondClock // nil: there is none
	dog     *fakeDog     // nil: there is none
	counter counter

	keyboard Keyboard // nil: there is none
	epitaph  string
	switched string // "restart" or "power off", once one was done
}

// counter is a machine's raw counter.
type counter struct {
	mu      sync.Mutex
	boot    time.Time
	stopped time.Time     // since when it stands still; zero while it runs
	lost    time.Duration // for how long it has stood still
}

func (c *counter) now() when.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.stopped.IsZero() {
		now = c.stopped
	}
	return when.Instant((now.Sub(c.boot) - c.lost).Milliseconds())
}

// stop has the counter stand still until the function that it returns is called.
func (c *counter) stop() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost += time.Since(c.stopped)
		c.stopped = time.Time{}
	}
}

// secondClock goes on whatever happens, in whole seconds.
type secondClock struct {
	dead  atomic.Bool // does not answer
	reads atomic.Int64
}

func (c *secondClock) read() (when.Calendar, bool) {
	c.reads.Add(1)
	return when.Calendar(time.Now().Unix()), !c.dead.Load()
}

// fakeDog records what a watchdog is told.
type fakeDog struct {
	after atomic.Int64 // nanoseconds; of Start
	feeds atomic.Int64
}

func (d *fakeDog) Start(after time.Duration) { d.after.Add(int64(after)) }
func (d *fakeDog) Feed()                     { d.feeds.Add(1) }

// machine boots at the time of the call.
func (m *testMachine) machine() Machine {
	m.counter.boot = time.Now()
	machine := Machine{
		Clock:   m.counter.now,
		NVRAM:   m.chip,
		Console: &m.console,
		Entropy: Entropy{
			Seed: func() (seed [32]byte, ok bool) {
				if m.seed == nil {
					return seed, false
				}
				return *m.seed, true
			},
			Cycles: func() uint64 { return 7 },
			Rekey: func(key *[32]byte) {
				m.keys = append(m.keys, *key)
				if m.onRekey != nil {
					m.onRekey()
				}
			},
		},
	}
	if m.second != nil {
		machine.Second = m.second.read
	}
	if m.dog != nil {
		machine.Watchdog = m.dog
	}
	machine.Keyboard, machine.Epitaph = m.keyboard, m.epitaph
	machine.Restart = func() { m.switched = "restart" }
	machine.PowerOff = func() { m.switched = "power off" }
	return machine
}

// world is a network of running nodes inside a synctest bubble, with a station that asks them.
type world struct {
	t   *testing.T
	net *memnet.Net
	rig *memnet.Host
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: memnet.New()}
		w.rig = w.net.Host(rigIP)
		f(t, w)
	})
}

// running is one boot of a node.
type running struct {
	*testMachine
	w    *world
	node *Node
	host *memnet.Host
	stop func()
	err  error // of Run, after stop
}

// boot starts a node on a chip, on a machine with a second clock and a watchdog.
func (w *world) boot(c nvram.Chip) *running {
	return w.start(&testMachine{chip: c, second: new(secondClock), dog: new(fakeDog)})
}

// start starts a node on a machine. The chip's address decides where it is on the network.
func (w *world) start(m *testMachine) *running {
	r := &running{testMachine: m, w: w}
	r.node = Boot(r.machine())
	address, _ := r.node.Address()
	var network Network
	if address.IsValid() {
		r.host = w.net.Host(address.Addr().String())
		network = r.host
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.err = r.node.Run(ctx, network)
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	w.t.Cleanup(r.stop)
	return r
}

// kill takes a node's power.
func (r *running) kill() {
	r.host.Kill()
	r.stop()
}

// pair boots the authority and a member, and waits until they have joined and may commit.
func (w *world) pair() (a, m *running) {
	w.t.Helper()
	a = w.boot(chip(w.t, rootEnv(), &root, true))
	m = w.boot(chip(w.t, memberEnv(), &member, true))
	a.await("mesh-join", "confirmed")
	m.await("mesh-join", "confirmed")
	m.awaitLease()
	return a, m
}

// awaitLease waits until the node may commit: a member's first write lease comes a moment after its
// join.
func (r *running) awaitLease() {
	r.w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(10 * time.Millisecond) {
		if mutable, _ := r.status("/mesh")[0].GetBool("mutable"); mutable {
			return
		}
	}
	r.w.t.Fatal("the node gets no write lease")
}

// evidence is the console's rows; a line that claims to be one and is not fails the test.
func (r *running) evidence() []evidence.Line {
	r.w.t.Helper()
	return parse(r.w.t, r.console.lines())
}

func parse(t *testing.T, lines []string) []evidence.Line {
	t.Helper()
	var rows []evidence.Line
	for _, text := range lines {
		switch line, err := evidence.Parse(text); {
		case err == nil:
			rows = append(rows, line)
		case !errors.Is(err, evidence.ErrNotEvidence):
			t.Errorf("%q: %v", text, err)
		}
	}
	return rows
}

// rows is those with this beginning.
func (r *running) rows(prefix string, words ...string) []evidence.Line {
	r.w.t.Helper()
	return slices.DeleteFunc(r.evidence(), func(l evidence.Line) bool {
		return !l.Is(prefix, words...)
	})
}

// patience is more virtual time than anything here may take.
const patience = 10 * time.Minute

// await waits for the first row with this beginning, from the boot on.
func (r *running) await(prefix string, words ...string) evidence.Line {
	r.w.t.Helper()
	return r.awaitNth(1, prefix, words...)
}

func (r *running) awaitNth(n int, prefix string, words ...string) evidence.Line {
	r.w.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if rows := r.rows(prefix, words...); len(rows) >= n {
			return rows[n-1]
		}
		<-time.After(10 * time.Millisecond)
	}
	r.w.t.Fatalf("no row %s: %s; console:\n%s", prefix, strings.Join(words, " "),
		strings.Join(r.console.lines(), "\n"))
	return evidence.Line{}
}

// ask is send without headers either way.
func (r *running) ask(method, path, body string) (status int, answer string) {
	r.w.t.Helper()
	status, answer, _ = r.send(method, path, body)
	return status, answer
}

// send sends one request to the node, from the rig's station, on a connection of its own. Each
// header is "Key: value".
func (r *running) send(method, path, body string, headers ...string) (status int, answer string,
	header http.Header) {
	r.w.t.Helper()
	address, _ := r.node.Address()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, to string) (net.Conn, error) {
			return r.w.rig.Dial(ctx, netip.MustParseAddrPort(to))
		},
	}}
	url := "http://" + address.Addr().String() + ":80" + path
	req, err := http.NewRequestWithContext(r.w.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		r.w.t.Fatal(err)
	}
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Add(key, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

// get is a page that must be there.
func (r *running) get(path string) []string {
	r.w.t.Helper()
	status, body := r.ask("GET", path, "")
	if status != http.StatusOK {
		r.w.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	if body == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(body, "\n"), "\n")
}

// status is the page's rows.
func (r *running) status(path string) []evidence.Line {
	r.w.t.Helper()
	var rows []evidence.Line
	for _, text := range r.get(path) {
		line, err := evidence.ParseStatus(text)
		if err != nil {
			r.w.t.Fatalf("GET %s: %q: %v", path, text, err)
		}
		rows = append(rows, line)
	}
	return rows
}

// step asks for a lab step with a capability for the object, under the epoch.
func (r *running) step(number int, object string, holder identity, epoch id.Epoch) evidence.Line {
	r.w.t.Helper()
	c := capability.Mint(token(object, holder, epoch), root.key)
	status, body := r.ask("POST", "/mesh/step/"+strconv.Itoa(number), "cap="+capability.Text(c))
	if status != http.StatusOK {
		r.w.t.Fatalf("step %d: %d %s", number, status, body)
	}
	line, err := evidence.Parse(strings.TrimSuffix(body, "\n"))
	if err != nil {
		r.w.t.Fatalf("step %d: %q: %v", number, body, err)
	}
	return line
}

// homedAt is the lowest-numbered lab object whose home is n while both are members.
func homedAt(t *testing.T, n identity) string {
	t.Helper()
	for i := range id.LabObjects {
		name := id.LabName(i)
		if home.Of(id.ObjectOf(name), []id.Node{root.id, member.id}) == n.id {
			return name
		}
	}
	t.Fatalf("%v homes no lab object", n.id)
	return ""
}

// has fails unless the line has these fields.
func has(t *testing.T, l evidence.Line, fields ...string) {
	t.Helper()
	for _, f := range fields {
		key, want, _ := strings.Cut(f, "=")
		if got, ok := l.Get(key); !ok || got != want {
			t.Errorf("%q: %s is %q, want %q", l, key, got, want)
		}
	}
}
