package world

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast/netstack"
	"holdfast/rig/journal"
	"holdfast/rig/provision"
)

// patience is far more than anything in these tests takes.
const patience = 20 * time.Second

// guest is a node's place on the Ethernet with a stack of this process in it, and no machine.
type guest struct {
	*netstack.Stack
	address netip.Addr
}

// unsure is the object of which the guests do not know whether they have committed it; they answer
// with the epoch in which they were asked first.
const unsure = "unsure"

// inhabited is a world of two guests that serve HTTP.
func inhabited(t *testing.T) (*World, [2]guest) {
	t.Helper()
	w, err := Open(t.Context(), Config{
		Fault: "test", Folder: t.TempDir(), Cast: provision.Draw(1, 2), Patient: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(journal.End{Outcome: journal.Complete}); err != nil {
			t.Error(err)
		}
	})
	var guests [2]guest
	for i, m := range w.machines {
		if m.port, err = w.relay.Local("guest of " + m.node.Name); err != nil {
			t.Fatal(err)
		}
		stack, err := netstack.New(m.port, netstack.Config{MAC: m.node.MAC(), Addr: m.node.Address})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stack.Close)
		guests[i] = guest{stack, m.node.Address.Addr()}
		listener, err := stack.Listen(httpPort)
		if err != nil {
			t.Fatal(err)
		}
		name := m.node.Name
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Method == http.MethodPut && r.URL.Path == objectPath(unsure) {
				http.Error(rw, "unknown-outcome: since "+r.Header.Get(firstEpochKey),
					http.StatusGatewayTimeout)
				return
			}
			fmt.Fprintf(rw, "%s %s %s %s %s\n", name, r.Method, r.URL.Path,
				r.Header.Get("Authorization"), body)
		})}
		go server.Serve(listener)
		t.Cleanup(func() { server.Close() })
	}
	return w, guests
}

// session is a mesh session between the guests, of which the first one listens.
func session(t *testing.T, guests [2]guest) (authority, member net.Conn) {
	t.Helper()
	listener, err := guests[0].Listen(provision.MeshPort)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	to := netip.AddrPortFrom(guests[0].address, provision.MeshPort)
	if member, err = guests[1].Dial(ctx, to); err != nil {
		t.Fatal(err)
	}
	if authority, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{authority, member} {
		c.SetDeadline(time.Now().Add(patience))
	}
	return authority, member
}

// say sends a text from one end and awaits the frame with it that got the verdict.
func say(t *testing.T, w *World, c net.Conn, text, from, verdict string) {
	t.Helper()
	n := w.Journal.Len()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := w.Journal.Await(ctx, n, func(r journal.Record) bool {
		return r.Kind == journal.KindFrame && r.Node == "guest of "+from &&
			r.Frame.Verdict == verdict && r.Frame.Payload >= len(text)
	})
	if err != nil {
		t.Fatalf("no frame with %q was %s: %v", text, verdict, err)
	}
}

func hear(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func TestACutKeepsWhatThePeerSaysUntilItIsDroppedAndLosesTheRest(t *testing.T) {
	w, guests := inhabited(t)
	authority, member := session(t, guests)
	say(t, w, member, "before", "n1", "forwarded")
	hear(t, authority, "before")

	must(t, w.Cut("n0", "n1"))
	say(t, w, authority, "lost", "n0", "dropped")
	say(t, w, member, "kept", "n1", "held")
	must(t, w.Drop("n1", "n0"))
	say(t, w, member, "late", "n1", "dropped")
	for _, node := range []string{"n0", "n1"} {
		if a, err := w.Get(t.Context(), node, "/"); err != nil || !strings.HasPrefix(a.Body, node) {
			t.Errorf("during the cut %s answers the rig with %q, %v", node, a.Body, err)
		}
	}
	must(t, w.Release("n1", "n0"))
	hear(t, authority, "kept")
	if err := w.Release("n1", "n0"); err == nil {
		t.Error("what the relay had kept was released twice")
	}

	must(t, w.Heal("n0", "n1"))
	hear(t, authority, "late")
	hear(t, member, "lost")
	var actions []string
	for _, r := range w.Journal.Records() {
		if r.Kind == journal.KindAction {
			actions = append(actions, r.Node+" "+r.Action.Name+" "+r.Action.Peer)
			if r.Action.Done < r.At {
				t.Errorf("%s was done before it began", r.Action.Name)
			}
		}
	}
	if got := strings.Join(actions, ", "); got != "n0 cut n1, n1 release n0, n0 heal n1" {
		t.Errorf("the journal has the actions %s", got)
	}
}

func TestAHealedWayHasForgottenWhatWasKept(t *testing.T) {
	w, guests := inhabited(t)
	_, member := session(t, guests)
	must(t, w.Cut("n0", "n1"))
	say(t, w, member, "kept", "n1", "held")
	must(t, w.Heal("n0", "n1"))
	if held, _ := w.relay.Path(w.machine("n1").port, w.machine("n0").port).Waiting(); held != 0 {
		t.Errorf("%d frames are still kept", held)
	}
}

func TestAnAddressOfThisHostLeadsToANode(t *testing.T) {
	w, _ := inhabited(t)
	for _, node := range []string{"n0", "n1"} {
		address, err := w.Forward(node)
		if err != nil {
			t.Fatal(err)
		}
		if !address.Addr().IsLoopback() {
			t.Errorf("%s is reached at %v, which is not of this host alone", node, address)
		}
		client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
		for range 2 {
			answer, err := client.Get(fmt.Sprintf("http://%v/mesh", address))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if want := node + " GET /mesh"; err != nil || !strings.HasPrefix(string(body), want) {
				t.Errorf("answer %q, %v; want one that begins with %q", body, err, want)
			}
		}
	}
}

func TestAnAddressThatLeadsToNobodyEndsTheConnection(t *testing.T) {
	w, _ := inhabited(t)
	address, err := w.Forward("n1")
	if err != nil {
		t.Fatal(err)
	}
	w.station.Close()
	c, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Errorf("read %d bytes, %v; want the end", n, err)
	}
}

func TestRequestsThatNobodyWaitsForAreJournalled(t *testing.T) {
	w, _ := inhabited(t)
	w.PutAside("n1", "lab-0", "token", "value")
	w.ReadAside("n0", "lab-1", "other")
	for path, want := range map[string]string{
		"/objects/lab-0": "n1 PUT /objects/lab-0 Holdfast token value\n",
		"/objects/lab-1": "n0 GET /objects/lab-1 Holdfast other \n",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		r, err := w.Journal.Await(ctx, 0, func(r journal.Record) bool {
			return r.HTTP != nil && r.HTTP.Path == path
		})
		cancel()
		if err != nil || r.HTTP.Status != 200 || r.HTTP.Body != want {
			t.Errorf("%s: %+v, %v; want %q", path, r.HTTP, err, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
