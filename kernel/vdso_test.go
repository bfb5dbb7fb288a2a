//go:build !arm

package kernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// elfHash is the hash of symbol and version names in ELF files.
func elfHash(s string) (h uint32) {
	for _, c := range []byte(s) {
		h = h<<4 + uint32(c)
		g := h & 0xf0000000
		h = (h ^ g>>24) &^ g
	}
	return h
}

func TestTheVDSOIsAnELFImageWithOneFunction(t *testing.T) {
	newBench(t)
	le := binary.LittleEndian
	page := bytes.Clone(bytesAt(vdsoPage, pageSize))
	f, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	if f.Class != elf.ELFCLASS32 || f.Type != elf.ET_DYN || len(f.Progs) != 2 ||
		f.Progs[0].Type != elf.PT_LOAD || f.Progs[0].Memsz != pageSize ||
		f.Progs[1].Type != elf.PT_DYNAMIC {
		t.Errorf("%+v, %d program headers", f.FileHeader, len(f.Progs))
	}
	dynamic := map[elf.DynTag]uint32{}
	for at := f.Progs[1].Off; at < f.Progs[1].Off+f.Progs[1].Filesz; at += 8 {
		dynamic[elf.DynTag(le.Uint32(page[at:]))] = le.Uint32(page[at+4:])
	}
	symbol := page[dynamic[elf.DT_SYMTAB]+elf.Sym32Size:]
	name := func(offset uint32) string {
		s := page[dynamic[elf.DT_STRTAB]+offset:]
		return string(s[:bytes.IndexByte(s, 0)])
	}
	if got := name(le.Uint32(symbol)); got != "__vdso_clock_gettime" {
		t.Errorf("symbol %q", got)
	}
	start, end := vdsoCode()
	code := page[le.Uint32(symbol[4:]):][:end-start]
	if !bytes.Equal(code, bytesAt(start, end-start)) {
		t.Error("the code was not copied")
	}
	hash := page[dynamic[elf.DT_HASH]:]
	if buckets, first := le.Uint32(hash), le.Uint32(hash[8:]); buckets != 1 || first != 1 {
		t.Errorf("%d buckets, the first one starts with symbol %d", buckets, first)
	}
	version := page[dynamic[elf.DT_VERDEF]:]
	auxiliary := version[le.Uint32(version[12:]):]
	if got := name(le.Uint32(auxiliary)); got != "LINUX_2.6" {
		t.Errorf("version %q", got)
	}
	if got, want := le.Uint32(version[8:]), elfHash("LINUX_2.6"); got != want {
		t.Errorf("version hash %#x, want %#x", got, want)
	}
}
