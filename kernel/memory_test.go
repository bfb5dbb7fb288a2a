//go:build !arm

package kernel

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/board"
)

// address is an address as a system call returns it.
func address(a uint32) int32 { return int32(a) }

const anonymous = mapAnonymous | 2 // MAP_PRIVATE

// touchByWrite writes to memory as the program would: the fault handler gets its chance. It
// reports false when the program would have got a signal.
func (b *bench) touchByWrite(a uint32, v byte) bool {
	if a-board.DRAM >= board.DRAMSizeMax {
		return false
	}
	if *entry(a) == 0 && !b.touch(a) {
		return false
	}
	if *entry(a)&pageReadOnly != 0 {
		return false
	}
	*(*byte)(ptr(a)) = v
	return true
}

func TestMmapHandsOutAndTakesBackTheRightMemory(t *testing.T) {
	b := newBench(t)
	const half, top, hint = 4 << 20, spaceEnd, benchPool + 8*pageSize
	mmap := func(a, n uint32) int32 { return b.call(callMmap2, a, n, 3, anonymous) }
	b.want("the first without a hint is at the top", mmap(0, half), address(top-half))
	b.want("with a hint", mmap(hint, pageSize), address(hint))
	b.want("with the same hint", mmap(hint, pageSize), address(top-half-pageSize))
	b.want("with a hint in the kernel", mmap(board.DRAM, pageSize), address(top-half-2*pageSize))
	b.want("an odd length", mmap(0, 1), address(top-half-3*pageSize))
	if b.memory.promised != half/pageSize+4 {
		t.Errorf("%d pages in use", b.memory.promised)
	}
	b.want("unmap", b.call(callMunmap, top-half, half), 0)
	b.want("unmap twice", b.call(callMunmap, top-half, half), 0)
	if b.memory.promised != 4 {
		t.Errorf("%d pages in use after unmap", b.memory.promised)
	}
	b.want("the top again", b.call(callMmap2, 0, half, 3, anonymous), address(top-half))
}

func TestMmapRefuses(t *testing.T) {
	b := newBench(t)
	const top = spaceEnd
	for _, tt := range []struct {
		name              string
		a, n, prot, flags uint32
		want              int32
	}{
		{"no length", 0, 0, 3, anonymous, -eINVAL},
		{"a length that wraps", 0, 0xffffffff, 3, anonymous, -eINVAL},
		{"a file", 0, pageSize, 3, 2, -eINVAL},
		{"executable", 0, pageSize, 7, anonymous, -ePERM},
		{"fixed, odd", benchPool + 1, pageSize, 3, anonymous | mapFixed, -eINVAL},
		{"fixed, below the pool", benchPool - pageSize, pageSize, 3, anonymous | mapFixed, -eNOMEM},
		{"fixed, beyond the pool", top, pageSize, 3, anonymous | mapFixed, -eNOMEM},
		{"fixed, over the end", top - pageSize, 2 * pageSize, 3, anonymous | mapFixed, -eNOMEM},
		{"fixed, around the world", top - pageSize, 0xfffff000, 3, anonymous | mapFixed, -eNOMEM},
		{"more than there are frames", 0, benchRAM, 3, anonymous, -eNOMEM},
		{"more than there are frames, fixed", benchPool, benchRAM, 3, anonymous | mapFixed, -eNOMEM},
		{"more than there are addresses", 0, 1 << 29, 0, anonymous, -eNOMEM},
		{"all arenas of the heap", 0, hopeless, 0, anonymous, -eNOMEM},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b.t = t
			b.want("mmap", b.call(callMmap2, tt.a, tt.n, tt.prot, tt.flags), tt.want)
		})
	}
	if b.memory.promised != 0 {
		t.Errorf("%d pages in use", b.memory.promised)
	}
}

func TestOnlyTheProgramsMemoryIsMappedByATouch(t *testing.T) {
	b := newBench(t)
	reserved := uint32(b.call(callMmap2, 0, pageSize, 0, anonymous))
	mapped := uint32(b.call(callMmap2, 0, pageSize, 3, anonymous))
	for _, tt := range []struct {
		name string
		a    uint32
		want bool
	}{
		{"null", 0, false},
		{"the kernel's guard page", kernelStack - pageSize, false},
		{"behind the kernel's stack", kernelStackTop, false},
		{"the page behind the code", board.Image + 0x3000, false},
		{"the zeroed section's first whole page", benchZero, true},
		{"its last page", benchData + 5*pageSize, true},
		{"the page behind it", benchPool, false},
		{"reserved", reserved, false},
		{"mapped", mapped, true},
		{"mapped, touched before", mapped, false},
		{"not handed out", mapped - pageSize, false},
		{"beyond the addresses", spaceEnd, false},
		{"a device", board.UART1, false},
	} {
		if got := b.touch(tt.a); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// Garbage is everywhere before; what the program touches is zero.
func TestTouchedMemoryIsZero(t *testing.T) {
	b := newBench(t)
	fill := func(a, n uint32) {
		for i := range n {
			host.memory[a-board.DRAM+i] = 0xee
		}
	}
	fill(benchZero, 3*pageSize)
	a := uint32(b.call(callMmap2, 0, 8*pageSize, 3, anonymous))
	fill(a, 8*pageSize)
	for _, p := range []uint32{benchZero + 8, benchData + 5*pageSize, a, a + 7*pageSize + 4095} {
		if !b.touchByWrite(p, 0) {
			t.Fatalf("%#x can not be touched", p)
		}
		for i := range uint32(pageSize) {
			if at := p&^(pageSize-1) + i; host.memory[at-board.DRAM] != 0 {
				t.Fatalf("%#x is not zero", at)
			}
		}
	}
}

func TestAWriteToTheProgramsDataSurvivesItsNeighboursTouch(t *testing.T) {
	b := newBench(t)
	a := uint32(b.call(callMmap2, 0, 4*pageSize, 3, anonymous))
	b.call(callMunmap, a+pageSize, pageSize)
	b.touchByWrite(a, 1)
	b.touchByWrite(a+3*pageSize, 3)
	b.want("map the hole", b.call(callMmap2, a+pageSize, pageSize, 3, anonymous|mapFixed),
		address(a+pageSize))
	b.touchByWrite(a+pageSize, 2)
	for i, want := range []byte{1, 2, 0, 3} {
		if got := host.memory[a-board.DRAM+uint32(i)*pageSize]; got != want {
			t.Errorf("page %d holds %d, want %d", i, got, want)
		}
	}
}

func TestLongUnmappingIsDoneInPieces(t *testing.T) {
	b := newBench(t)
	const n = 3 * untouchPages
	a := uint32(b.call(callMmap2, 0, n*pageSize, 3, anonymous))
	for p := range uint32(n) {
		b.touchByWrite(a+p*pageSize, 1)
	}
	t0, forgotten := b.running(), host.flushed
	t0.regs = [15]uint32{a, n * pageSize, 7: callMunmap}
	pieces := 0
	for pc := t0.pc; ; t0.pc = pc {
		before := b.memory.poolTouched
		b.trap(causeCall)
		pieces++
		if d := before - b.memory.poolTouched; d > untouchPages {
			t.Fatalf("%d pages at once", d)
		}
		if t0.pc == pc {
			break
		}
		if t0.regs[0] != a || t0.regs[1] != n*pageSize {
			t.Fatal("an unfinished call has changed its arguments")
		}
	}
	if d := host.flushed - forgotten; d != n {
		t.Errorf("%d translations forgotten of %d", d, n)
	}
	if pieces < 3 || t0.regs[0] != 0 || b.memory.promised != 0 || b.memory.poolTouched != 0 {
		t.Errorf("%d pieces, result %d, %d pages in use, %d touched",
			pieces, int32(t0.regs[0]), b.memory.promised, b.memory.poolTouched)
	}
}

// pageState is what a model knows of a page of the pool.
type pageState struct {
	usable   bool
	contents byte
}

// Whatever a program does with its memory, it finds what it wrote, zeros where it wrote nothing,
// and faults where it has no right.
func TestMemoryBehavesLikeItsModel(t *testing.T) {
	const pages = 60
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		defer b.shutdown()
		model := [pages]pageState{}
		base := uint32(benchPool + 3*pageSize)
		span := func() (lo, hi uint32) {
			lo = rapid.Uint32Range(0, pages-1).Draw(rt, "lo")
			return lo, rapid.Uint32Range(lo+1, pages).Draw(rt, "hi")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"map": func(rt *rapid.T) {
				lo, hi := span()
				prot := rapid.SampledFrom([]uint32{0, 1, 3}).Draw(rt, "prot")
				got := b.call(callMmap2, base+lo*pageSize, (hi-lo)*pageSize, prot, anonymous|mapFixed)
				if got != address(base+lo*pageSize) {
					rt.Fatalf("mmap: %d", got)
				}
				for p := lo; p < hi; p++ {
					model[p] = pageState{prot != 0, 0}
				}
			},
			"unmap": func(rt *rapid.T) {
				lo, hi := span()
				if got := b.call(callMunmap, base+lo*pageSize, (hi-lo)*pageSize); got != 0 {
					rt.Fatalf("munmap: %d", got)
				}
				clear(model[lo:hi])
			},
			"forget": func(rt *rapid.T) {
				lo, hi := span()
				advice := rapid.SampledFrom([]uint32{adviseDontNeed, adviseFree}).Draw(rt, "advice")
				if got := b.call(callMadvise, base+lo*pageSize, (hi-lo)*pageSize, advice); got != 0 {
					rt.Fatalf("madvise: %d", got)
				}
				for p := lo; p < hi && advice == adviseDontNeed; p++ {
					model[p].contents = 0
				}
			},
			"write": func(rt *rapid.T) {
				p := rapid.Uint32Range(0, pages-1).Draw(rt, "page")
				v := rapid.Byte().Draw(rt, "value")
				if got := b.touchByWrite(base+p*pageSize, v); got != model[p].usable {
					rt.Fatalf("write to page %d: %v, want %v", p, got, model[p].usable)
				}
				if model[p].usable {
					model[p].contents = v
				}
			},
			"system call": func(rt *rapid.T) {
				p := rapid.Uint32Range(0, pages-1).Draw(rt, "page")
				want := int32(-eFAULT)
				if model[p].usable {
					want = 0
					model[p].contents = 'L' // of uname's "Linux"
				}
				if got := b.call(callUname, base+p*pageSize); got != want {
					rt.Fatalf("uname to page %d: %d, want %d", p, got, want)
				}
			},
			"": func(rt *rapid.T) { b.compare(rt, base, model[:]) },
		})
	})
}

// compare checks the page tables and the counts against the model.
func (b *bench) compare(rt *rapid.T, base uint32, model []pageState) {
	inUse := uint32(0)
	frames := map[uint32]int{}
	for p, m := range model {
		a := base + uint32(p)*pageSize
		if m.usable {
			inUse++
		}
		if e := *entry(a); e != 0 {
			frame := e &^ (pageSize - 1)
			if !m.usable || e != frame|pageRW {
				rt.Fatalf("page %d: entry %#x, model %+v", p, e, m)
			}
			if other, taken := frames[frame]; taken || !b.memory.frames.has(page(frame)) {
				rt.Fatalf("pages %d and %d have the frame %#x", p, other, frame)
			}
			frames[frame] = p
			if got := host.memory[a-board.DRAM]; got != m.contents {
				rt.Fatalf("page %d holds %d, want %d", p, got, m.contents)
			}
		} else if m.contents != 0 {
			rt.Fatalf("page %d has lost %d", p, m.contents)
		}
	}
	if b.memory.promised != inUse {
		rt.Fatalf("%d pages in use, want %d", b.memory.promised, inUse)
	}
	mapped := uint32(0)
	for _, n := range b.memory.mapped {
		mapped += uint32(n)
	}
	if mapped != b.memory.poolTouched {
		rt.Fatalf("%d pages mapped, %d touched", mapped, b.memory.poolTouched)
	}
	if free := pagesMax - b.memory.frames.count(0, pagesMax); free != b.memory.free ||
		free+mapped != b.memory.total || int(mapped) != len(frames) {
		rt.Fatalf("%d frames free, %d counted, %d mapped of %d",
			free, b.memory.free, mapped, b.memory.total)
	}
}

func TestAPointerIsCheckedAtItsEdges(t *testing.T) {
	b := newBench(t)
	const top = spaceEnd
	last := uint32(b.call(callMmap2, 0, pageSize, 3, anonymous)) // the last page of all
	if last != top-pageSize {
		t.Fatalf("mapped %#x", last)
	}
	for _, tt := range []struct {
		a, n            uint32
		readable, write bool
	}{
		{0, 0, true, true},
		{0, 1, false, false},
		{board.DRAM, 1, false, false},
		{stateBase, 4, false, false},
		{threadStack - 1, 1, false, false},
		{threadStack - 1, 2, false, false},
		{threadStack, 1, true, true},
		{threadStackTop - 1, 1, true, true},
		{threadStackTop - 1, 2, false, false},
		{threadStack, kernelEnd, false, false},
		{l2Tables, 4, false, false},
		{kernelEnd - 1, 1, false, false},
		{board.DMA, board.DMASize, true, true},
		{board.DMA - 1, 2, false, false},
		{board.Image, 16, true, false},
		{board.ImageText, 16, true, false},
		{board.Image + 0x4000, 16, true, false},
		{benchData, 16, true, true},
		{benchData - 1, 2, false, false},
		{benchZero, 2 * pageSize, true, true},
		{benchPool - 1, 1, true, true},
		{benchPool - 1, 2, false, false},
		{top - 1, 1, true, true},
		{top - 1, 2, false, false},
		{top, 1, false, false},
		{0xffffffff, 2, false, false},
		{last, 0xffffffff, false, false},
	} {
		t.Run(fmt.Sprintf("%#x+%#x", tt.a, tt.n), func(t *testing.T) {
			if got := b.readable(tt.a, tt.n); got != tt.readable {
				t.Errorf("readable: %v", got)
			}
			if got := b.writable(tt.a, tt.n); got != tt.write {
				t.Errorf("writable: %v", got)
			}
		})
	}
	if b.wordsWritable(benchData+2, 4) || b.wordsReadable(benchData+1, 4) {
		t.Error("a structure may be unaligned")
	}
}

func TestThePageTablesKeepWhatTheLinkerMeant(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name       string
		a          uint32
		protection uint32 // 0 for none
	}{
		{"vectors", vectorPage, pageRX}, {"clock", vvarPage, pageRW}, {"vDSO", vdsoPage, pageRX},
		{"signal return", sigretPage, pageRX}, {"below the stack", kernelStack - pageSize, 0},
		{"stack", kernelStack, pageRW}, {"below the fault stack", kernelStackTop, 0},
		{"below thread 0's stack", threadStack - pageSize, 0}, {"thread 0's stack", threadStack, pageRW},
		{"DMA", board.DMA, pageUncached}, {"image headers", board.Image, pageRX},
		{"code", board.ImageText, pageRX}, {"constants", board.Image + 0x4000, pageRO},
		{"between", board.Image + 0x3000, 0}, {"data", benchData, pageRW},
		{"half zero", benchData + 2*pageSize, pageRW}, {"zeros", benchZero, 0}, {"pool", benchPool, 0},
	} {
		want := tt.protection
		if want != 0 {
			want |= tt.a
		}
		if got := *entry(tt.a); got != want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, want)
		}
	}
	for a := uint64(0); a < 1<<32; a += megabyte {
		mapped := *word(l1Table + uint32(a/megabyte)*4) != 0
		const peripheralsEnd = board.PeripheralsRange + board.PeripheralsSize
		want := a == board.GICRange || a >= board.PeripheralsRange && a < peripheralsEnd ||
			a >= board.DRAM && a < spaceEnd
		if mapped != want {
			t.Errorf("megabyte %#x: mapped %v", a, mapped)
		}
	}
	if !b.image.isCode(board.ImageText) || b.image.isCode(benchData) ||
		b.image.isCode(board.Image+0x3000) {
		t.Error("code is not told from data")
	}
}

func TestTooLittleMemoryIsSaid(t *testing.T) {
	const fileEnd, imageEnd = board.DRAM + 10<<20, board.DRAM + 40<<20
	const least = 10<<20 + framesMin*pageSize
	for size, want := range map[uint32]bool{
		0: false, 10<<20 - pageSize: false, 10 << 20: false, least - pageSize: false, least: true,
	} {
		if got := new(memory).init(size, fileEnd, imageEnd); got != want {
			t.Errorf("%#x bytes: %v", size, got)
		}
	}
	if new(memory).init(512<<20, fileEnd, spaceEnd+pageSize) {
		t.Error("an image is longer than the addresses there are")
	}
}

// mmap promises what there is and not more; reservations without a right cost nothing.
func TestMmapPromisesNoMoreThanThereIs(t *testing.T) {
	b := newBench(t)
	most := b.memory.total - framesSpare
	reserved := b.call(callMmap2, 0, hopeless-pageSize, protNone, anonymous)
	if reserved >= 0 && uint32(reserved) < board.DRAM {
		t.Fatalf("reservation: %d", reserved)
	}
	first := uint32(b.call(callMmap2, benchPool, most*pageSize, 3, anonymous))
	if first != benchPool {
		t.Fatalf("all there is: %#x", first)
	}
	fixed := func(a, n, prot uint32) int32 {
		return b.call(callMmap2, a, n, prot, anonymous|mapFixed)
	}
	b.want("one page more", b.call(callMmap2, 0, pageSize, 3, anonymous), -eNOMEM)
	b.want("one page of the reservation", fixed(uint32(reserved), pageSize, 3), -eNOMEM)
	b.want("the same pages again", fixed(first, most*pageSize, 3), address(first))
	b.want("no right to one of them", fixed(first, pageSize, protNone), address(first))
	b.want("one page of the reservation now", fixed(uint32(reserved), pageSize, 3), reserved)
	for p := uint32(1); p < most; p++ {
		if !b.touchByWrite(first+p*pageSize, 1) {
			t.Fatalf("page %d can not be touched", p)
		}
	}
	if b.memory.free+b.memory.zeroTouched < framesSpare {
		t.Errorf("%d frames are free, %d went to the image's zeros", b.memory.free, b.memory.zeroTouched)
	}
}

// The image's zeros were promised to nobody: they are what breaks when all has been given away.
func TestAProgramThatTouchesMoreZerosThanThereAreFramesEnds(t *testing.T) {
	b := newBench(t)
	b.memory.free = 0
	how, console := b.ends(func() { b.touch(benchZero) })
	const want = "panic: kernel: no memory for the image's zeros"
	if how != "reset" || !strings.HasPrefix(console, want) {
		t.Errorf("ended by %s, console %q", how, console)
	}
}

func TestAFrameIsGivenBackOnce(t *testing.T) {
	b := newBench(t)
	frame, ok := b.memory.takeFrame()
	if !ok {
		t.Fatal("no frame")
	}
	b.memory.giveFrame(frame)
	defer func() {
		if recover() == nil {
			t.Error("given back twice")
		}
	}()
	b.memory.giveFrame(frame)
}

// While a search for addresses pauses, another thread takes what it finds: it goes on.
func TestASearchThatWasOvertakenBeginsAnew(t *testing.T) {
	b := newBench(t)
	top := page(spaceEnd)
	for p := page(benchPool) + 10; p < top; p += 2 {
		b.memory.reserved.fill(p, p+1)
	}
	th := b.running()
	th.regs = [15]uint32{0, 2 * pageSize, protNone, anonymous, 7: callMmap2}
	pc := th.pc
	for pieces := 0; th.done == 0 || th.gap.at > page(benchPool)+gapSteps; pieces++ {
		b.trap(causeCall)
		if th.pc != pc-4 {
			t.Fatalf("over after %d pieces: %#x", pieces, th.regs[0])
		}
		th.pc = pc
	}
	b.memory.reserved.fill(page(benchPool)+8, page(benchPool)+10) // what it would find
	for range 1000 {
		b.trap(causeCall)
		if th.pc == pc {
			break
		}
		th.pc = pc
	}
	if want := benchPool + 6*pageSize; th.regs[0] != uint32(want) {
		t.Errorf("found %#x, want %#x", th.regs[0], want)
	}
}
