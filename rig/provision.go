package main

import (
	"fmt"
	"os"
	"strings"

	"holdfast/rig/provision"
)

// provisionCommand writes an EEPROM image.
type provisionCommand struct {
	Seed uint64 `required:"" help:"What the nodes' keys are drawn from."`

	Node int `default:"0" help:"Which node: 0 is the authority."`

	Nodes int `default:"2" help:"Nodes of the cast."`

	Set []string `sep:"none" placeholder:"KEY=VALUE" help:"Set a key, repeatable."`

	Unset []string `sep:"none" placeholder:"KEY" help:"Leave a key out, repeatable."`

	File string `arg:"" help:"Where the image goes; a file there is replaced."`
}

// Help is the example of --help.
func (*provisionCommand) Help() string {
	return "Example: rig provision --seed 42 --node 1 --unset mesh.lab n1.eeprom"
}

// Validate refuses what the flags' types let through.
func (c *provisionCommand) Validate() error {
	switch {
	case c.Nodes < 1 || c.Nodes > provision.NodesMax:
		return fmt.Errorf("--nodes must be 1 to %d", provision.NodesMax)
	case c.Node < 0 || c.Node >= c.Nodes:
		return fmt.Errorf("--node must be 0 to %d", c.Nodes-1)
	}
	for _, s := range c.Set {
		if !strings.Contains(s, "=") {
			return fmt.Errorf("--set %s: want KEY=VALUE", s)
		}
	}
	return nil
}

// Run writes the image and prints what its environment says.
func (c *provisionCommand) Run() error {
	cast := provision.Draw(c.Seed, c.Nodes)
	environment, err := cast.Environment(c.Node)
	if err != nil {
		return err
	}
	for _, key := range c.Unset {
		if !environment.Unset(key) {
			return fmt.Errorf("--unset %s: not set", key)
		}
	}
	for _, s := range c.Set {
		key, value, _ := strings.Cut(s, "=")
		if err := environment.Set(key, value); err != nil {
			return err
		}
	}
	image, err := cast.EEPROM(c.Node, environment)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File, image, 0o600); err != nil {
		return err
	}
	node := &cast.Nodes[c.Node]
	fmt.Printf("%s: node %s, id %s, environment of %d bytes:\n",
		c.File, node.Name, node.ID, environment.Size())
	for key, value := range environment.All() {
		fmt.Printf("  %s=%s\n", key, value)
	}
	return nil
}
