package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// historyFile keeps the figures that were recorded, from the module's root. A line is a figure:
//
//	date | commit | figure | value | unit
//
// The date is UTC; the commit is that of the tree that was measured, with a + when the tree had
// changes that were in no commit. Lines that begin with # are for people.
const historyFile = "internal/bench/history.txt"

// entry is one line of the history.
type entry struct {
	date, commit, name string
	value              float64
	unit               string
}

const entryFields = 5

func (e entry) String() string {
	return strings.Join([]string{e.date, e.commit, e.name, figure(e.value), e.unit}, separator)
}

const separator = " | "

// readHistory reads the file; one that does not exist is empty.
func readHistory(path string) ([]entry, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var es []entry
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		es = append(es, e)
	}
	return es, nil
}

func parseEntry(line string) (entry, error) {
	f := strings.Split(line, separator)
	if len(f) != entryFields {
		return entry{}, fmt.Errorf("%d fields, want %d", len(f), entryFields)
	}
	value, err := strconv.ParseFloat(f[3], 64)
	if err != nil {
		return entry{}, err
	}
	if _, err := time.Parse(time.DateOnly, f[0]); err != nil {
		return entry{}, err
	}
	return entry{f[0], f[1], f[2], value, f[4]}, nil
}

// latest is what was recorded last of a figure.
func latest(es []entry, name string) (last entry, ok bool) {
	for _, e := range es {
		if e.name == name {
			last, ok = e, true
		}
	}
	return last, ok
}

// appendHistory adds entries at the end of the file.
func appendHistory(path string, es []entry) error {
	var b bytes.Buffer
	for _, e := range es {
		b.WriteString(e.String() + "\n")
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// currentCommit names the tree that is measured.
func currentCommit(ctx context.Context) (string, error) {
	commit, err := git(ctx, "rev-parse", "--short=7", "HEAD")
	if err != nil {
		return "", err
	}
	changes, err := git(ctx, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	if changes != "" {
		commit += "+"
	}
	return commit, nil
}

func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
