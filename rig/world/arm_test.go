package world

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFunctionIsFoundInAProgramWithoutSymbols(t *testing.T) {
	self, err := os.Executable() // go test leaves the symbols out
	if err != nil {
		t.Fatal(err)
	}
	first, err := entry(self, "holdfast/rig/world.entry")
	if err != nil || first == 0 {
		t.Errorf("entry begins at %#x, %v", first, err)
	}
	second, err := entry(self, "holdfast/rig/world.TestAFunctionIsFoundInAProgramWithoutSymbols")
	if err != nil || second == 0 || second == first {
		t.Errorf("entry begins at %#x, and this test at %#x, %v", first, second, err)
	}
	none := filepath.Join(t.TempDir(), "none.elf")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("this is no program at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{self, "holdfast/rig/world.sabotage", "no function holdfast/rig/world.sabotage"},
		{none, "main.main", "no such file"},
		{text, "main.main", "bad magic number"},
	} {
		if at, err := entry(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s begins at %#x, %v; want an error with %q", c[1], at, err, c[2])
		}
	}
}
