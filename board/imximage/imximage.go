// Package imximage makes what the i.MX 6UL and 6ULL boot from an SD card: an image that the chip's
// boot ROM understands, and the whole card around it. It owns the byte layout and the settings of
// the MCIMX6ULL-EVK's memory. It must never touch a device or a file: bytes in, bytes out, on the
// host. What it returns can be parsed by Parse, and nothing that Parse accepts is out of bounds.
//
// # The image, holdfast.imx
//
// All numbers are little-endian, but for the lengths and everything else in the device
// configuration data, which are big-endian. Offsets count from the image's first byte; the card has
// it at 1 KiB. IMX6ULLRM chapter 8 "System Boot", section "Program image".
//
//	0x000  32  image vector table (IVT)          table "IVT format"
//	0x020  12  boot data                         table "Boot data format"
//	0x02c      device configuration data (DCD)   table "DCD data format"; zeros behind it
//	0xc00      payload, padded with zeros to a multiple of 512
//
// The image vector table holds addresses in memory, as they are once the ROM has copied the image:
//
//	+0x00  4  header: tag 0xd1, length 0x0020 (big-endian), version 0x40
//	+0x04  4  entry: the first instruction
//	+0x08  4  0
//	+0x0c  4  DCD
//	+0x10  4  boot data
//	+0x14  4  self: this table
//	+0x18  4  command sequence file of a signed image: 0, there is none
//	+0x1c  4  0
//
// The boot data says what the ROM copies, the card's first byte included:
//
//	+0x0  4  start: where the card's first byte comes to lie, 0x1000 below the payload
//	+0x4  4  length in bytes, from start to the payload's end
//	+0x8  4  plugin: 0
//
// The device configuration data is what the ROM writes to registers before it copies, in order:
//
//	+0x0  4  header: tag 0xd2, length of all that follows with this header, version 0x40
//	+0x4  4  write data command: tag 0xcc, length with its header, parameter 0x04 (words)
//	+0x8     address, value; address, value; ...
//
// # The card, holdfast.img
//
//	0x000   512  master boot record: no code, one partition from 0x400 over the image, type 0xda
//	0x200   512  zeros: the ROM would look for a secondary image table here
//	0x400        the image
//
// The partition keeps other systems from taking the card for an empty one. The card's size is
// rounded up to a power of two, which QEMU asks of a card and a real one does not mind.
//
// What was seen: mkimage of U-Boot's tools makes the same bytes of the same settings, and the
// payload boots in QEMU from where the ROM would put it. QEMU has neither boot ROM nor DCD: that
// the ROM takes the image, and that the memory works with these settings, was not seen on silicon.
package imximage

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Write is one write of a word to a register, by the boot ROM.
type Write struct{ Address, Value uint32 }

// Image is what the boot ROM is given.
type Image struct {
	Entry   uint32  // address of the first instruction, in the payload and a multiple of 4
	Load    uint32  // where the payload's first byte comes to lie, a multiple of 4096
	Payload []byte  // at least one word
	DCD     []Write // before anything is copied, in this order; 1 to DCDMax
}

const (
	// DCDMax is how many writes the ROM takes: its limit is 1,768 bytes.
	DCDMax = (dcdBytesMax - dcdHeaders) / dcdWriteBytes

	// CardOffset is where the ROM looks for the image on an SD card.
	CardOffset = 0x400

	// PayloadOffset is where the payload is in the image: on the card it is at 0x1000, so that the
	// image lies in memory as it does on the card.
	PayloadOffset = pageBytes - CardOffset

	// SectorBytes is what the image is padded to.
	SectorBytes = 512

	pageBytes = 0x1000

	ivtBytes       = 0x20
	bootDataOffset = ivtBytes
	dcdOffset      = bootDataOffset + 12

	dcdBytesMax   = 1768
	dcdHeaders    = 8
	dcdWriteBytes = 8

	ivtTag, dcdTag, writeTag = 0xd1, 0xd2, 0xcc

	version   = 0x40
	wordWrite = 0x04 // the write command's parameter: four bytes each, no mask

	// A compile error when the longest DCD would reach into the payload.
	_ uint = PayloadOffset - (dcdOffset + dcdBytesMax)
)

// header is the four bytes in front of each structure.
func header(tag byte, length int, parameter byte) []byte {
	return []byte{tag, byte(length >> 8), byte(length), parameter}
}

// Bytes is the image as it is written to the card at CardOffset.
func (i Image) Bytes() ([]byte, error) {
	if err := i.check(); err != nil {
		return nil, fmt.Errorf("imximage: %w", err)
	}
	length := pageBytes + roundUp(len(i.Payload))
	b := make([]byte, length-CardOffset)
	le := binary.LittleEndian
	start := i.Load - pageBytes
	self := start + CardOffset

	copy(b, header(ivtTag, ivtBytes, version))
	le.PutUint32(b[0x04:], i.Entry)
	le.PutUint32(b[0x0c:], self+dcdOffset)
	le.PutUint32(b[0x10:], self+bootDataOffset)
	le.PutUint32(b[0x14:], self)

	le.PutUint32(b[bootDataOffset:], start)
	le.PutUint32(b[bootDataOffset+4:], uint32(length))

	d := b[dcdOffset:]
	bytes := len(i.DCD) * dcdWriteBytes
	copy(d, header(dcdTag, dcdHeaders+bytes, version))
	copy(d[4:], header(writeTag, 4+bytes, wordWrite))
	for n, w := range i.DCD {
		at := d[dcdHeaders+n*dcdWriteBytes:]
		binary.BigEndian.PutUint32(at, w.Address)
		binary.BigEndian.PutUint32(at[4:], w.Value)
	}
	copy(b[PayloadOffset:], i.Payload)
	return b, nil
}

// check refuses what the ROM would not boot, or would copy over something else.
func (i Image) check() error {
	size := uint64(len(i.Payload))
	switch {
	case size < 4:
		return errors.New("no payload")
	case i.Load%pageBytes != 0 || i.Load < pageBytes:
		return fmt.Errorf("load address %#x is not a page with one below it", i.Load)
	case uint64(i.Load)+size+SectorBytes > 1<<32:
		return fmt.Errorf("payload of %d bytes at %#x ends outside the addresses", size, i.Load)
	case i.Entry%4 != 0 || i.Entry < i.Load || uint64(i.Entry) > uint64(i.Load)+size-4:
		return fmt.Errorf("entry %#x is no instruction of the payload at %#x to %#x",
			i.Entry, i.Load, uint64(i.Load)+size)
	case len(i.DCD) == 0 || len(i.DCD) > DCDMax:
		return fmt.Errorf("%d register writes, want 1 to %d", len(i.DCD), DCDMax)
	}
	return nil
}

// roundUp is n rounded up to whole sectors.
func roundUp(n int) int { return (n + SectorBytes - 1) &^ (SectorBytes - 1) }

// Parse reads an image that Bytes made. The payload, a view of b, has the zeros it was padded with.
// Every other form that the ROM would take is refused.
func Parse(b []byte) (Image, error) {
	i, err := parse(b)
	if err == nil {
		err = i.check()
	}
	if err != nil {
		return Image{}, fmt.Errorf("imximage: %w", err)
	}
	return i, nil
}

func parse(b []byte) (Image, error) {
	if len(b) <= PayloadOffset {
		return Image{}, fmt.Errorf("%d bytes are too short", len(b))
	}
	le := binary.LittleEndian
	if string(b[:4]) != string(header(ivtTag, ivtBytes, version)) {
		return Image{}, errors.New("no image vector table")
	}
	self := le.Uint32(b[0x14:])
	start := le.Uint32(b[bootDataOffset:])
	for _, field := range []struct {
		name string
		at   int
		want uint32
	}{
		{"reserved word", 0x08, 0},
		{"address of the DCD", 0x0c, self + dcdOffset},
		{"address of the boot data", 0x10, self + bootDataOffset},
		{"command sequence file", 0x18, 0},
		{"reserved word", 0x1c, 0},
		{"start", bootDataOffset, self - CardOffset},
		{"length", bootDataOffset + 4, uint32(len(b) + CardOffset)},
		{"plugin", bootDataOffset + 8, 0},
	} {
		if got := le.Uint32(b[field.at:]); got != field.want {
			return Image{}, fmt.Errorf("%s is %#x, want %#x", field.name, got, field.want)
		}
	}
	dcd, err := parseDCD(b[dcdOffset:PayloadOffset])
	return Image{
		Entry: le.Uint32(b[0x04:]), Load: start + pageBytes, Payload: b[PayloadOffset:], DCD: dcd,
	}, err
}

func parseDCD(d []byte) ([]Write, error) {
	length := int(binary.BigEndian.Uint16(d[1:]))
	bytes := length - dcdHeaders
	if length > dcdBytesMax || bytes <= 0 || bytes%dcdWriteBytes != 0 {
		return nil, fmt.Errorf("DCD of %d bytes", length)
	}
	want := string(header(dcdTag, length, version)) + string(header(writeTag, 4+bytes, wordWrite))
	if string(d[:dcdHeaders]) != want {
		return nil, errors.New("DCD is not one command that writes words")
	}
	var writes []Write
	for at := dcdHeaders; at < length; at += dcdWriteBytes {
		writes = append(writes, Write{
			binary.BigEndian.Uint32(d[at:]), binary.BigEndian.Uint32(d[at+4:]),
		})
	}
	return writes, nil
}
