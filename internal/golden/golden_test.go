package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// heard is a test that only takes note of its errors.
type heard struct {
	testing.TB
	errors []string
}

func (h *heard) Helper()                           {}
func (h *heard) Errorf(format string, args ...any) { h.errors = append(h.errors, args[1].(string)) }

func TestADifferenceIsShownAndRewrittenOnDemand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h := &heard{TB: t}
	Check(h, path, "one\ntwo\n")
	if len(h.errors) != 0 {
		t.Errorf("errors %q for the same", h.errors)
	}
	Check(h, path, "one\nthree\n")
	if len(h.errors) != 1 || !strings.Contains(h.errors[0], "three") {
		t.Errorf("errors %q for another", h.errors)
	}
	*update = true
	defer func() { *update = false }()
	Check(h, path, "one\nthree\n")
	got, err := os.ReadFile(path)
	if len(h.errors) != 1 || err != nil || string(got) != "one\nthree\n" {
		t.Errorf("errors %q, and the file is %q, %v", h.errors, got, err)
	}
}
