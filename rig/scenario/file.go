package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/mesh/id"
	"holdfast/nvram/config"
	"holdfast/rig/judge"
	"holdfast/rig/provision"
)

// FileMost is how long the text of a scenario may be, in bytes.
const FileMost = 64 << 10

// FileError says what is wrong with a scenario, and in which line of it.
type FileError struct {
	Line int // from 1; 0 is the file as a whole
	Why  string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Why
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Why)
}

// Parse makes a fault of the text of a scenario file; docs/scenarios.md has its form. Its error is
// a *FileError.
func Parse(text string) (*Fault, error) {
	if len(text) > FileMost {
		return nil, &FileError{0, fmt.Sprintf("%d bytes, at most %d", len(text), FileMost)}
	}
	p := &parser{f: &Fault{Nodes: 2}, off: make(map[string]bool), up: make(map[string]bool)}
	for _, l := range join(text) {
		p.line, p.words = l.number, l.words
		p.take(l.rest)
		if p.err != nil {
			return nil, p.err
		}
	}
	p.finish()
	if p.err != nil {
		return nil, p.err
	}
	return p.f, nil
}

// parser is a scenario that is being read.
type parser struct {
	f     *Fault
	off   map[string]bool // features that the nodes are without
	up    map[string]bool // nodes whose machine runs after the steps so far
	line  int
	words []string // of the line that are not taken yet
	err   error    // the first; later lines do not matter
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &FileError{p.line, fmt.Sprintf(format, args...)}
	}
}

// logical is a line with those that continue it.
type logical struct {
	number int
	rest   string   // behind the first word
	words  []string // all of them; what stands in `..` is one
}

// join makes logical lines: a line that begins with a space continues the one before it. Empty ones
// and comments are left out.
func join(text string) []logical {
	var all []logical
	number := 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case (line[0] == ' ' || line[0] == '\t') && len(all) > 0:
			all[len(all)-1].rest += " " + trimmed
		default:
			all = append(all, logical{number: number, rest: trimmed})
		}
	}
	for i := range all {
		l := &all[i]
		l.words = split(l.rest)
		_, l.rest, _ = strings.Cut(l.rest, " ")
		l.rest = strings.TrimSpace(l.rest)
	}
	return all
}

// split parts a line into words. What stands between two ` is one, with them.
func split(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			words = append(words, "`"+part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// take reads a line.
func (p *parser) take(rest string) {
	switch key := p.next("a word"); key {
	case "name":
		p.f.Name = p.text(p.f.Name, rest)
		if !slug.MatchString(p.f.Name) {
			p.fail("a name is of a-z, 0-9 and -, not %q", p.f.Name)
		}
	case "about":
		p.f.About = p.text(p.f.About, rest)
	case "proof":
		p.f.Proof = p.text(p.f.Proof, rest)
	case "nodes":
		p.f.Nodes = p.number(2, provision.NodesMax)
		p.end()
	case "without":
		p.without()
	case "step":
		p.step()
	case "check":
		p.check()
	case "long":
		p.f.Long = true
		p.end()
	case "short":
		p.f.Short = true
		p.end()
	default:
		p.fail("no line begins with %q", key)
	}
}

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// text is what stands behind a key, which may stand once.
func (p *parser) text(before, rest string) string {
	switch {
	case before != "":
		p.fail("it stands twice")
	case rest == "":
		p.fail("there is nothing behind it")
	}
	return rest
}

// without turns a feature of all nodes off.
func (p *parser) without() {
	what := p.next("a feature")
	if what != "fail" && what != "route" {
		p.fail("nodes can be without fail or route, not %q", what)
	}
	p.off[what] = true
	p.end()
}

// finish checks what only the whole file tells.
func (p *parser) finish() {
	p.line = 0
	for _, c := range []struct {
		is   bool
		what string
	}{
		{p.f.Name == "", "name"}, {p.f.About == "", "about"}, {p.f.Proof == "", "proof"},
		{len(p.f.Steps) == 0, "step"}, {len(p.f.Checks) == 0, "check"},
	} {
		if c.is {
			p.fail("there is no line with %s", c.what)
		}
	}
	seen := make(map[string]bool)
	for _, c := range p.f.AllChecks() {
		if seen[c.Name] {
			p.fail("two checks are called %s", c.Name)
		}
		seen[c.Name] = true
	}
	if off := p.off; len(off) > 0 {
		p.f.Configure = func(_ *provision.Cast, _ int, node *config.Config) {
			node.Fail = node.Fail && !off["fail"]
			node.Route = node.Route && !off["route"]
		}
	}
}

// next takes the next word.
func (p *parser) next(what string) string {
	if len(p.words) == 0 {
		p.fail("%s is missing at the end", what)
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

// end makes sure that nothing is left of the line.
func (p *parser) end() {
	if len(p.words) > 0 {
		p.fail("%q is too much", strings.Join(p.words, " "))
	}
}

// literal takes a word that has to be the given one.
func (p *parser) literal(want string) {
	if got := p.next(want); got != want {
		p.fail("%q stands where %s should", got, want)
	}
}

// node takes a node's name.
func (p *parser) node() string {
	name := p.next("a node")
	if n, ok := strings.CutPrefix(name, "n"); ok {
		i, err := strconv.Atoi(n)
		if err == nil && 0 <= i && i < p.f.Nodes && strconv.Itoa(i) == n {
			return name
		}
	}
	p.fail("%q is no node: they are n0, the authority, to n%d", name, p.f.Nodes-1)
	return root
}

// nodes takes the nodes that are left of the line, at least one.
func (p *parser) nodes() []string {
	all := []string{p.node()}
	for len(p.words) > 0 && p.err == nil {
		if n := p.node(); slices.Contains(all, n) {
			p.fail("%s stands twice", n)
		} else {
			all = append(all, n)
		}
	}
	return all
}

// two takes two nodes that differ.
func (p *parser) two() (node, peer string) {
	node, peer = p.node(), p.node()
	if node == peer {
		p.fail("%s cannot be its own peer", node)
	}
	return node, peer
}

// spanMost bounds what a scenario may wait for: a mistake in a unit should not take a day.
const spanMost = time.Hour

// span takes a time, such as 500ms or 12s, above 0.
func (p *parser) span() time.Duration {
	word := p.next("a time")
	d, err := time.ParseDuration(word)
	if err != nil || d <= 0 || d > spanMost {
		p.fail("%q is no time from above 0 to %v, such as 500ms or 12s", word, spanMost)
		return time.Second
	}
	return d
}

// number takes a decimal number within bounds.
func (p *parser) number(least, most int) int {
	word := p.next("a number")
	n, err := strconv.Atoi(word)
	if err != nil || n < least || n > most {
		p.fail("%q is no number from %d to %d", word, least, most)
		return least
	}
	return n
}

func (p *parser) epoch() id.Epoch {
	word := p.next("an epoch")
	e, err := id.ParseEpoch(word)
	if err != nil {
		p.fail("%q is no epoch", word)
		return 1
	}
	return e
}

// row takes a pattern of a row of evidence at a node, or at any when the word is "any".
func (p *parser) row() judge.RowPattern {
	var pattern judge.RowPattern
	if len(p.words) > 0 && p.words[0] == "any" {
		p.next("any")
	} else {
		pattern.Node = p.node()
	}
	pattern.Head, pattern.Fields = p.evidence()
	return pattern
}

// evidence takes `head key=value ..`.
func (p *parser) evidence() (head string, fields []string) {
	quoted, ok := strings.CutPrefix(p.next("a row"), "`")
	if !ok {
		p.fail("a row of evidence stands between two `")
		return "", nil
	}
	var words []string
	for _, w := range strings.Fields(quoted) {
		if strings.Contains(w, "=") {
			fields = append(fields, w)
		} else if len(fields) > 0 {
			p.fail("%q stands behind a field", w)
		} else {
			words = append(words, w)
		}
	}
	if len(words) == 0 || !strings.HasSuffix(words[0], ":") {
		p.fail("a row of evidence begins like `mesh-fail: suspect`")
	}
	return strings.Join(words, " "), fields
}
