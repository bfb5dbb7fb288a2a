package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"holdfast/nvram"
	"holdfast/rig/provision"
)

// provisionCommand writes an EEPROM image.
type provisionCommand struct {
	Seed *uint64 `xor:"keys" help:"Draw a laboratory's keys from this; otherwise new, secret ones."`

	Keep bool `xor:"keys" help:"Change the image that FILE is: its keys and its marks stay."`

	Node int `default:"0" help:"With --seed, which node: 0 is the authority."`

	Nodes int `default:"2" help:"With --seed, nodes of the cast."`

	Set []string `sep:"none" placeholder:"KEY=VALUE" help:"Set a key, repeatable."`

	Unset []string `sep:"none" placeholder:"KEY" help:"Leave a key out, repeatable."`

	MayStartEmpty bool `help:"Let an authority start once though no member proves a state."`

	Force bool `help:"Replace what FILE is: its keys are lost."`

	File string `arg:"" help:"Where the image goes."`
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
	case c.Node != 0 && c.Seed == nil:
		return errors.New("--node goes with --seed")
	case c.Keep && c.Force:
		return errors.New("--keep and --force contradict each other")
	}
	for _, s := range c.Set {
		if !strings.Contains(s, "=") {
			return fmt.Errorf("--set %s: want KEY=VALUE", s)
		}
	}
	return nil
}

// Run writes the image and prints what it says. The file is there as a whole, or as it was.
func (c *provisionCommand) Run() error {
	name, image, err := c.image()
	if err != nil {
		return err
	}
	if c.MayStartEmpty {
		if err := provision.AllowEmpty(image); err != nil {
			return err
		}
	}
	is, err := provision.Inspect(image)
	if err != nil {
		return err
	}
	if err := c.write(image); err != nil {
		return err
	}
	fmt.Printf("%s: %sid %s, environment of %d bytes:\n", c.File, name, is.ID, is.Environment.Size())
	for key, value := range is.Environment.All() {
		fmt.Printf("  %s=%s\n", key, value)
	}
	fmt.Printf("public key: %s\n", is.Key)
	return nil
}

// image is the image that the flags ask for, and the name of its node, if it has one.
func (c *provisionCommand) image() (name string, image []byte, err error) {
	switch {
	case c.Keep:
		image, err = c.changed()
		return "", image, err
	case c.Seed == nil:
		environment, err := nvram.NewEnvironment()
		if err == nil {
			err = c.edit(environment)
		}
		if err != nil {
			return "", nil, err
		}
		image, err = provision.New(environment)
		return "", image, err
	}
	cast := provision.Draw(*c.Seed, c.Nodes)
	environment, err := cast.Environment(c.Node)
	if err == nil {
		err = c.edit(environment)
	}
	if err != nil {
		return "", nil, err
	}
	image, err = cast.EEPROM(c.Node, environment)
	return "node " + cast.Nodes[c.Node].Name + ", ", image, err
}

// changed is the file's image with another environment.
func (c *provisionCommand) changed() ([]byte, error) {
	image, err := os.ReadFile(c.File)
	if err != nil {
		return nil, err
	}
	is, err := provision.Inspect(image)
	if err == nil {
		err = c.edit(is.Environment)
	}
	if err == nil {
		err = provision.Replace(image, is.Environment)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.File, err)
	}
	return image, nil
}

// edit does what the flags say to an environment.
func (c *provisionCommand) edit(environment *nvram.Environment) error {
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
	return nil
}

// write puts the image under its name, in place of another one only when that was asked for.
func (c *provisionCommand) write(image []byte) error {
	if c.Keep || c.Force {
		return replaceFile(c.File, image)
	}
	err := createFile(c.File, image)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: --keep changes its environment, --force replaces it "+
			"with its keys", c.File)
	}
	return err
}

// createFile makes a file that nobody else can read and that was not there before, and makes sure
// that its content is on the disk.
func createFile(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// replaceFile is createFile for a file that may be there: until the new one is whole, the old one
// stays.
func replaceFile(path string, content []byte) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := createFile(temporary, content); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
