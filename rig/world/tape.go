package world

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A node of a run with Config.Record keeps a tape of its protocol's steps. It keeps the newest
// megabyte, and a machine that is killed takes it along, so the rig takes the tape along meanwhile:
// what a node did in the last moment before it was killed is missing. These requests are not in the
// journal: nobody judges by them, and there is one a second.

const (
	tapePath = "/mesh/tape?after="
	// tapeEvery is the time between two looks at a node's tape.
	tapeEvery = time.Second
	// tapeRest is how long a machine that is about to end in order has for what is left of it.
	tapeRest = 3 * time.Second
)

// TapeFile is the artefact that has the tape of a boot, which is named as in the row
// `mesh-node: start`.
func TapeFile(node, boot string) string { return node + "." + boot + ".tape" }

// recording is the taking along of a machine's tape: one file for each boot of its guest, of which
// a machine that resets itself has several.
type recording struct {
	w *World
	m *machine

	mu   sync.Mutex
	boot string   // of the guest, as it says
	file *os.File // nil before the first record of the boot
	last string   // number of the latest record that was taken
	over bool     // there is nothing to take, or no longer
}

// record takes the tape of a machine along until its life ends.
func (w *World) record(m *machine) {
	if !w.Record {
		return
	}
	r := &recording{w: w, m: m, last: "0"}
	m.recording = r
	w.recordings = append(w.recordings, r)
	life := m.life.Load()
	w.callers.Go(func() {
		ticker := time.NewTicker(tapeEvery)
		defer ticker.Stop()
		for !r.take(life, requestTimeout) {
			select {
			case <-life.Done():
				return
			case <-w.ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
}

// takeRest takes along what a machine that is about to end in order has left.
func (w *World) takeRest(m *machine) {
	if m.recording != nil {
		m.recording.take(context.Background(), tapeRest)
	}
}

// take takes along what is new, and says whether that was all that there will be. A node that does
// not answer is asked again later.
func (r *recording) take(ctx context.Context, patience time.Duration) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.over {
		waiting, cancel := r.m.during(ctx, r.w.Patience(patience))
		a, err := r.w.exchange(waiting, r.m, call{method: http.MethodGet, path: tapePath + r.last})
		cancel()
		if err != nil {
			return false
		}
		if r.add(a) {
			return r.over
		}
	}
	return true
}

// add takes an answer, and says whether there is nothing more to ask for at present.
func (r *recording) add(a Answer) (done bool) {
	boot, last := a.Header["boot"], a.Header["last"]
	switch {
	case a.Status == http.StatusServiceUnavailable:
		r.over = true // a node without a mesh has no steps
		return true
	case a.Status != http.StatusOK || boot == "" || last == "":
		r.fail(fmt.Errorf("it answered %d %.200s", a.Status, a.Body))
		return true
	case boot != r.boot:
		// Another boot than the one that was asked: its tape begins at its head.
		again := r.boot != ""
		if err := r.close(); err != nil {
			r.fail(err)
			return true
		}
		r.boot, r.last = boot, "0"
		if again {
			return false
		}
	}
	if a.Body == "" {
		return true
	}
	if err := r.keep(a.Body); err != nil {
		r.fail(err)
		return true
	}
	r.last = last
	return false
}

// keep writes whole records to the boot's file.
func (r *recording) keep(records string) error {
	if r.file == nil {
		var err error
		r.file, err = os.Create(filepath.Join(r.w.Folder, TapeFile(r.m.node.Name, r.boot)))
		if err != nil {
			return err
		}
	}
	_, err := r.file.WriteString(records)
	return err
}

// close ends the file of a boot.
func (r *recording) close() error {
	file := r.file
	if r.file = nil; file == nil {
		return nil
	}
	return file.Close()
}

// fail ends the taking along. What was taken stays: it is the beginning of the tape.
func (r *recording) fail(err error) {
	r.over = true
	r.w.trouble(fmt.Errorf("tape of %s: %w", r.m.node.Name, err))
}

// closeTapes ends the files. Nobody takes anything along any more.
func (w *World) closeTapes() error {
	var errs []error
	for _, r := range w.recordings {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}
