package kernel_test

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

// mayCall is what the kernel's code may call outside of itself. These are leaves of the runtime
// that touch neither g nor the heap, and the ends of a broken kernel: with the dummy g they fault,
// and the fault is reported like any other.
var mayCall = map[string]bool{
	"runtime.memmove":                  true,
	"runtime.memclrNoHeapPointers":     true,
	"runtime.duffzero":                 true,
	"runtime.duffcopy":                 true,
	"runtime.udiv":                     true, // 32-bit division
	"internal/runtime/math.MulUintptr": true,

	"runtime.morestack_noctxt":       true,
	"runtime.panicBounds":            true,
	"runtime.panicdivide":            true,
	"runtime.panicunsafeslicelen":    true,
	"runtime.panicunsafeslicenilptr": true,
}

// inKernelMode are the packages whose code may run in SVC mode.
var inKernelMode = []string{
	"holdfast/kernel.", "holdfast/board/mmio.", "holdfast/board/uart.", "holdfast/board/gic.",
	"holdfast/board/timer.", "holdfast/board/wdog.", "holdfast/board/snvs.", "_kernel_start",
	"holdfast/board/core.", "holdfast/board/syscnt.", "holdfast/board/ccm.",
	"holdfast/board/iomuxc.",
}

// mayFloat are the functions that may use the floating-point unit: its registers are the program's.
var mayFloat = map[string]bool{
	"_kernel_start":          true,
	"holdfast/kernel.saveFP": true,
	"holdfast/kernel.loadFP": true,
}

// mayJump are the functions that may go where a register says.
var mayJump = map[string]bool{"holdfast/kernel.resume": true, "holdfast/kernel.vecProbe": true}

// program is the code of an image.
type program struct {
	functions []function // by address
}

type function struct {
	name  string
	start uint32
	words []uint32
}

func load(path string) (*program, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	p := new(program)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 {
			continue
		}
		fn := function{name: s.Name, start: uint32(s.Value)}
		for off := s.Value - text.Addr; off < s.Value-text.Addr+s.Size; off += 4 {
			fn.words = append(fn.words, binary.LittleEndian.Uint32(code[off:]))
		}
		p.functions = append(p.functions, fn)
	}
	slices.SortFunc(p.functions, func(a, b function) int { return int(a.start) - int(b.start) })
	return p, nil
}

// at is the function that holds an address, nil if none does.
func (p *program) at(a uint32) *function {
	i := sort.Search(len(p.functions), func(i int) bool { return p.functions[i].start > a }) - 1
	if i < 0 || a-p.functions[i].start >= uint32(len(p.functions[i].words))*4 {
		return nil
	}
	return &p.functions[i]
}

// Instruction encodings: ARM Architecture Reference Manual ARMv7-A, A5.
func isLiteralLoad(w uint32) bool { return w&0x0f7f0000 == 0x051f0000 }

func literal(w, pc uint32) uint32 {
	if w&(1<<23) == 0 {
		return pc + 8 - w&0xfff
	}
	return pc + 8 + w&0xfff
}

func isBranch(w uint32) bool { return w>>25&7 == 5 }

func branchTarget(w, pc uint32) uint32 { return pc + 8 + uint32(int32(w<<8)>>6) }

func isFloat(w uint32) bool {
	return w>>28 != 15 && (w>>25&7 == 6 || w>>24&15 == 14) && w>>9&7 == 5 || w>>25 == 0x79 // VFP, NEON
}

// isIndirect reports whether w goes to an address in a register other than the link register, or
// in memory other than the stack.
func isIndirect(w uint32) bool {
	switch {
	case w>>28 == 15:
		return false
	case w&0x0fffffd0 == 0x012fff10: // BX, BLX
		return w&15 != 14
	case w>>26&3 == 0 && w>>12&15 == 15: // data processing with PC as its destination
		isTest := w>>23&3 == 2 // compares, moves to the status register, hints such as WFI
		isExtra := w&0x90 == 0x90 && w&(1<<25) == 0
		isLinkReturn := w&0x0fffffff == 0x028ef000 || w&0x0fffffff == 0x01a0f00e
		return !isTest && !isExtra && !isLinkReturn
	case w&0x0c10f000 == 0x0410f000: // LDR PC
		return w>>16&15 != 13
	}
	return false
}

// examine follows every call from the roots and returns what the kernel's code does that it may
// not do, and the functions that it reached.
func (p *program) examine(roots []string) (reached map[string]bool, problems []string) {
	reached = map[string]bool{}
	for queue := roots; len(queue) != 0; {
		name := queue[0]
		queue = queue[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		i := slices.IndexFunc(p.functions, func(f function) bool { return f.name == name })
		if i < 0 {
			problems = append(problems, name+" does not exist")
			continue
		}
		calls, bad := p.examineFunction(&p.functions[i])
		queue = append(queue, calls...)
		problems = append(problems, bad...)
	}
	return reached, problems
}

func (p *program) examineFunction(f *function) (calls, problems []string) {
	literals := map[uint32]bool{}
	for i, w := range f.words {
		pc := f.start + uint32(i)*4
		problem := func(what string) {
			problems = append(problems, fmt.Sprintf("%s+%#x %s: %08x", f.name, i*4, what, w))
		}
		switch {
		case literals[pc]:
		case isLiteralLoad(w):
			literals[literal(w, pc)] = true
		case isFloat(w) && !mayFloat[f.name]:
			problem("uses the floating-point unit")
		case isBranch(w):
			target := p.at(branchTarget(w, pc))
			switch {
			case target == nil:
				problem("goes nowhere")
			case target.start == f.start || mayCall[target.name]:
			case !slices.ContainsFunc(inKernelMode, func(prefix string) bool {
				return strings.HasPrefix(target.name, prefix)
			}):
				problem("calls " + target.name)
			default:
				calls = append(calls, target.name)
			}
		case isIndirect(w) && !mayJump[f.name]:
			problem("goes where a register says")
		}
	}
	return calls, problems
}

var kernelRoots = []string{
	"_kernel_start", "holdfast/kernel.vecProbe", "holdfast/kernel.vecCall",
	"holdfast/kernel.vecInterrupt", "holdfast/kernel.vecData", "holdfast/kernel.vecFetch",
	"holdfast/kernel.vecUndefined", "holdfast/kernel.vdsoGettime",
}

func TestTheKernelCallsNothingThatMayNotRunInItsMode(t *testing.T) {
	p, err := load(guest(t, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	reached, problems := p.examine(kernelRoots)
	for _, problem := range problems {
		t.Error(problem)
	}
	for _, name := range []string{ // or the search has lost its way
		"holdfast/kernel.(*kernel).trap", "holdfast/kernel.(*kernel).schedule",
		"holdfast/kernel.(*kernel).kernelFault", "holdfast/kernel.(*generator).fill",
		"holdfast/kernel.buildTables", "holdfast/board/mmio.W32", "holdfast/board/timer.Set",
		"holdfast/board/iomuxc.Block.ConnectUART1",
	} {
		if !reached[name] {
			t.Errorf("%s was not reached", name)
		}
	}
	t.Logf("%d functions run in SVC mode", len(reached))
}

// The kernel keeps its data in its own megabyte: a variable would be in the image's sections, which
// are not there before they are touched, and in the garbage collector's sight.
func TestTheKernelHasNoVariables(t *testing.T) {
	f, err := elf.Open(guest(t, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range symbols {
		kernels := slices.ContainsFunc(inKernelMode, func(prefix string) bool {
			return strings.HasPrefix(s.Name, prefix)
		})
		if !kernels || int(s.Section) >= len(f.Sections) {
			continue
		}
		checked++
		if section := f.Sections[s.Section]; section.Flags&elf.SHF_WRITE != 0 {
			t.Errorf("%s is a variable, in %s", s.Name, section.Name)
		}
	}
	if checked < 100 {
		t.Errorf("only %d symbols of the kernel found", checked)
	}
}

// A checker that finds nothing is worth nothing: one instruction each of what it has to find.
func TestTheCallCheckerFindsEachKindOfViolation(t *testing.T) {
	const start = 0x80201000
	call := func(from, to uint32) uint32 { return 0xeb000000 | (to-from-8)>>2&0xffffff }
	other := function{name: "runtime.newobject", start: start + 0x100, words: []uint32{0xe12fff1e}}
	good := function{name: "runtime.memmove", start: start + 0x200, words: []uint32{0xe12fff1e}}
	for name, tt := range map[string]struct {
		words []uint32
		want  string
	}{
		"nothing":      {[]uint32{0xe12fff1e}, ""},
		"allowed call": {[]uint32{call(start, start+0x200), 0xe12fff1e}, ""},
		"allocation":   {[]uint32{call(start, start+0x100)}, "calls runtime.newobject"},
		"tail jump": {
			[]uint32{call(start, start+0x100) &^ (1 << 24)}, "calls runtime.newobject"},
		"call that is a literal":   {[]uint32{0xe59f0000, 0xe12fff1e, call(start+8, start+0x100)}, ""},
		"call outside of the code": {[]uint32{call(start, start+0x300)}, "goes nowhere"},
		"call of a closure":        {[]uint32{0xe12fff37}, "where a register says"}, // blx r7
		"jump to a register":       {[]uint32{0xe1a0f003}, "where a register says"}, // mov pc, r3
		"jump table":               {[]uint32{0xe79ff100}, "where a register says"}, // ldr pc, [..]
		"return by mov":            {[]uint32{0xe1a0f00e}, ""},                      // mov pc, lr
		"return by pop":            {[]uint32{0xe49df028}, ""},                      // ldr pc, [sp], #40
		"compare is no jump":       {[]uint32{0xe35f0000}, ""},                      // cmp pc, #0
		"float addition":           {[]uint32{0xee300b01}, "floating-point"},        // vadd.f64
		"float load":               {[]uint32{0xed910b00}, "floating-point"},        // vldr d0, [r1]
		"vector":                   {[]uint32{0xf2000840}, "floating-point"},        // vadd.i8
		"coprocessor 15":           {[]uint32{0xee070f15, 0xec510f1e}, ""},          // mcr, mrrc
	} {
		t.Run(name, func(t *testing.T) {
			p := &program{functions: []function{{"holdfast/kernel.f", start, tt.words}, other, good}}
			_, problems := p.examine([]string{"holdfast/kernel.f"})
			switch {
			case tt.want == "" && len(problems) != 0:
				t.Errorf("found %q", problems)
			case tt.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], tt.want)):
				t.Errorf("found %q, want %q", problems, tt.want)
			}
		})
	}
	if _, problems := new(program).examine([]string{"gone"}); len(problems) != 1 {
		t.Error("a root that does not exist is not missed")
	}
}
