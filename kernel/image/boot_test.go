package main_test

import (
	"context"
	"crypto/ed25519"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/internal/imagebuild/imagetest"
	"holdfast/mesh/capability"
	"holdfast/mesh/evidence"
	"holdfast/mesh/id"
	"holdfast/nvram"
	"holdfast/qemu"
)

// limit ends an image that hangs; each test needs a few seconds.
const limit = 2 * time.Minute

// build makes the image.
func build(t testing.TB) (path string) {
	t.Helper()
	return imagetest.Build(t, ".", "-tags", "nethttpomithttp2")
}

// TestTheImageBootsAsASingleAndServes boots on QEMU's user network with what it may find there as
// its NVRAM [QEMU], in 128 MB.
func TestTheImageBootsAsASingleAndServes(t *testing.T) {
	image := build(t)
	blank := filepath.Join(t.TempDir(), "blank")
	if err := os.WriteFile(blank, make([]byte, nvram.Size), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, nvram, reason string }{
		{"without an EEPROM", "", "env"},
		{"with a blank EEPROM", blank, "no-peer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := boot(t, qemu.Machine{Image: image, NVRAM: test.nvram})
			if row := n.await("mesh=single"); !hasField(row, "reason", test.reason) {
				t.Errorf("%q, want reason=%s", row, test.reason)
			}
			if page := n.get("/"); !strings.HasPrefix(page, "holdfast: ") {
				t.Errorf("GET /: %q", page)
			}
			status, err := evidence.ParseStatus(strings.TrimSuffix(n.get("/mesh"), "\n"))
			if err != nil || !hasField(status, "mesh", "single") {
				t.Errorf("GET /mesh: %q, %v", status, err)
			}
			if log := n.get("/mesh/log"); !strings.Contains(log, " mesh=single reason=") {
				t.Errorf("GET /mesh/log: %q", log)
			}
			disabled := "disabled: mesh=single reason=" + test.reason + "\n"
			for _, method := range []string{http.MethodGet, http.MethodPut} {
				a := n.send(method, "/objects/lab-0", "", nil)
				if a.status != http.StatusServiceUnavailable || a.body != disabled {
					t.Errorf("%s /objects/lab-0: %d %q, want %q", method, a.status, a.body, disabled)
				}
			}
		})
	}
}

// rootChip is a file with the NVRAM of an authority on QEMU's user network, and the key that it
// has.
func rootChip(t testing.TB) (file string, key ed25519.PrivateKey) {
	t.Helper()
	env, err := nvram.NewEnvironment("mesh.peer=:7070", "mesh.root=self", "mesh.route=1")
	if err != nil {
		t.Fatal(err)
	}
	seed, entropy := nvram.Secret{1}, nvram.Secret{2}
	chip, err := nvram.Provision{
		Environment: env, Identity: &nvram.Identity{Seed: seed}, Entropy: &entropy,
	}.Image()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "root")
	if err := os.WriteFile(file, chip, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, ed25519.NewKeyFromSeed(seed[:])
}

// capabilityHeader allows everything with one object through the authority, as a header's value.
func capabilityHeader(key ed25519.PrivateKey, object string) string {
	return "Holdfast " + capability.Text(capability.Mint(capability.Capability{
		Object: id.ObjectOf(object), Holder: id.NodeOf(key.Public().(ed25519.PublicKey)),
		Rights: capability.RightStat | capability.RightCommit, Epoch: 1,
	}, key))
}

// TestAnAuthorityAloneServesObjects boots one with its NVRAM on QEMU's EEPROM.
func TestAnAuthorityAloneServesObjects(t *testing.T) {
	image := build(t)
	file, key := rootChip(t)
	n := boot(t, qemu.Machine{Image: image, NVRAM: file})
	if row := n.await("mesh-node", "start"); !hasField(row, "role", "authority") {
		t.Errorf("%q", row)
	}
	allowed := http.Header{"Authorization": {capabilityHeader(key, "counter")}}
	if a := n.send(http.MethodGet, "/objects/counter", "", allowed); a.status != 404 {
		t.Errorf("before it was stored: %d %q", a.status, a.body)
	}
	if a := n.send(http.MethodPut, "/objects/counter", "one", nil); a.status != 401 {
		t.Errorf("without a capability: %d %q", a.status, a.body)
	}
	a := n.send(http.MethodPut, "/objects/counter", "one", allowed)
	row, err := evidence.Parse(strings.TrimSuffix(a.body, "\n"))
	if err != nil || !hasField(row, "status", "ok") || !hasField(row, "version", "1") {
		t.Errorf("%d %q, %v", a.status, a.body, err)
	}
	a = n.send(http.MethodGet, "/objects/counter", "", allowed)
	if a.status != 200 || a.body != "one" || a.header.Get("Holdfast-Version") != "1" {
		t.Errorf("%d %q, %v", a.status, a.body, a.header)
	}
}

func hasField(l evidence.Line, key, want string) bool {
	got, ok := l.Get(key)
	return ok && got == want
}

// booted is a running image on the user network.
type booted struct {
	t    testing.TB
	p    *qemu.Process
	more chan struct{} // capacity 1: lines has grown since somebody looked

	mu    sync.Mutex
	lines []string
}

func boot(t testing.TB, m qemu.Machine) *booted {
	t.Helper()
	b := &booted{t: t, more: make(chan struct{}, 1)}
	m.Net, m.Limit, m.Dir = qemu.UserNet{Forward: []uint16{80}}, limit, t.TempDir()
	m.OnLine = func(_ time.Time, line string) { b.heard(line) }
	p, err := qemu.Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	b.p = p
	return b
}

// heard takes a line of the console. It never waits: a console that is not drained stops QEMU.
func (b *booted) heard(line string) {
	b.mu.Lock()
	b.lines = append(b.lines, line)
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
}

// said is the console's lines so far.
func (b *booted) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lines)
}

// await waits for the first row with this beginning, from the boot on.
func (b *booted) await(prefix string, words ...string) evidence.Line {
	b.t.Helper()
	return b.awaitNth(1, prefix, words...)
}

func (b *booted) awaitNth(n int, prefix string, words ...string) evidence.Line {
	b.t.Helper()
	for {
		found := 0
		for _, text := range b.said() {
			if strings.HasPrefix(text, "panic:") {
				b.t.Fatalf("the image died:\n%s", strings.Join(b.said(), "\n"))
			}
			line, err := evidence.Parse(text)
			if err != nil || !line.Is(prefix, words...) {
				continue
			}
			if found++; found == n {
				return line
			}
		}
		select {
		case <-b.more:
		case <-b.p.Done():
			b.t.Fatalf("QEMU ended (%v):\n%s", b.p.Wait(), strings.Join(b.said(), "\n"))
		}
	}
}

// get is a page that must be there.
func (b *booted) get(path string) string {
	b.t.Helper()
	a := b.send(http.MethodGet, path, "", nil)
	if a.status != http.StatusOK {
		b.t.Fatalf("GET %s: %d %q", path, a.status, a.body)
	}
	return a.body
}

// answer is what HTTP answers with.
type answer struct {
	status int
	body   string
	header http.Header
}

// send sends a request through the forwarded port. QEMU's user network accepts for the guest before
// the guest listens, and resets what it then cannot deliver: such a connection is no answer yet.
func (b *booted) send(method, path, body string, header http.Header) answer {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + b.p.Forwarded(80).String() + path
	for {
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			b.t.Fatal(err)
		}
		maps.Copy(req.Header, header)
		resp, err := client.Do(req)
		if err != nil {
			select {
			case <-ctx.Done():
				b.t.Fatalf("%s %s: %v", method, path, err)
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			b.t.Fatalf("%s %s: %s %q, %v", method, path, resp.Status, text, err)
		}
		return answer{resp.StatusCode, string(text), resp.Header}
	}
}
