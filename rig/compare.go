package main

import (
	"fmt"
	"os"
	"path/filepath"

	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/stats"
)

// compareCommand compares two sets of runs.
type compareCommand struct {
	First  string `arg:"" help:"Folder of a run, folder of runs, or file of results (rig soak)."`
	Second string `arg:"" help:"The same, of the runs to be compared with them."`
}

// Help is the example of --help.
func (*compareCommand) Help() string {
	return "Example: rig compare runs/20260102T030405Z-soak-7.jsonl runs. Exit code 1 means that a " +
		"check which held in every run of the first did not in one of the second; times are shown " +
		"and not judged."
}

// Run prints the comparison.
func (c *compareCommand) Run() error {
	first, err := readResults(c.First)
	if err != nil {
		return err
	}
	second, err := readResults(c.Second)
	if err != nil {
		return err
	}
	pairs := stats.Match(stats.Of(first), stats.Of(second))
	if err := stats.WriteComparison(os.Stdout, pairs); err != nil {
		return err
	}
	for _, p := range pairs {
		if len(p.Worse()) > 0 {
			return verdict(judge.CodeViolated)
		}
	}
	return nil
}

// readResults reads the results of a run's folder, of all runs in a folder, or of a file.
func readResults(path string) ([]report.Result, error) {
	files := []string{path}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		if files, err = resultFiles(path); err != nil {
			return nil, err
		}
	}
	var all []report.Result
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		results, err := report.Read(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, results...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no results", path)
	}
	return all, nil
}

// resultFiles are those of a run's folder, or of the runs in a folder, by name and so by age. The
// link to the newest run is left out: it is there already.
func resultFiles(folder string) ([]string, error) {
	own := filepath.Join(folder, report.File)
	if _, err := os.Stat(own); err == nil {
		return []string{own}, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		name := filepath.Join(folder, e.Name(), report.File)
		if _, err := os.Stat(name); e.IsDir() && err == nil {
			files = append(files, name)
		}
	}
	return files, nil
}
