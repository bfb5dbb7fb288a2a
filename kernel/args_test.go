//go:build !arm

package kernel

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/board"
)

// start is what thread 0 finds on its stack.
type start struct {
	args, env []string
	aux       map[uint32]uint32
}

func cString(a uint32) string {
	b := host.memory[a-board.DRAM:]
	return string(b[:bytes.IndexByte(b, 0)])
}

// readStart reads it the way the runtime does.
func readStart(sp uint32) (s start) {
	argc := *word(sp)
	for i := range argc {
		s.args = append(s.args, cString(*word(sp + 4 + 4*i)))
	}
	at := sp + 4 + 4*argc
	if *word(at) != 0 {
		panic("no end of argv")
	}
	for at += 4; *word(at) != 0; at += 4 {
		s.env = append(s.env, cString(*word(at)))
	}
	s.aux = map[uint32]uint32{}
	for at += 4; *word(at) != 0; at += 8 {
		s.aux[*word(at)] = *word(at + 4)
	}
	return s
}

// startWith writes a boot page and makes the start stack.
func (b *bench) startWith(page string) start {
	clear(bytesAt(bootPage, pageSize))
	copy(bytesAt(bootPage, pageSize), page)
	return readStart(b.startStack())
}

func TestTheBootPageBecomesArgumentsAndEnvironment(t *testing.T) {
	b := newBench(t)
	defaults := b.startWith("").env
	limit := fmt.Sprintf("GOMEMLIMIT=%d", b.memory.total/100*memoryLimitPercent*pageSize)
	if defaults[0] != "GOMAXPROCS=4" || defaults[len(defaults)-1] != limit {
		t.Errorf("defaults %q", defaults)
	}
	for _, tt := range []struct {
		page      string
		args, env []string
	}{
		{"", nil, nil},
		{"-a\nB=c d\n-e=f\n", []string{"-a", "-e=f"}, []string{"B=c d"}},
		{"GOGC=50\nno end of line", nil, []string{"GOGC=50", "no end of line"}},
		{"\n\n-x\n\n", []string{"-x"}, nil},
		{"ram=64\n-x\nram=32", []string{"-x"}, nil},
		{"-x\x00-y\n", []string{"-x"}, nil},
		{"rammer=1\n", nil, []string{"rammer=1"}},
	} {
		s := b.startWith(tt.page)
		if want := append([]string{programName}, tt.args...); !slices.Equal(s.args, want) {
			t.Errorf("%q: arguments %q, want %q", tt.page, s.args, want)
		}
		if want := append(slices.Clone(tt.env), defaults...); !slices.Equal(s.env, want) {
			t.Errorf("%q: environment %q, want %q", tt.page, s.env, want)
		}
	}
}

func TestTheAuxiliaryVectorSaysWhatTheRuntimeNeeds(t *testing.T) {
	b := newBench(t)
	s := b.startWith("")
	if s.aux[auxPageSize] != pageSize || s.aux[auxVDSO] != vdsoPage || s.aux[auxHWCap]&(1<<17) == 0 {
		t.Errorf("aux %v", s.aux)
	}
	if got := cString(s.aux[auxPlatform]); got != "v7l" {
		t.Errorf("platform %q", got)
	}
	random := string(bytesAt(s.aux[auxRandom], 16))
	if strings.Count(random, "\x00") > 4 {
		t.Errorf("random bytes %x", random)
	}
	if again := readStart(b.startStack()); string(bytesAt(again.aux[auxRandom], 16)) == random {
		t.Error("the random bytes are always the same")
	}
}

func TestTheLoaderCanSayLessMemory(t *testing.T) {
	newBench(t)
	for _, tt := range []struct {
		page  string
		found uint32
		want  uint32 // MiB
	}{
		{"", 128, 128}, {"ram=64\n", 128, 64}, {"-x\nram=64", 128, 64}, {"ram=256\n", 128, 128},
		{"ram=0\n", 128, 128}, {"ram=\n", 128, 128}, {"ram=x", 128, 128}, {"ram=64k\n", 128, 64},
		{"xram=64\n", 128, 128}, {"ram=99999999999999999999\n", 128, 128}, {"", 2048, 512},
		{"ram=600", 1024, 512}, {"-x\x00ram=64\n", 128, 128}, {"ram=16\nram=64", 128, 16},
	} {
		clear(bytesAt(bootPage, pageSize))
		copy(bytesAt(bootPage, pageSize), tt.page)
		if got := ramSize(tt.found) / megabyte; got != tt.want {
			t.Errorf("%q, %d MiB found: %d MiB, want %d", tt.page, tt.found, got, tt.want)
		}
	}
}

// Whatever the loader leaves on the page, the program starts, and no line is lost or made up.
func FuzzBootPage(f *testing.F) {
	for _, seed := range []string{"", "-a\nB=c\n", "ram=64", "ram=", "\n", "-",
		strings.Repeat("-\n", 1024), strings.Repeat("x", board.BootSize),
		"ram=" + strings.Repeat("9", 2044)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		b := newBench(t)
		page = page[:min(len(page), board.BootSize)]
		s := b.startWith(string(page))
		ramSize(128)
		text, _, _ := strings.Cut(string(page), "\x00")
		lines := 0
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" && !strings.HasPrefix(line, ramLine) {
				lines++
			}
		}
		if got := len(s.args) - 1 + len(s.env) - strings.Count(environment, "\x00") - 1; got != lines {
			t.Errorf("%d lines became %d strings", lines, got)
		}
	})
}
