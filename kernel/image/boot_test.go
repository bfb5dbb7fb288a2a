package main_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/internal/imagebuild"
	"holdfast/mesh/evidence"
	"holdfast/nvram"
	"holdfast/qemu"
)

// limit ends an image that hangs; each test needs a few seconds.
const limit = 2 * time.Minute

// build makes the image. Without QEMU the test is skipped, unless HOLDFAST_REQUIRE_QEMU is set.
func build(t testing.TB) (path string) {
	t.Helper()
	if _, err := qemu.Find(); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_QEMU") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	path = filepath.Join(t.TempDir(), "image.elf")
	if err := imagebuild.Build(".", path, "-tags", "nethttpomithttp2"); err != nil {
		t.Fatal(err)
	}
	return path
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
				status, body := n.ask(method, "/objects/lab-0")
				if status != http.StatusServiceUnavailable || body != disabled {
					t.Errorf("%s /objects/lab-0: %d %q, want %q", method, status, body, disabled)
				}
			}
		})
	}
}

func hasField(l evidence.Line, key, want string) bool {
	got, ok := l.Get(key)
	return ok && got == want
}

// booted is a running image on the user network.
type booted struct {
	t     testing.TB
	p     *qemu.Process
	lines chan string
	seen  []string
}

func boot(t testing.TB, m qemu.Machine) *booted {
	t.Helper()
	b := &booted{t: t, lines: make(chan string, 1024)}
	m.Net, m.Limit, m.Dir = qemu.UserNet{Forward: []uint16{80}}, limit, t.TempDir()
	m.OnLine = func(_ time.Time, line string) { b.lines <- line }
	p, err := qemu.Start(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	b.p = p
	return b
}

// await waits for a row with this beginning.
func (b *booted) await(prefix string, words ...string) evidence.Line {
	b.t.Helper()
	for {
		select {
		case text := <-b.lines:
			b.seen = append(b.seen, text)
			if strings.HasPrefix(text, "panic:") {
				b.t.Fatalf("the image died:\n%s", strings.Join(b.seen, "\n"))
			}
			if line, err := evidence.Parse(text); err == nil && line.Is(prefix, words...) {
				return line
			}
		case <-b.p.Done():
			b.t.Fatalf("QEMU ended (%v):\n%s", b.p.Wait(), strings.Join(b.seen, "\n"))
		}
	}
}

// get is a page that must be there.
func (b *booted) get(path string) string {
	b.t.Helper()
	status, body := b.ask(http.MethodGet, path)
	if status != http.StatusOK {
		b.t.Fatalf("GET %s: %d %q", path, status, body)
	}
	return body
}

// ask sends a request without a body through the forwarded port. QEMU's user network accepts for
// the guest before the guest listens, and resets what it then cannot deliver: such a connection is
// no answer yet.
func (b *booted) ask(method, path string) (status int, body string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := "http://" + b.p.Forwarded(80).String() + path
	for {
		req, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			b.t.Fatal(err)
		}
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
		return resp.StatusCode, string(text)
	}
}
