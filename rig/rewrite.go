package main

import (
	"fmt"
	"os"

	"holdfast/rig/judge"
)

// reportCommand computes the artefacts of stored runs again.
type reportCommand struct {
	Runs []string `arg:"" name:"run" default:"runs/latest" help:"Folder of a run."`
}

// Help is the example of --help.
func (*reportCommand) Help() string {
	return "Example: rig report runs/latest. Everything but the journal, the consoles and the " +
		"capture is computed from the journal, and replaces what is there. The exit code is that " +
		"of rig check."
}

// Run writes them and prints where they are; its code is the worst of the runs'.
func (c *reportCommand) Run() error {
	s := session{}
	for _, folder := range c.Runs {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not the folder of a run", folder)
		}
		j, err := judgeStored(folder)
		if err != nil {
			return err
		}
		if err := j.writeArtefacts(folder); err != nil {
			return err
		}
		fmt.Printf("%s  %s, seed %d: exit %d: %s\n", folder, j.result.Fault, j.result.Seed,
			j.result.Exit, j.result.Meaning)
		s.worsen(j.result.Exit)
	}
	if s.worst != judge.CodeHeld {
		return verdict(s.worst)
	}
	return nil
}
