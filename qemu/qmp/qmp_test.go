package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const greeting = `{"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": ["oob"]}}` + "\r\n"

// qemu is the far end of a session. What it says comes with a pipe's semantics: a write returns
// when the client has read it.
type qemu struct {
	net.Conn
	in *bufio.Scanner
}

// read returns the next command and its id.
func (q *qemu) read() (command string, id uint64) {
	if !q.in.Scan() {
		return "", 0
	}
	var r struct {
		Execute   string
		Arguments json.RawMessage
		ID        uint64
	}
	if err := json.Unmarshal(q.in.Bytes(), &r); err != nil {
		return err.Error(), 0
	}
	return r.Execute + string(r.Arguments), r.ID
}

func (q *qemu) say(format string, args ...any) { fmt.Fprintf(q, format+"\r\n", args...) }

// greet does a whole handshake.
func (q *qemu) greet() {
	io.WriteString(q, greeting)
	if command, id := q.read(); command == "qmp_capabilities" {
		q.say(`{"return": {}, "id": %d}`, id)
	}
}

// session runs a test in a bubble, with a client that has shaken hands with a far end that then
// does what script says. The test's end ends the session.
func session(
	t *testing.T, onEvent func(Event), script func(*qemu), test func(*testing.T, *Client),
) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		q := &qemu{theirs, bufio.NewScanner(theirs)}
		go func() {
			q.greet()
			script(q)
		}()
		c, err := New(t.Context(), ours, onEvent)
		if err != nil {
			t.Fatal(err)
		}
		test(t, c)
		c.Close()
		theirs.Close()
		<-c.Done()
	})
}

func TestACommandGetsItsAnswer(t *testing.T) {
	var asked []string
	session(t, nil, func(q *qemu) {
		for {
			command, id := q.read()
			if command == "" {
				return
			}
			asked = append(asked, command)
			q.say(`{"return": {"status": "running"}, "id": %d}`, id)
		}
	}, func(t *testing.T, c *Client) {
		for _, args := range []any{nil, map[string]string{"command-line": "info\nqtree"}} {
			answer, err := c.Execute(t.Context(), "query", args)
			if err != nil || string(answer) != `{"status": "running"}` {
				t.Errorf("answer %s, %v", answer, err)
			}
		}
		if want := []string{"query", `query{"command-line":"info\nqtree"}`}; !slices.Equal(asked, want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
	})
}

func TestAnswersThatComeInAnotherOrderReachTheirCommands(t *testing.T) {
	session(t, nil, func(q *qemu) {
		_, first := q.read()
		_, second := q.read()
		q.say(`{"return": "second", "id": %d}`, second)
		q.say(`{"return": "first", "id": %d}`, first)
	}, func(t *testing.T, c *Client) {
		first := make(chan string)
		go func() {
			answer, err := c.Execute(t.Context(), "a", nil)
			first <- fmt.Sprint(string(answer), " ", err)
		}()
		synctest.Wait()
		if answer, err := c.Execute(t.Context(), "b", nil); err != nil || string(answer) != `"second"` {
			t.Errorf("second: %s, %v", answer, err)
		}
		if got := <-first; got != `"first" <nil>` {
			t.Errorf("first: %s", got)
		}
	})
}

func TestARefusalIsAnErrorThatNamesTheCommand(t *testing.T) {
	session(t, nil, func(q *qemu) {
		_, id := q.read()
		q.say(`{"error": {"class": "CommandNotFound", "desc": "no such thing"}, "id": %d}`, id)
	}, func(t *testing.T, c *Client) {
		_, err := c.Execute(t.Context(), "fly", nil)
		var refusal *Error
		if !errors.As(err, &refusal) || *refusal != (Error{"fly", "CommandNotFound", "no such thing"}) {
			t.Errorf("error %v", err)
		}
		if want := "QMP fly: no such thing (CommandNotFound)"; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	})
}

func TestEventsAreDeliveredInOrderWithTheInstantTheyCame(t *testing.T) {
	var start time.Time
	var got []string
	onEvent := func(e Event) {
		got = append(got, fmt.Sprintf("%v %s %s", e.At.Sub(start), e.Name, e.Data))
	}
	session(t, onEvent, func(q *qemu) {
		start = time.Now()
		time.Sleep(time.Second)
		q.say(`{"timestamp": {"seconds": 1, "microseconds": 2}, "event": "STOP"}`)
		_, id := q.read()
		time.Sleep(time.Second)
		q.say(`{"event": "SHUTDOWN", "data": {"guest": true}}`)
		q.say(`{"return": {}, "id": %d}`, id)
		q.Close()
	}, func(t *testing.T, c *Client) {
		if _, err := c.Execute(t.Context(), "quit", nil); err != nil {
			t.Error(err)
		}
		<-c.Done()
		want := []string{`1s STOP `, `2s SHUTDOWN {"guest": true}`}
		if !slices.Equal(got, want) {
			t.Errorf("events %q, want %q", got, want)
		}
	})
}

func TestTheEventFunctionMayExecuteAndClose(t *testing.T) {
	var c *Client
	answers := make(chan error, 2)
	onEvent := func(e Event) {
		_, err := c.Execute(context.Background(), "cont", nil)
		answers <- err
		if e.Name == "LAST" {
			c.Close()
		}
	}
	session(t, onEvent, func(q *qemu) {
		q.read() // the test's command, which says that c is set
		q.say(`{"event": "RESET"}`)
		_, id := q.read()
		q.say(`{"return": {}, "id": %d}`, id)
		q.say(`{"event": "LAST"}`)
		q.Close()
	}, func(t *testing.T, client *Client) {
		c = client
		c.Execute(t.Context(), "go", nil)
		<-c.Done()
		if err := <-answers; err != nil {
			t.Errorf("first: %v", err)
		}
		if err := <-answers; !errors.Is(err, ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestEventsBeyondTheQueueAreCounted(t *testing.T) {
	var gate chan struct{} // made inside the bubble
	onEvent := func(Event) { <-gate }
	session(t, onEvent, func(q *qemu) {
		q.read()
		for range 1 + maxEvents + 3 {
			q.say(`{"event": "RTC_CHANGE"}`)
			synctest.Wait()
		}
	}, func(t *testing.T, c *Client) {
		gate = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.Execute(ctx, "go", nil)
		if n := c.LostEvents(); n != 3 {
			t.Errorf("%d events lost, want 3", n)
		}
		close(gate)
	})
}

func TestACommandWaitsNoLongerThanItsContext(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*qemu)
		says   string
	}{
		{"QEMU does not answer", func(q *qemu) { q.read() }, "no answer"},
		{"QEMU does not read", func(*qemu) {}, "not sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			session(t, nil, c.script, func(t *testing.T, client *Client) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := client.Execute(ctx, "stop", nil)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v", err)
				}
				if d := time.Since(start); d != time.Second {
					t.Errorf("took %v, want 1s", d)
				}
			})
		})
	}
}

func TestACommandBehindOneThatCannotBeSentKeepsItsOwnDeadline(t *testing.T) {
	session(t, nil, func(*qemu) {}, func(t *testing.T, c *Client) {
		start := time.Now()
		long, cancelLong := context.WithTimeout(t.Context(), time.Hour)
		defer cancelLong()
		first := make(chan error)
		go func() {
			_, err := c.Execute(long, "stop", nil)
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Execute(ctx, "cont", nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		c.Close()
		if err := <-first; err == nil {
			t.Error("the first was sent")
		}
	})
}

func TestALateAnswerIsThrownAwayAndTheSessionGoesOn(t *testing.T) {
	session(t, nil, func(q *qemu) {
		_, id := q.read()
		time.Sleep(time.Minute)
		q.say(`{"return": "late", "id": %d}`, id)
		_, id = q.read()
		q.say(`{"return": "in time", "id": %d}`, id)
	}, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if answer, err := c.Execute(ctx, "slow", nil); err == nil {
			t.Errorf("answer %s", answer)
		}
		answer, err := c.Execute(t.Context(), "quick", nil)
		if err != nil || string(answer) != `"in time"` {
			t.Errorf("answer %s, %v", answer, err)
		}
	})
}

func TestTheEndOfTheSessionEndsEveryCommand(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*qemu)
	}{
		{"QEMU is gone", func(q *qemu) { q.Close() }},
		{"not JSON", func(q *qemu) { q.say("Segmentation fault") }},
		{"neither answer nor event", func(q *qemu) { q.say(`{"return": {}}`) }},
		{"a second greeting", func(q *qemu) { io.WriteString(q, greeting) }},
		{"a line without end", func(q *qemu) { q.say("%s", strings.Repeat("x", maxMessage+1)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := func(q *qemu) { q.read(); c.end(q) }
			session(t, nil, script, func(t *testing.T, client *Client) {
				for range 2 { // waiting when it ends, and later
					if _, err := client.Execute(t.Context(), "stop", nil); !errors.Is(err, ErrClosed) {
						t.Errorf("error %v", err)
					}
				}
			})
		})
	}
}

func TestALongAnswerIsWhole(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	session(t, nil, func(q *qemu) {
		_, id := q.read()
		q.say(`{"return": "%s", "id": %d}`, long, id)
	}, func(t *testing.T, c *Client) {
		answer, err := c.Execute(t.Context(), "query-qmp-schema", nil)
		if err != nil || len(answer) != len(long)+2 {
			t.Errorf("%d bytes, %v", len(answer), err)
		}
	})
}

func TestArgumentsThatCannotBeEncodedAreAnErrorOfThatCommandOnly(t *testing.T) {
	session(t, nil, func(q *qemu) {
		_, id := q.read()
		q.say(`{"return": {}, "id": %d}`, id)
	}, func(t *testing.T, c *Client) {
		if _, err := c.Execute(t.Context(), "a", func() {}); err == nil {
			t.Error("no error")
		}
		if _, err := c.Execute(t.Context(), "b", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestAHandshakeThatFailsTellsWhy(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*qemu)
		says   string
	}{
		{"silence", func(q *qemu) { q.read() }, "no greeting"},
		{"no answer", func(q *qemu) { io.WriteString(q, greeting); q.read(); q.read() }, "no answer"},
		{"end", func(q *qemu) { q.Close() }, "EOF"},
		{"something else", func(q *qemu) { q.say("220 ready") }, "not QMP"},
		{"refusal", func(q *qemu) {
			io.WriteString(q, greeting)
			_, id := q.read()
			q.say(`{"error": {"class": "GenericError", "desc": "no"}, "id": %d}`, id)
		}, "no (GenericError)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				go c.script(&qemu{theirs, bufio.NewScanner(theirs)})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := New(ctx, ours, nil)
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
			})
		})
	}
}

func FuzzTheFarEndMaySayAnything(f *testing.F) {
	for _, seed := range []string{
		"", "null\n", "[]\n", `{"id":-1}` + "\n", `{"event":"A"}` + "\n", greeting, greeting + greeting,
		greeting + `{"return": {}, "id": 1}` + "\n",
		greeting + `{"error": {}, "id": 1}` + "\n",
		greeting + `{"error": null, "return": null, "id": 1}` + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		go func() {
			theirs.Write(said)
			theirs.Close()
		}()
		// Nothing is asked of the answers but that the session ends and everything with it.
		c, err := New(t.Context(), ours, func(Event) {})
		if err == nil {
			c.Execute(t.Context(), "stop", nil)
			<-c.Done()
		}
	})
}
