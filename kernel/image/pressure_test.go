package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/mesh/wire"
	"holdfast/qemu"
)

// TestANodeInLittleMemoryRefusesAndGoesOn offers a node in 64 MB more than it can take: connections
// that say nothing, requests without end, the largest values under more names than there is room
// for, the longest pages. What is too much gets a word or a closed connection; the node stays up,
// and serves when it is over. Its memory stays within what there is.
func TestANodeInLittleMemoryRefusesAndGoesOn(t *testing.T) {
	const silent, clients, each = 24, 24, 8
	file, key := rootChip(t)
	n := boot(t, qemu.Machine{Image: build(t), NVRAM: file, RAM: "64M"})
	n.await("mesh-view", "installed")
	n.get("/mesh")
	address := n.p.Forwarded(80).String()
	for range silent {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, "GET /mesh HTTP/1.1\r\nHost: ")
	}
	value := strings.Repeat("v", wire.ValueMax)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			client := http.Client{Timeout: 8 * time.Second,
				Transport: &http.Transport{DisableKeepAlives: true}}
			for j := range each {
				object := fmt.Sprintf("o-%d-%d", i, j)
				offer(t, &client, address, object, value, capabilityHeader(key, object))
			}
		})
	}
	group.Wait()
	n.get("/mesh") // which waits until there is room
	n.get("/mesh/log")
	in, total := n.figure("kernel_pages_touched"), n.figure("kernel_pages_total")
	if in == 0 || in > total {
		t.Errorf("%d pages of %d are in use", in, total)
	}
	starts := 0
	for _, line := range n.said() {
		if strings.HasPrefix(line, "panic:") {
			t.Errorf("%q", line)
		}
		if strings.HasPrefix(line, "mesh-node: start") {
			starts++
		}
	}
	if starts != 1 {
		t.Errorf("the node started %d times", starts)
	}
}

// offer stores a value and asks for the longest pages. Any answer will do, and so will a connection
// that is closed; a refusal without a word will not.
func offer(t *testing.T, client *http.Client, address, object, value, allowed string) {
	for _, path := range []string{"/objects/" + object, "/mesh/log", "/metrics"} {
		method, body := http.MethodGet, ""
		if strings.HasPrefix(path, "/objects") {
			method, body = http.MethodPut, value
		}
		req, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Authorization", allowed)
		resp, err := client.Do(req)
		if err != nil {
			continue // turned away at the door
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil && resp.StatusCode != http.StatusOK && !strings.Contains(string(text), ":") {
			t.Errorf("%s %s: %s without a word: %q", method, path, resp.Status, text)
		}
	}
}

// figure is one of GET /mesh/stats.
func (b *booted) figure(name string) int {
	b.t.Helper()
	for line := range strings.Lines(b.get("/mesh/stats")) {
		if text, ok := strings.CutPrefix(line, name+"="); ok {
			v, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				b.t.Fatal(err)
			}
			return v
		}
	}
	b.t.Fatalf("no figure %s", name)
	return 0
}
