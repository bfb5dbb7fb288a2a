package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/rig/judge"
)

// JUnitFile is the artefact that has the result in the form which build servers read.
const JUnitFile = "junit.xml"

// The elements of JUnit's format that are used. An inconclusive check is an error, not a skipped
// test: readers take what was skipped for passed, and unknown is not pass.
type (
	junitSuite struct {
		XMLName   xml.Name    `xml:"testsuite"`
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Time      string      `xml:"time,attr"` // seconds
		Timestamp string      `xml:"timestamp,attr"`
		Property  []junitPair `xml:"properties>property"`
		Case      []junitCase `xml:"testcase"`
		Out       string      `xml:"system-out,omitempty"`
	}
	junitPair struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Failure *junitFail `xml:"failure"`
		Error   *junitFail `xml:"error"`
	}
	junitFail struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the result as JUnitFile has it: a suite, a case a check.
func (r Result) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: r.Fault, Tests: len(r.Checks), Time: fmt.Sprintf("%.3f", r.Seconds),
		Timestamp: r.Wall.UTC().Format(time.RFC3339),
		Property: []junitPair{
			{"seed", fmt.Sprint(r.Seed)}, {"exit", fmt.Sprint(int(r.Exit))}, {"meaning", r.Meaning},
			{"image_sha256", r.Image}, {"qemu", r.QEMU},
		},
		Out: r.tailText(),
	}
	for _, c := range r.Checks {
		test := junitCase{Class: "rig." + r.Fault, Name: c.Name}
		text := "wanted: " + c.Claim + "\n" + c.Source + "; events.jsonl records " + list(c.Evidence)
		switch c.Status {
		case judge.Violated:
			suite.Failures++
			test.Failure = &junitFail{c.Detail, text}
		case judge.Inconclusive:
			suite.Errors++
			test.Error = &junitFail{c.Detail, text}
		}
		suite.Case = append(suite.Case, test)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suite); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// tailText is why the run ended early and its newest console lines; empty when it did not.
func (r Result) tailText() string {
	if !r.early() {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The run ended early: %s\n", r.Reason)
	for _, t := range r.Tails {
		for _, l := range t.Lines {
			fmt.Fprintf(&b, "%s %9s %s\n", t.Node, l.At, l.Text)
		}
	}
	return b.String()
}
