package nvram

import (
	"bytes"
	"fmt"
	"strings"
)

// FaultReason is one word that says what is wrong with a part of an environment.
type FaultReason string

// What can be wrong with an environment.
const (
	FaultOversize     FaultReason = "oversize"     // more than EnvironmentMax bytes
	FaultUnterminated FaultReason = "unterminated" // the bytes end before the empty string
	FaultTrailing     FaultReason = "trailing"     // something follows the empty string
	FaultNoEquals     FaultReason = "no-equals"    // a string without '='
	FaultEmptyName    FaultReason = "empty-name"   // a string that begins with '='
	FaultName         FaultReason = "name"         // an illegal or too long name
	FaultNonASCII     FaultReason = "non-ascii"    // a byte above 0x7f
	FaultControl      FaultReason = "control"      // a control character in a value
	FaultDuplicate    FaultReason = "duplicate"    // a name that an earlier string has
)

// FaultReasons is every word that a Fault can have.
func FaultReasons() []FaultReason {
	return []FaultReason{FaultOversize, FaultUnterminated, FaultTrailing, FaultNoEquals,
		FaultEmptyName, FaultName, FaultNonASCII, FaultControl, FaultDuplicate}
}

// Fault is one damage found in an environment.
type Fault struct {
	Offset int         // of the first byte of the damaged part
	Name   string      // of the string concerned, empty when it has no legal one
	Reason FaultReason // what is wrong
}

// String is the fault as error texts have it.
func (f Fault) String() string {
	if f.Name == "" {
		return fmt.Sprintf("%s at byte %d", f.Reason, f.Offset)
	}
	return fmt.Sprintf("%s at byte %d, %s", f.Reason, f.Offset, f.Name)
}

// ParseEnvironment reads an environment and never fails: it keeps every string that is whole and
// legal, in order, and reports the rest. Of a duplicate name the first string is kept; because
// nobody can say which was meant, whoever acts on the value should refuse it.
//
// Zero bytes after the final empty string are padding. When the bytes end after a whole string but
// before the empty one, all strings are kept and the environment may take EnvironmentMax+1 bytes.
func ParseEnvironment(b []byte) (*Environment, []Fault) {
	e := new(Environment)
	var faults []Fault
	if len(b) > EnvironmentMax {
		faults = append(faults, Fault{Offset: EnvironmentMax, Reason: FaultOversize})
		b = b[:EnvironmentMax]
	}
	for off := 0; ; {
		end := bytes.IndexByte(b[off:], 0)
		if end < 0 {
			// The last string may be cut: its value is not to be trusted, nor its name without '='.
			name, _, found := strings.Cut(string(b[off:]), "=")
			if !found {
				name = ""
			}
			return e, append(faults, Fault{off, legalName(name), FaultUnterminated})
		}
		if end == 0 {
			if i := bytes.IndexFunc(b[off:], func(r rune) bool { return r != 0 }); i >= 0 {
				faults = append(faults, Fault{Offset: off + i, Reason: FaultTrailing})
			}
			return e, faults
		}
		parsed, reason := parseEntry(string(b[off : off+end]))
		if reason == "" && e.index(parsed.name) >= 0 {
			reason = FaultDuplicate
		}
		if reason == "" {
			e.entries = append(e.entries, parsed)
		} else {
			faults = append(faults, Fault{off, parsed.name, reason})
		}
		off += end + 1
	}
}

// EnvironmentRecord is the environment that the chip holds.
type EnvironmentRecord struct {
	Record
	Environment *Environment
	Faults      []Fault // what was left out of Environment, in order
}

// LoadEnvironment reads the environment. The error is an *AbsentError when there is none. Damage
// inside a valid record is the work of whoever wrote it; it is in Faults.
func (s *Store) LoadEnvironment() (EnvironmentRecord, error) {
	payload, record, err := s.read(KindEnvironment)
	if err != nil {
		return EnvironmentRecord{}, err
	}
	e, faults := ParseEnvironment(payload)
	return EnvironmentRecord{record, e, faults}, nil
}

// SaveEnvironment replaces the environment on the chip.
func (s *Store) SaveEnvironment(e *Environment) (Record, error) {
	if err := e.check(); err != nil {
		return Record{}, fmt.Errorf("nvram: saving: %w", err)
	}
	return s.write(KindEnvironment, e.Encode())
}
