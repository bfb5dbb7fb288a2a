// Package journal is the record of one run: everything that happened to the machines and that the
// rig did, on one clock and in one order, one JSON object a line (events.jsonl). The verdict and
// every report are computed from it alone, also long after the run.
//
// The package owns the records' form, their numbers and their clock. It must never judge: it does
// not know what a console line means.
//
// A journal is append-only. Whoever waits for something to happen waits for its record (Await), so
// that what a run waited for is what its verdict can see.
//
// States of a Journal: open, then closed by its end. A record is written whole and at once, by one
// write: a rig that is killed loses what it had not heard of yet, and nothing else. After the first
// failure to write the file gets nothing more, so that what stands in it is the run's beginning,
// perhaps with a torn last line, which Read leaves out.
package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// ErrClosed says that a journal ended before the awaited record came.
var ErrClosed = errors.New("journal: closed")

// Journal is a journal being written. Its methods may be called from any goroutine.
type Journal struct {
	start  time.Time
	watch  func(Record)
	failed func(error)

	mu      sync.Mutex
	file    io.Writer
	err     error // the first failure to write
	records []Record
	changed chan struct{} // closed and replaced with every record
	closed  bool
}

// Start begins a journal whose clock starts at the given instant, which must have a monotonic
// reading (time.Now). watch, which may be nil, sees every record in order, before anybody who waits
// does; failed, which may be nil as well, hears of the first failure to write. Neither may call the
// journal.
func Start(
	file io.Writer, start time.Time, watch func(Record), failed func(error),
) *Journal {
	if watch == nil {
		watch = func(Record) {}
	}
	if failed == nil {
		failed = func(error) {}
	}
	return &Journal{
		start: start, watch: watch, failed: failed, file: file, changed: make(chan struct{}),
	}
}

// Time is the instant on the journal's clock.
func (j *Journal) Time(at time.Time) Time { return Time(at.Sub(j.start).Microseconds()) }

// Now is the present instant on the journal's clock.
func (j *Journal) Now() Time { return j.Time(time.Now()) }

// Add appends what happened at the given instant; N and At are the journal's to set. After Close
// it does nothing: a run's last goroutines may still hear of things when it is over.
func (j *Journal) Add(at time.Time, r Record) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	r.N, r.At = len(j.records)+1, j.Time(at)
	j.records = append(j.records, r)
	if j.err == nil {
		if j.err = write(j.file, r); j.err != nil {
			j.failed(j.err)
		}
	}
	j.watch(r)
	close(j.changed)
	j.changed = make(chan struct{})
}

func write(w io.Writer, r Record) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // for people, and no browser reads this
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, err := w.Write(line.Bytes()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Len is the number of records so far, and so the N of the newest.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.records)
}

// Await returns the first record with N above after that matches, now or when it comes. Its error
// is ctx's cause or ErrClosed.
func (j *Journal) Await(ctx context.Context, after int, match func(Record) bool) (Record, error) {
	for next := after; ; {
		j.mu.Lock()
		fresh, changed, closed := j.records[min(next, len(j.records)):], j.changed, j.closed
		j.mu.Unlock()
		for _, r := range fresh {
			if match(r) {
				return r, nil
			}
		}
		next += len(fresh)
		if closed {
			return Record{}, ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Record{}, context.Cause(ctx)
		}
	}
}

// Records returns what there is so far.
func (j *Journal) Records() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.records)
}

// Err is the first failure to write the file, nil while all of it is there.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close appends the end and lets nothing follow it. It returns Err.
func (j *Journal) Close(end End) error {
	j.Add(time.Now(), Record{Kind: KindEnd, End: &end})
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.changed)
	}
	return j.err
}

// AppendChecks writes what a run that was read was judged to be behind its records, at the instant
// of the newest of them: the run is over by then, and its clock with it.
func AppendChecks(file io.Writer, records []Record, checks []Check) error {
	last := records[len(records)-1]
	for i := range checks {
		r := Record{N: last.N + 1 + i, At: last.At, Kind: KindCheck, Check: &checks[i]}
		if err := write(file, r); err != nil {
			return err
		}
	}
	return nil
}

// Split parts what happened in a run from what it was judged to be.
func Split(records []Record) (run, checks []Record) {
	i := slices.IndexFunc(records, func(r Record) bool { return r.Kind == KindCheck })
	if i < 0 {
		return records, nil
	}
	return records[:i], records[i:]
}

// Read reads a stored journal. A last line without its end is what a killed rig or a full disk
// leaves; it is left out. Everything else that a Journal and AppendChecks would not have written is
// an error with its line.
func Read(r io.Reader) ([]Record, error) {
	var records []Record
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("journal: %w", err)
		}
		record, err := parse(line, len(records)+1)
		if err == nil {
			err = follows(records, record)
		}
		if err != nil {
			return nil, fmt.Errorf("journal: line %d: %w", len(records)+1, err)
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil, errors.New("journal: no records")
	}
	return records, nil
}

func parse(line []byte, n int) (Record, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var r Record
	if err := decoder.Decode(&r); err != nil {
		return Record{}, err
	}
	switch {
	case r.N != n:
		return Record{}, fmt.Errorf("record %d stands at the place of %d", r.N, n)
	case (r.Kind == KindRun) != (n == 1):
		return Record{}, errors.New("the first record, and no other, has kind \"run\"")
	case !r.complete():
		return Record{}, fmt.Errorf("a record of kind %q without its content", r.Kind)
	case r.Run != nil && r.Run.Schema != Schema:
		return Record{}, fmt.Errorf("schema %d, this program reads %d", r.Run.Schema, Schema)
	}
	return r, nil
}

// follows says whether a record may stand behind the others: the end is followed by checks only,
// and these by nothing else.
func follows(records []Record, r Record) error {
	if len(records) == 0 {
		return nil
	}
	last := records[len(records)-1].Kind
	over := last == KindEnd || last == KindCheck
	if over != (r.Kind == KindCheck) {
		return fmt.Errorf("a record of kind %q behind one of kind %q", r.Kind, last)
	}
	return nil
}

// complete says whether the record has what its kind promises.
func (r *Record) complete() bool {
	switch r.Kind {
	case KindRun:
		return r.Run != nil
	case KindBoot, KindConsole: // a console line may be empty
		return r.Node != "" && r.Boot > 0
	case KindEvent:
		return r.Node != "" && r.Boot > 0 && r.Event != nil
	case KindExit:
		return r.Node != "" && r.Boot > 0 && r.Exit != nil
	case KindAction:
		return r.Node != "" && r.Boot > 0 && r.Action != nil
	case KindFrame:
		return r.Node != "" && r.Frame != nil
	case KindHTTP:
		return r.Node != "" && r.Boot > 0 && r.HTTP != nil
	case KindStep:
		return r.Step != nil
	case KindTrouble:
		return r.Trouble != ""
	case KindEnd:
		return r.End != nil
	case KindCheck:
		return r.Check != nil && r.Check.Name != ""
	}
	return false
}
