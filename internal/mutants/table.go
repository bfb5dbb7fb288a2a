package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed mutants.txt
var mutantsText string

// mutant is one rule switched off.
type mutant struct {
	name  string
	rule  string // which one, as spec/protocol.md, spec/system.md or failure.md name it
	says  string // what the mutant does instead
	with  string // the mutant whose patch is applied too, "" for none
	edits []edit // its own, behind those of with
}

func (m *mutant) title() string { return m.name }
func (m *mutant) label() string { return m.rule }

// edit is the replacement of a text that stands in a file exactly once.
type edit struct {
	file     string // from the root of the module
	old, new string
}

// parse reads the table of mutants.
func parse(text string) ([]mutant, error) {
	p := parser{names: map[string]int{}}
	for line := range strings.Lines(text) {
		p.number++
		if err := p.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("mutants.txt:%d: %w", p.number, err)
		}
	}
	if err := p.finish(); err != nil {
		return nil, fmt.Errorf("mutants.txt:%d: %w", p.number, err)
	}
	if err := p.pair(); err != nil {
		return nil, fmt.Errorf("mutants.txt: %w", err)
	}
	return p.all, nil
}

// pair puts the patches of other mutants before those that are with them.
func (p *parser) pair() error {
	for i := range p.all {
		m := &p.all[i]
		if m.with == "" {
			continue
		}
		k, ok := p.names[m.with]
		if !ok || p.all[k].with != "" {
			return fmt.Errorf("%s is with %s: want a mutant that is with none", m.name, m.with)
		}
		m.edits = slices.Concat(p.all[k].edits, m.edits)
	}
	return nil
}

// parser is a reading of the table under way.
type parser struct {
	number int
	all    []mutant
	names  map[string]int // where they are in all
	open   bool           // the last of all is not complete yet
	part   part
}

// part is the file part that is being read.
type part struct {
	file     string // "" for none
	old, new []string
}

func (p *parser) line(line string) error {
	if p.part.file != "" && line != "" && strings.ContainsRune("-+ ", rune(line[0])) {
		p.part.add(line)
		return nil
	}
	key, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	switch {
	case line == "" || key == "#":
		return nil
	case value == "":
		return fmt.Errorf("%s of what?", key)
	case key == "mutant":
		return p.begin(value)
	case !p.open:
		return fmt.Errorf("%s without a mutant", key)
	}
	m := &p.all[len(p.all)-1]
	switch key {
	case "rule":
		m.rule = value
	case "says":
		m.says = value
	case "with":
		m.with = value
	case "file":
		if err := p.endPart(); err != nil {
			return err
		}
		p.part.file = value
	default:
		return fmt.Errorf("what is %q?", key)
	}
	return nil
}

func (p *part) add(line string) {
	text := line[1:]
	if line[0] != '+' {
		p.old = append(p.old, text)
	}
	if line[0] != '-' {
		p.new = append(p.new, text)
	}
}

func (p *parser) begin(name string) error {
	if err := p.finish(); err != nil {
		return err
	}
	if _, twice := p.names[name]; twice {
		return fmt.Errorf("mutant %s is there twice", name)
	}
	p.names[name] = len(p.all)
	p.all = append(p.all, mutant{name: name})
	p.open = true
	return nil
}

// endPart adds the edit that has been read to its mutant.
func (p *parser) endPart() error {
	if p.part.file == "" {
		return nil
	}
	e := edit{p.part.file, strings.Join(p.part.old, "\n"), strings.Join(p.part.new, "\n")}
	p.part = part{}
	if e.old == "" || e.old == e.new {
		return fmt.Errorf("the part of %s before this line changes nothing", e.file)
	}
	m := &p.all[len(p.all)-1]
	m.edits = append(m.edits, e)
	return nil
}

// finish completes the mutant that has been read.
func (p *parser) finish() error {
	if !p.open {
		return nil
	}
	if err := p.endPart(); err != nil {
		return err
	}
	p.open = false
	m := &p.all[len(p.all)-1]
	if m.rule == "" || m.says == "" || len(m.edits) == 0 {
		return fmt.Errorf("mutant %s lacks a rule, what it says, or a change", m.name)
	}
	return nil
}

// files are those that the mutant changes, each once.
func (m *mutant) files() []string {
	var names []string
	for _, e := range m.edits {
		if !slices.Contains(names, e.file) {
			names = append(names, e.file)
		}
	}
	return names
}

// apply returns the changed files of the tree at root, by their path from there.
func (m *mutant) apply(root string) (map[string]string, error) {
	changed := map[string]string{}
	for _, e := range m.edits {
		text, ok := changed[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s has this %d times, want once:\n%s", m.name, e.file, n,
				e.old)
		}
		changed[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return changed, nil
}
