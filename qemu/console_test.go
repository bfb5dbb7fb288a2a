package qemu

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// lines delivers pieces of console output that came one after the other.
func lines(pieces ...string) []string {
	b := newBacklog()
	for _, p := range pieces {
		b.put(time.Time{}, []byte(p))
	}
	b.close()
	var got []string
	deliver(b, nil, func(_ time.Time, line string) { got = append(got, line) })
	return got
}

func TestConsoleOutputIsCutIntoPrintableLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for _, c := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"a newline ends a line", []string{"a\nb\n"}, []string{"a", "b"}},
		{"so does carriage return and newline", []string{"a\r\nb\r\n"}, []string{"a", "b"}},
		{"and several carriage returns", []string{"a\r\r\n"}, []string{"a"}},
		{"cut between the two", []string{"a\r", "\nb"}, []string{"a", "b"}},
		{"empty lines are lines", []string{"\n\r\n"}, []string{"", ""}},
		{"a partial last line is delivered", []string{"a\nb"}, []string{"a", "b"}},
		{"lines of many pieces", []string{"a", "b", "c\nd"}, []string{"abc", "d"}},
		{"a carriage return inside a line", []string{"a\rb\n"}, []string{`a\x0db`}},
		{"tabs and backslashes stay", []string{"a\tb\\x41\n"}, []string{"a\tb\\x41"}},
		{"control characters are escaped", []string{"\x1b[2Ja\x00\x7f\n"}, []string{`\x1b[2Ja\x00\x7f`}},
		{"C1 control characters, too", []string{"\u009b2J\n"}, []string{`\xc2\x9b2J`}},
		{"UTF-8 stays, in pieces, too", []string{"gr\xc3", "\xbcn €\n"}, []string{"grün €"}},
		{"what is not UTF-8 is escaped", []string{"a\xff\xc3\n"}, []string{`a\xff\xc3`}},
		{"a replacement character is UTF-8", []string{"\ufffd\n"}, []string{"\ufffd"}},
		{"the longest line", []string{long + "\n"}, []string{long}},
		{"a longer one comes in pieces", []string{long + "y\n"}, []string{long, "y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(c.pieces...); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLinesDoNotDependOnHowTheOutputWasRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.SampledFrom([]byte("ab\r\n\xc3\xbc\xff\\"))
		output := string(rapid.SliceOf(alphabet).Draw(t, "output"))
		var pieces []string
		for rest := output; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if whole, cut := lines(output), lines(pieces...); !slices.Equal(whole, cut) {
			t.Fatalf("whole %q, in pieces %q", whole, cut)
		}
	})
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "mesh-fail: removed", "\x1b[0m", "\xff\xfe", "ü\u0085\u2028"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := printable(b)
		if !utf8.ValidString(s) {
			t.Errorf("%q is not UTF-8", s)
		}
		for _, r := range s {
			if unicode.IsControl(r) && r != '\t' {
				t.Errorf("%q has a control character", s)
			}
		}
		if printable([]byte(s)) != s {
			t.Errorf("%q changes when printed again", s)
		}
	})
}

func TestALineHasTheInstantOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, qemus := net.Pipe()
		start, b := time.Now(), newBacklog()
		go drain(ours, b)
		go func() {
			for _, piece := range []string{"one\ntw", "o", "\nthr", "ee"} {
				time.Sleep(time.Second)
				io.WriteString(qemus, piece)
			}
			time.Sleep(time.Second)
			qemus.Close()
		}()
		var got []time.Duration
		deliver(b, nil, func(at time.Time, _ string) { got = append(got, at.Sub(start)) })
		// The partial last line has the instant of its last byte, not of the console's end.
		want := []time.Duration{time.Second, 3 * time.Second, 4 * time.Second}
		if !slices.Equal(got, want) {
			t.Errorf("lines after %v, want %v", got, want)
		}
	})
}

func TestWhatIsReadLaterLeavesTheInstantsOfEarlierLines(t *testing.T) {
	start, b := time.Now(), newBacklog()
	for i, piece := range []string{"one\ntw", "o", "\nthr", "ee\n"} { // all before any is delivered
		b.put(start.Add(time.Duration(i)), []byte(piece))
	}
	b.close()
	var got []time.Duration
	deliver(b, nil, func(at time.Time, _ string) { got = append(got, at.Sub(start)) })
	if want := []time.Duration{0, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("lines after %v, want %v", got, want)
	}
}

func TestAReceiverThatStandsStillNeverStopsTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, qemus := net.Pipe()
		b := newBacklog()
		go drain(ours, b)
		gate, done := make(chan struct{}), make(chan []string)
		var raw bytes.Buffer
		go func() {
			var got []string
			deliver(b, &raw, func(_ time.Time, line string) {
				<-gate
				got = append(got, line)
			})
			done <- got
		}()
		io.WriteString(qemus, "first\n")
		synctest.Wait() // the receiver stands still with it
		piece := []byte(strings.Repeat("y", 4095) + "\n")
		written := 0
		for b.dropped() == 0 {
			qemus.Write(piece) // a pipe has no buffer: this returns when the reader has taken it
			synctest.Wait()
			if written += len(piece); written > 2*maxPending {
				t.Fatal("nothing was dropped")
			}
		}
		qemus.Write(piece)
		qemus.Close()
		close(gate)
		got := <-done

		kept := (written - len(piece)) / len(piece)
		if len(got) != 1+kept+1 || got[0] != "first" {
			t.Fatalf("%d lines, want %d", len(got), 1+kept+1)
		}
		if want := "[console: 8192 bytes lost, receiver too slow]"; got[1+kept] != want {
			t.Errorf("last line %q, want %q", got[1+kept], want)
		}
		if b.dropped() != 8192 {
			t.Errorf("%d bytes dropped, want 8192", b.dropped())
		}
		if want := strings.Join(got, "\n") + "\n"; raw.String() != want {
			t.Errorf("raw console of %d bytes differs from the lines' %d", raw.Len(), len(want))
		}
	})
}

func TestManyTinyLinesCountAgainstTheBound(t *testing.T) {
	b := newBacklog()
	for b.dropped() == 0 {
		b.put(time.Time{}, []byte("\n"))
		if len(b.chunks) > maxPending/chunkCost {
			t.Fatalf("%d chunks are waiting", len(b.chunks))
		}
	}
}

type brokenWriter struct{ after int }

var errBroken = errors.New("disk full")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.after--; w.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestABrokenRawWriterDoesNotStopTheLines(t *testing.T) {
	b := newBacklog()
	for _, line := range []string{"a\n", "b\n", "c\n"} {
		b.put(time.Time{}, []byte(line))
	}
	b.close()
	n := 0
	w := &brokenWriter{after: 1}
	err := deliver(b, w, func(time.Time, string) { n++ })
	if !errors.Is(err, errBroken) || n != 3 || w.after != -1 {
		t.Errorf("error %v, %d lines, %d writes after the failure", err, n, -1-w.after)
	}
}
