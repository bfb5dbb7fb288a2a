package qemu

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// The tests boot guests of a few ARM instructions: each prints a text on UART1, byte by byte, and
// then does one thing. Instructions are in the notation of the ARM Architecture Reference Manual,
// ARMv7-A edition, chapter A8.

const guestBase = 0x80010000 // where a guest is loaded and starts

// ending is what a guest does after it printed its text; r0 holds UART1's address.
type ending []uint32

var (
	powerOff = ending{
		movw(0, 0xc038), movt(0, 0x020c), // SNVS_LPCR
		0xe3a01061, // mov r1, #0x61: DP_EN | TOP
		0xe5801000, // str r1, [r0]
		0xeafffffe, // b .
	}
	reset = ending{
		movw(0, 0xc000), movt(0, 0x020b), // WDOG1_WCR
		0xe3a01004, // mov r1, #4: WDE, with SRS and WDA low
		0xe1c010b0, // strh r1, [r0]
		0xeafffffe, // b .
	}
	spin = ending{0xeafffffe} // b .
	echo = ending{
		0xe5902098, // ldr r2, [r0, #0x98]: USR2
		0xe3120001, // tst r2, #1: RDR
		0x0afffffc, // beq echo
		0xe5902000, // ldr r2, [r0]: RXD
		0xe5802040, // str r2, [r0, #0x40]: TXD
		0xeafffff9, // b echo
	}
)

func movw(reg, value uint32) uint32 {
	return 0xe3000000 | value>>12<<16 | reg<<12 | value&0xfff
}

func movt(reg, value uint32) uint32 { return movw(reg, value) | 0x00400000 }

// forever makes a guest print its text again and again.
const forever = true

// guest writes an ELF image and returns its path. The text must not contain a NUL.
func guest(t testing.TB, text string, end ending, again ...bool) string {
	t.Helper()
	printer := []uint32{
		movw(0, 0x0000), movt(0, 0x0202), // UART1
		0,          // add r1, pc, #text, below
		0xe4d12001, // next: ldrb r2, [r1], #1
		0xe3520000, // cmp r2, #0
		0x0a000001, // beq end
		0xe5802040, // str r2, [r0, #0x40]: TXD
		0xeafffffa, // b next
	}
	if len(again) > 0 && again[0] {
		printer[5] = 0x0afffffb // beq to the add: from the text's start
	}
	code := append(printer, end...)
	const at = 2                                         // the add's index; pc reads 8 bytes further
	code[at] = 0xe28f1000 | uint32(4*len(code)-(4*at+8)) // add r1, pc, #n; n < 256
	var body bytes.Buffer
	binary.Write(&body, binary.LittleEndian, code)
	body.WriteString(text)
	body.WriteByte(0)

	header := elf.Header32{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_ARM), Version: 1,
		Entry: guestBase, Phoff: 52, Ehsize: 52, Phentsize: 32, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS32)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = 1
	segment := elf.Prog32{
		Type: uint32(elf.PT_LOAD), Off: 84, Vaddr: guestBase, Paddr: guestBase,
		Filesz: uint32(body.Len()), Memsz: uint32(body.Len()), Flags: 5, Align: 4,
	}
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, header)
	binary.Write(&file, binary.LittleEndian, segment)
	file.Write(body.Bytes())
	path := filepath.Join(t.TempDir(), "guest.elf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
