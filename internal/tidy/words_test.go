package tidy

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The patterns of this file are written in pieces, so that the file itself keeps the rule.
var (
	// note is a note to oneself. Only one that names its issue may stay.
	note = regexp.MustCompile(`\b(` + `TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b(\(#\d+\))?`)

	// foreign are words that tell of where and how the product was made, and not of the product.
	foreign = regexp.MustCompile(`(?i)` + strings.Join([]string{
		`/wo` + `rk/`, `/ro` + `ot/`, `/ho` + `me/[a-z]`, `/tmp/(hf|cc)\b`,
		`\bproto` + `type`, `\bclau` + `de\b`, `\banth` + `ropic\b`, `\bLL` + `M\b`,
		`\bcopi` + `lot\b`, `\bchat` + `gpt\b`, `\bco-author` + `ed-by\b`,
		`GOPRO` + `XY=http`, `index-` + `url`, `regis` + `try\.`,
	}, `|`))
)

// leftovers checks a file for words that have no place in it.
func leftovers(f *file) []string {
	var wrong []string
	number := 0
	say := func(word, what string) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %q %s", f.path, number, word, what))
	}
	for line := range strings.Lines(f.content) {
		number++
		for _, m := range note.FindAllStringSubmatch(line, -1) {
			if m[2] == "" {
				say(m[1], "without its issue")
			}
		}
		if m := foreign.FindString(line); m != "" {
			say(m, "has no place in the product")
		}
		if m := here(line); m != "" {
			say(m, "is a path of this machine")
		}
	}
	return wrong
}

// here returns a path of the machine that the test runs on, if the line has one.
func here(line string) string {
	for _, dir := range machine {
		if strings.Contains(line, dir) {
			return dir
		}
	}
	return ""
}

// machine has the folders that are this machine's own: none shorter than two elements, since /usr
// or /tmp are anybody's.
var machine = func() []string {
	var dirs []string
	for _, name := range []string{"HOME", "GOPATH", "GOCACHE", "GOMODCACHE"} {
		if dir := os.Getenv(name); strings.Count(dir, "/") >= 2 {
			dirs = append(dirs, dir)
		}
	}
	if dir, err := os.Getwd(); err == nil {
		dirs = append(dirs, strings.TrimSuffix(dir, "/internal/tidy"))
	}
	return dirs
}()

func TestLeftoversAreFound(t *testing.T) {
	for line, ok := range map[string]bool{
		"// A sentence about registers and /tmp.": true,
		"// TO" + "DO: later":                     false,
		"// TO" + "DO(#12): later":                true,
		"// TO" + "DO(someone): later":            false,
		"// FIX" + "ME":                           false,
		"const xx" + "x = 1":                      true,
		"cd /wo" + "rk/main":                      false,
		"// as the proto" + "type did":            false,
		"// Clau" + "de wrote this":               false,
		"go to " + machine[len(machine)-1]:        false,
	} {
		if wrong := leftovers(read(t, "a.md", line+"\n")); (len(wrong) == 0) != ok {
			t.Errorf("%q: %v", line, wrong)
		}
	}
}
