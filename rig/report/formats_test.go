package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// odd is a result with everything in it that a format has to write otherwise.
func odd() Result {
	r := results()["violated"]
	r.Checks[1].Detail = "100 % of <n1>, \"n2\" & 'n3':\nwrong | `so`"
	return r
}

func TestWhatBuildServersRead(t *testing.T) {
	all := results()
	all["odd"] = odd()
	for name, r := range all {
		for format, write := range map[string]func(io.Writer) error{
			".xml":    r.WriteJUnit,
			".github": func(w io.Writer) error { return r.WriteGitHub(w, "it works", "runs/x") },
			".md":     r.WriteSummary,
		} {
			var text bytes.Buffer
			if err := write(&text); err != nil {
				t.Fatal(err)
			}
			compare(t, name+format, text.Bytes())
		}
	}
}

func TestJUnitIsXMLInWhichUnknownIsNoPass(t *testing.T) {
	var text bytes.Buffer
	if err := odd().WriteJUnit(&text); err != nil {
		t.Fatal(err)
	}
	var back junitSuite
	if err := xml.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Tests != 3 || back.Failures != 1 || back.Errors != 1 {
		t.Errorf("%d tests, %d failures, %d errors; want 3, 1, 1", back.Tests, back.Failures, back.Errors)
	}
	if got := back.Case[1].Failure.Message; got != odd().Checks[1].Detail {
		t.Errorf("the message is read back as %q", got)
	}
}

func TestAStreamOfTAPCountsThroughAllRunsAndEndsInItsPlan(t *testing.T) {
	var text bytes.Buffer
	stream, err := NewTAP(&text)
	if err != nil {
		t.Fatal(err)
	}
	all := results()
	for _, r := range []Result{all["held"], odd(), all["early"]} {
		if err := stream.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	compare(t, "stream.tap", text.Bytes())
	points := regexp.MustCompile(`(?m)^(not )?ok (\d+) - `).FindAllString(text.String(), -1)
	if len(points) != 7 || !strings.HasSuffix(text.String(), "\n1..7\n") {
		t.Errorf("%d points, want 7 and the plan for them:\n%s", len(points), text.String())
	}
}

func TestAWorkflowCommandIsOneLine(t *testing.T) {
	var text strings.Builder
	if err := odd().WriteGitHub(&text, "", ""); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if !regexp.MustCompile(`^::(error|notice) title=[^:,]+(%3A[^:,]*)*::.*\n$`).MatchString(line) {
			t.Errorf("no workflow command: %s", line)
		}
	}
}

func TestLinesOfResultsAreReadBack(t *testing.T) {
	var text bytes.Buffer
	want := []Result{results()["held"], odd(), results()["early"]}
	for _, r := range want {
		if err := r.WriteLine(&text); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(text.String(), "\n"); n != len(want) {
		t.Errorf("%d lines for %d results", n, len(want))
	}
	got, err := Read(&text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("they are read back with a difference:\n%s", diff)
	}
	for text, want := range map[string]string{
		`{"schema":1} {"schema":7}`: "result 2 has schema 7",
		`{"schema":1`:               "result 1: unexpected EOF",
		`hello`:                     "result 1: invalid character",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

// stuck is a writer that fails from the nth write on.
type stuck struct{ n int }

func (s *stuck) Write(p []byte) (int, error) {
	if s.n--; s.n < 0 {
		return 0, errors.New("no room")
	}
	return len(p), nil
}

func TestAFormatThatCannotBeWrittenSaysSo(t *testing.T) {
	r := odd()
	for name, write := range map[string]func(io.Writer) error{
		"JUnit":   r.WriteJUnit,
		"GitHub":  func(w io.Writer) error { return r.WriteGitHub(w, "", "") },
		"summary": r.WriteSummary,
		"TAP":     func(w io.Writer) error { return (&TAP{w: w}).Write(r) },
		"plan":    func(w io.Writer) error { return (&TAP{w: w}).Close() },
	} {
		if err := write(new(stuck)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for n := range 3 {
		if err := r.WriteJUnit(&stuck{n}); err == nil {
			t.Errorf("JUnit with %d writes: no error", n)
		}
	}
}
