package main

import (
	"errors"
	"os"

	"holdfast/rig/report"
)

// formatFlags say in which form results go to standard output.
type formatFlags struct {
	Format string `default:"text" enum:"text,tap,json,github" help:"Of the result: ${enum}."`

	Quiet bool `short:"q" help:"Print only checks that did not hold."`
}

// summaryVariable names the file to which a step of a GitHub workflow appends its summary.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// output writes results to standard output. Its methods are called by one goroutine at a time.
type output struct {
	format string
	style  report.Style
	tap    *report.TAP // only of that format
}

func newOutput(f formatFlags) (*output, error) {
	o := &output{format: f.Format, style: style(os.Stdout)}
	o.style.Quiet = f.Quiet
	if f.Format != "tap" {
		return o, nil
	}
	var err error
	o.tap, err = report.NewTAP(os.Stdout)
	return o, err
}

// text says whether people read the output, so that more than results may stand in it.
func (o *output) text() bool { return o.format == "text" }

// write writes a result; folder is "" when the artefacts were not kept.
func (o *output) write(r report.Result, proof, folder string) error {
	switch o.format {
	case "tap":
		return o.tap.Write(r)
	case "json":
		return r.WriteLine(os.Stdout)
	case "github":
		return errors.Join(r.WriteGitHub(os.Stdout, proof, folder), summarize(r))
	}
	return r.WriteText(os.Stdout, proof, folder, o.style)
}

// close ends the output.
func (o *output) close() error {
	if o.tap == nil {
		return nil
	}
	return o.tap.Close()
}

// summarize appends a result to the step's summary, if there is one.
func summarize(r report.Result) error {
	path := os.Getenv(summaryVariable)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(r.WriteSummary(file), file.Close())
}
