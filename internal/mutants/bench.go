package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"holdfast/internal/imagebuild"
)

// bench is a run: the tree, what to try on it, and where to put the changed files.
type bench struct {
	options
	root     string
	scratch  string
	packages []string // of the protocol
	began    time.Time

	mu   sync.Mutex
	say  io.Writer // progress
	done int
}

// row is what has come of one mutant.
type row struct {
	mutant  *mutant
	results []result // by level
	err     error    // it does not apply, or does not build
}

// caught reports whether a level has caught the mutant.
func (r *row) caught() bool { return r.first() >= 0 }

// first is the first level that has, -1 for none.
func (r *row) first() int {
	for i := range r.results {
		if r.results[i].verdict == caught {
			return i
		}
	}
	return -1
}

// tryTree runs every level on the tree as it is: one that fails there would catch everything.
func (b *bench) tryTree(ctx context.Context) error {
	out, err := b.goCommand(ctx, "list", "./mesh/...")
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, out)
	}
	for p := range strings.FieldsSeq(out) {
		if !strings.HasSuffix(p, "/mesh/search") && !strings.HasSuffix(p, "/mesh/sim") {
			b.packages = append(b.packages, p)
		}
	}
	wrong := make([]error, len(b.levels))
	b.each(len(b.levels), func(i int) {
		l := &b.levels[i]
		if r := b.try(ctx, l, ""); r.verdict != survived {
			wrong[i] = fmt.Errorf("the tree itself at level %s: %v: %s", l.name, r.verdict, r.by)
		}
	})
	return errors.Join(wrong...)
}

// tryMutants tries all mutants, some at a time, and returns their rows in the order of the table.
func (b *bench) tryMutants(ctx context.Context) []row {
	rows := make([]row, len(b.mutants))
	b.each(len(rows), func(i int) {
		rows[i] = b.tryMutant(ctx, &b.mutants[i])
		b.mu.Lock()
		defer b.mu.Unlock()
		b.done++
		fmt.Fprintf(b.say, "%3d of %d  %s: %s\n", b.done, len(rows), rows[i].mutant.name,
			rows[i].summary(b.levels))
	})
	return rows
}

// each calls do for 0 to n-1, so many at a time as there are workers.
func (b *bench) each(n int, do func(int)) {
	queue := make(chan int)
	var wait sync.WaitGroup
	for range b.workers {
		wait.Go(func() {
			for i := range queue {
				do(i)
			}
		})
	}
	for i := range n {
		queue <- i
	}
	close(queue)
	wait.Wait()
}

// tryMutant builds a mutant and tries the levels on it, up to the first that catches it unless all
// are asked for.
func (b *bench) tryMutant(ctx context.Context, m *mutant) row {
	r := row{mutant: m, results: make([]result, len(b.levels))}
	overlay, err := b.overlay(m)
	if err != nil {
		r.err = err
		return r
	}
	folders := []string{"build", "-overlay", overlay}
	for _, f := range m.files() {
		folders = append(folders, "./"+filepath.ToSlash(filepath.Dir(f)))
	}
	if out, err := b.goCommand(ctx, folders...); err != nil {
		r.err = fmt.Errorf("mutant %s does not build: %s", m.name, lastLines(out))
		return r
	}
	for i := range b.levels {
		if l := &b.levels[i]; l.sees(m.files()) && (b.all || !r.caught()) {
			r.results[i] = b.try(ctx, l, overlay)
		}
	}
	return r
}

// overlay writes a mutant's files beside the tree, and the list that puts them in its place.
func (b *bench) overlay(m *mutant) (string, error) {
	replace, err := b.replace(m)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	at := filepath.Join(b.scratch, m.name, "overlay.json")
	return at, os.WriteFile(at, list, 0o600)
}

// replace writes a mutant's files beside the tree, and says in the place of which ones they are.
func (b *bench) replace(m *mutant) (map[string]string, error) {
	changed, err := m.apply(b.root)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.scratch, m.name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for file, text := range changed {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return nil, err
		}
		replace[filepath.Join(b.root, filepath.FromSlash(file))] = at
	}
	return replace, nil
}

// build makes a kernel of every mutant, NAME.elf in a folder, for the rig to run.
func (b *bench) build() error {
	if err := os.MkdirAll(b.images, 0o755); err != nil {
		return err
	}
	for i := range b.mutants {
		m := &b.mutants[i]
		replace, err := b.replace(m)
		if err != nil {
			return err
		}
		image := filepath.Join(b.images, m.name+".elf")
		err = imagebuild.BuildChanged("holdfast/kernel/image", image, replace, "-tags", imagebuild.Tags)
		if err != nil {
			return fmt.Errorf("mutant %s does not build: %w", m.name, err)
		}
		fmt.Fprintf(b.say, "%3d of %d  %s\n", i+1, len(b.mutants), image)
	}
	return nil
}

// try runs a level.
func (b *bench) try(ctx context.Context, l *level, overlay string) result {
	ctx, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	out, err := b.goCommand(ctx, l.command(overlay, b.packages)...)
	if ctx.Err() != nil {
		return result{late, fmt.Sprintf("not over after %v", b.limit)}
	}
	return judge(err == nil, out)
}

// goCommand runs the go command in the tree, on one processor when several mutants share them. What
// it has started ends with it, and with ctx.
func (b *bench) goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.root
	if b.workers > 1 {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOFLAGS=-p=1 "+os.Getenv("GOFLAGS"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
