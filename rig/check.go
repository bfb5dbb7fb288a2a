package main

import (
	"fmt"
	"os"
	"path/filepath"

	"holdfast/rig/journal"
	"holdfast/rig/judge"
	"holdfast/rig/report"
	"holdfast/rig/scenario"
	"holdfast/rig/world"
)

// checkCommand judges stored runs.
type checkCommand struct {
	Runs  []string `arg:"" name:"run" help:"Folder of a run, or its journal."`
	Quiet bool     `short:"q" help:"Print only checks that did not hold."`
}

// Help is the example of --help.
func (*checkCommand) Help() string { return "Example: rig check runs/latest" }

// Run judges the runs and ends with the worst code.
func (c *checkCommand) Run() error {
	s := session{}
	for _, run := range c.Runs {
		records, err := readJournal(run)
		if err != nil {
			return err
		}
		f, err := findFault(records[0].Run.Fault)
		if err != nil {
			return fmt.Errorf("%s: %w", run, err)
		}
		result, err := judgeRecords(records, f)
		if err != nil {
			return fmt.Errorf("%s: %w", run, err)
		}
		text := style(os.Stdout)
		text.Quiet = c.Quiet
		if err := result.WriteText(os.Stdout, f.Proof, run, text); err != nil {
			return err
		}
		s.worsen(result.Exit)
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}

// readJournal reads the journal of a run, given its folder or the journal itself.
func readJournal(run string) ([]journal.Record, error) {
	if info, err := os.Stat(run); err == nil && info.IsDir() {
		run = filepath.Join(run, world.JournalFile)
	}
	file, err := os.Open(run)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := journal.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run, err)
	}
	return records, nil
}

// judgeFolder judges a run by what is in its folder, and so by what a later check will see.
func judgeFolder(folder string, f *scenario.Fault) (report.Result, error) {
	records, err := readJournal(folder)
	if err != nil {
		return report.Result{}, err
	}
	return judgeRecords(records, f)
}

func judgeRecords(records []journal.Record, f *scenario.Fault) (report.Result, error) {
	run, err := judge.New(records)
	if err != nil {
		return report.Result{}, err
	}
	return report.Of(run, judge.Judge(run, f.AllChecks())), nil
}
