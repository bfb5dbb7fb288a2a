package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/rig/judge/linear"
	"holdfast/rig/report"
	"holdfast/rig/report/timeline"
	"holdfast/rig/report/web"
)

// writePage writes the report of the run in a folder, beside the other runs of its fault.
func (j *judged) writePage(folder string) func(io.Writer) error {
	return func(w io.Writer) error {
		return web.Write(w, web.Input{
			Run: j.run, Result: j.result, About: j.fault.About, Proof: j.fault.Proof,
			Others: siblings(folder),
		})
	}
}

// historyLimit bounds the search for an order in which one register can have served an object's
// requests. Without an order the picture shows how far it came.
const historyLimit = 10 * time.Second

// writeHistory writes the picture of the requests for objects, beside the faults.
func (j *judged) writeHistory(w io.Writer) error {
	var bands []linear.Band
	for _, f := range timeline.Of(j.run).Faults {
		bands = append(bands, linear.Band{Name: "faults", Text: f.Text, From: f.From, To: f.To})
	}
	return linear.Check(j.run.Records, historyLimit).WriteHTML(w, bands)
}

// siblings are the results beside a run's folder. One that cannot be read is of no use here, and
// whoever wants it will hear of it: it is left out.
func siblings(folder string) []report.Result {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(real), "*", report.File))
	if err != nil {
		return nil
	}
	var all []report.Result
	for _, path := range paths {
		dir := filepath.Dir(path)
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || dir == real {
			continue // a link such as latest leads to one that is there itself
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var r report.Result
		if json.Unmarshal(text, &r) == nil && r.Schema == report.Schema {
			all = append(all, r)
		}
	}
	return all
}
