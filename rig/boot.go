package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/nvram"
	"holdfast/qemu"
	"holdfast/rig/judge"
)

// bootCommand boots one node by itself.
type bootCommand struct {
	Image string `default:"build/holdfast.elf" help:"Node image."`

	RAM string `name:"ram" default:"128M" help:"Memory."`

	EEPROM string `name:"eeprom" help:"EEPROM image (see rig provision); blank when absent."`

	Limit time.Duration `default:"12h" help:"End it after so long."`
}

// Help is the example of --help.
func (*bootCommand) Help() string { return "Example: rig boot --ram 64M" }

// Validate refuses what the flags' types let through.
func (c *bootCommand) Validate() error {
	if c.Limit <= 0 {
		return errors.New("--limit must be positive")
	}
	return nil
}

// httpPort is the node's.
const httpPort = 80

// Run boots the node and connects its console with the terminal until it powers off or the user
// interrupts.
func (c *bootCommand) Run(ctx context.Context) error {
	if _, err := inspect(c.Image); err != nil {
		return err
	}
	folder, remove, err := qemu.TempDir()
	if err != nil {
		return err
	}
	defer remove()
	eeprom := c.EEPROM
	if eeprom == "" {
		eeprom = filepath.Join(folder, "ee")
		if err := writeBlank(eeprom); err != nil {
			return err
		}
	}
	p, err := qemu.Start(ctx, qemu.Machine{
		Name: "node", Image: c.Image, RAM: c.RAM, Dir: folder, NVRAM: eeprom,
		Net: qemu.UserNet{Forward: []uint16{httpPort}}, Limit: c.Limit, Raw: os.Stdout,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "rig: http://%v/ leads to the node; Ctrl-C ends it\n",
		p.Forwarded(httpPort))
	go io.Copy(p, os.Stdin) // ends with the program: a read of a terminal cannot be ended
	exit := p.Wait()
	if exit.Shutdown == "guest-shutdown" || errors.Is(exit.Cause, errInterrupted) {
		return nil
	}
	return &failure{judge.CodeTrouble, fmt.Errorf("the node ended: %v", exit)}
}

// writeBlank writes the EEPROM of a node that has entropy and nothing else: it runs outside a mesh.
func writeBlank(path string) error {
	environment, err := nvram.NewEnvironment()
	if err != nil {
		return err
	}
	var entropy nvram.Secret
	rand.Read(entropy[:])
	image, err := nvram.Provision{Environment: environment, Entropy: &entropy}.Image()
	if err != nil {
		return err
	}
	return os.WriteFile(path, image, 0o600)
}
