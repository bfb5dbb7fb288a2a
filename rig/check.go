package main

import (
	"errors"
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
	Runs []string `arg:"" name:"run" help:"Folder of a run, or its journal."`

	formatFlags
}

// Help is the example of --help.
func (*checkCommand) Help() string { return "Example: rig check runs/latest" }

// Run judges the runs and ends with the worst code.
func (c *checkCommand) Run() error {
	s := session{}
	out, err := newOutput(c.formatFlags)
	if err != nil {
		return err
	}
	for _, path := range c.Runs {
		j, err := judgeStored(path)
		if err != nil {
			return err
		}
		if err := out.write(j.result, j.fault.Proof, path); err != nil {
			return err
		}
		for _, line := range j.changed() {
			fmt.Fprintf(os.Stderr, "%s: %s\n", path, line)
		}
		s.worsen(j.result.Exit)
	}
	if err := out.close(); err != nil {
		return err
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}

// judged is a stored run with its verdict.
type judged struct {
	fault  *scenario.Fault
	run    *judge.Run
	before []journal.Record // what it was judged to be before
	whole  bool             // the journal has its end
	result report.Result
}

// judgeStored judges a run by what is in its folder or journal, and so by what a later check will
// see.
func judgeStored(path string) (*judged, error) {
	records, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	f, err := faultOf(records[0].Run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	run, err := judge.New(records)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	j := &judged{fault: f, run: run}
	records, j.before = journal.Split(records)
	j.whole = records[len(records)-1].Kind == journal.KindEnd
	j.result = report.Of(run, judge.Judge(run, f.AllChecks()))
	return j, nil
}

// changed has a line for each check that was answered otherwise when the run was judged first.
func (j *judged) changed() []string {
	was := make(map[string]string)
	for _, r := range j.before {
		was[r.Check.Name] = r.Check.Status
	}
	var lines []string
	for _, c := range j.result.Checks {
		before, asked := was[c.Name]
		if now := c.Status.String(); asked && before != now {
			lines = append(lines, fmt.Sprintf("%s was %s when the run was judged first", c.Name, before))
		}
	}
	return lines
}

// keepChecks puts the verdict behind the run in its journal. A journal without an end, or with a
// verdict, stays as it is.
func (j *judged) keepChecks(folder string) error {
	if !j.whole || len(j.before) > 0 {
		return nil
	}
	var checks []journal.Check
	for _, c := range j.result.Checks {
		kept := journal.Check{
			Name: c.Name, Status: c.Status.String(), Detail: c.Detail, Evidence: c.Evidence,
		}
		if c.Margin != nil {
			slack := c.Margin.Slack.Microseconds()
			kept.SlackUS = &slack
		}
		checks = append(checks, kept)
	}
	path := filepath.Join(folder, world.JournalFile)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return errors.Join(journal.AppendChecks(file, j.run.Records, checks), file.Close())
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
