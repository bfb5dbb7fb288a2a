package nvram

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// NameMax is the most bytes that a name in the environment may have.
const NameMax = 32

// ErrFull says that an environment does not fit into EnvironmentMax bytes.
var ErrFull = errors.New("environment does not fit")

// Environment is the list of NAME=VALUE strings, in order, each name once. On the chip every string
// ends with a zero byte and an empty string ends the list:
//
//	net.ip=10.7.0.10/24 00 mesh.fail=1 00 00
//
// A name is a letter followed by letters, digits, '.', '-' and '_', at most NameMax bytes; case
// counts. Names appear in evidence lines, so that they hold nothing that could end a word there. A
// value is printable ASCII, spaces and '=' included, and may be empty: a name with an empty value
// is set.
//
// The zero Environment is empty. It is changed through a pointer and must not be copied.
type Environment struct{ entries []entry }

type entry struct{ name, value string }

// bytes is what the entry takes on the chip.
func (e entry) bytes() int { return len(e.name) + len("=") + len(e.value) + 1 }

// NewEnvironment makes an environment of NAME=VALUE strings, in their order. What does not fit is
// refused with the number of bytes that the whole would take, not with that of the first overflow.
func NewEnvironment(assignments ...string) (*Environment, error) {
	e := new(Environment)
	for _, a := range assignments {
		parsed, reason := parseEntry(a)
		if reason == "" && e.index(parsed.name) >= 0 {
			reason = FaultDuplicate
		}
		if reason != "" {
			return nil, fmt.Errorf("nvram: environment string %q: %s", a, reason)
		}
		e.entries = append(e.entries, parsed)
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	return e, nil
}

// Get is the value of the name, and whether the name is set.
func (e *Environment) Get(name string) (value string, ok bool) {
	if i := e.index(name); i >= 0 {
		return e.entries[i].value, true
	}
	return "", false
}

// Set gives the name a value: in its place when it is set, at the end of the list when it is not.
// An illegal name or value, or one that does not fit, is an error and changes nothing.
func (e *Environment) Set(name, value string) error {
	if reason := checkName(name); reason != "" {
		return fmt.Errorf("nvram: environment name %q: %s", name, reason)
	}
	if reason := checkValue(value); reason != "" {
		return fmt.Errorf("nvram: environment value of %s: %s", name, reason)
	}
	changed := Environment{slices.Clone(e.entries)}
	if i := changed.index(name); i >= 0 {
		changed.entries[i].value = value
	} else {
		changed.entries = append(changed.entries, entry{name, value})
	}
	if err := changed.check(); err != nil {
		return fmt.Errorf("nvram: setting %s: %w", name, err)
	}
	e.entries = changed.entries
	return nil
}

// Unset removes the name and closes the gap. It says whether the name was set.
func (e *Environment) Unset(name string) bool {
	i := e.index(name)
	if i < 0 {
		return false
	}
	e.entries = slices.Delete(e.entries, i, i+1)
	return true
}

// All goes through names and values in order. The environment must not change meanwhile.
func (e *Environment) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, entry := range e.entries {
			if !yield(entry.name, entry.value) {
				return
			}
		}
	}
}

// Len is the number of names.
func (e *Environment) Len() int { return len(e.entries) }

// Size is the number of bytes that the environment takes on the chip, the final empty string
// included: at most EnvironmentMax, but for one case that ParseEnvironment names.
func (e *Environment) Size() int {
	n := 1
	for _, entry := range e.entries {
		n += entry.bytes()
	}
	return n
}

// Encode is the environment as it stands on the chip, Size bytes.
func (e *Environment) Encode() []byte {
	b := make([]byte, 0, e.Size())
	for name, value := range e.All() {
		b = append(b, name...)
		b = append(b, '=')
		b = append(b, value...)
		b = append(b, 0)
	}
	return append(b, 0)
}

// check says whether the environment fits.
func (e *Environment) check() error {
	if n := e.Size(); n > EnvironmentMax {
		return fmt.Errorf("%w: it takes %d bytes of %d", ErrFull, n, EnvironmentMax)
	}
	return nil
}

func (e *Environment) index(name string) int {
	return slices.IndexFunc(e.entries, func(o entry) bool { return o.name == name })
}

// parseEntry splits one string at its first '='. Of a refused one it returns the name if that much
// is legal.
func parseEntry(s string) (entry, FaultReason) {
	name, value, found := strings.Cut(s, "=")
	switch {
	case !isASCII(s):
		return entry{name: legalName(name)}, FaultNonASCII
	case !found:
		return entry{name: legalName(name)}, FaultNoEquals
	}
	if reason := checkName(name); reason != "" {
		return entry{}, reason
	}
	if reason := checkValue(value); reason != "" {
		return entry{name: name}, reason
	}
	return entry{name, value}, ""
}

// legalName is the name if it is one, or empty.
func legalName(name string) string {
	if checkName(name) != "" {
		return ""
	}
	return name
}

func checkName(name string) FaultReason {
	switch {
	case name == "":
		return FaultEmptyName
	case !isASCII(name):
		return FaultNonASCII
	case len(name) > NameMax || !isLetter(name[0]) || strings.ContainsFunc(name, notInName):
		return FaultName
	}
	return ""
}

func checkValue(value string) FaultReason {
	switch {
	case !isASCII(value):
		return FaultNonASCII
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return FaultControl
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func notInName(r rune) bool {
	return !(isLetter(byte(r)) || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_')
}
