// Package capture writes what a relay does as a pcapng file (draft-ietf-opsawg-pcapng), for
// Wireshark and its kin: an interface for each port, a packet for each record, on the interface of
// the port that the frame came from, with the relay's verdicts as the packet's comment.
//
// It owns the file's contents and nothing else. It must never stop the traffic it records: the
// first error, a full disk for instance, is reported once, and ends the capture alone. Each block
// is written as a whole, so that a program that is killed leaves a readable file.
package capture

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"holdfast/qemu/relay"
)

// application is the file's note on what wrote it.
const application = "holdfast relay"

// Writer is a capture in progress. Its methods are called by one goroutine at a time.
type Writer struct {
	file       io.Writer
	report     func(error)
	block      bytes.Buffer     // what is to be written to file in one go
	pcapng     *pcapgo.NgWriter // writes to block; made with the first port, which pcapgo wants
	interfaces map[*relay.Port]int
	err        error // why the capture ended early
}

// New starts a capture. report gets the error for which the capture ends early, if it does.
func New(file io.Writer, report func(error)) *Writer {
	return &Writer{file: file, report: report, interfaces: make(map[*relay.Port]int)}
}

// Record writes one record. It is an Options.Observe.
func (w *Writer) Record(r relay.Record) {
	w.try(func() error {
		id, err := w.port(r.From)
		if err != nil {
			return err
		}
		info := gopacket.CaptureInfo{
			Timestamp:      r.At,
			InterfaceIndex: id,
			CaptureLength:  len(r.Frame),
			Length:         len(r.Frame),
		}
		var options pcapgo.NgPacketOptions
		if comment := r.String(); comment != "" {
			options.Comments = []string{comment}
		}
		return w.pcapng.WritePacketWithOptions(info, r.Frame, options)
	})
}

// Finish writes how many frames each port's station sent, and how many of them were lost, and
// returns the error for which the capture ended early. The file stays open.
func (w *Writer) Finish(ports []*relay.Port) error {
	for _, p := range ports {
		w.try(func() error {
			id, err := w.port(p)
			if err != nil {
				return err
			}
			return w.pcapng.WriteInterfaceStats(id, pcapgo.NgInterfaceStatistics{
				LastUpdate:      time.Now(),
				PacketsReceived: p.Received(),
				PacketsDropped:  p.Counts().Lost(),
			})
		})
	}
	return w.err
}

// port returns a port's interface, described in the file before its first use.
func (w *Writer) port(p *relay.Port) (id int, err error) {
	if id, ok := w.interfaces[p]; ok {
		return id, nil
	}
	description := pcapgo.NgInterface{Name: p.Name(), LinkType: layers.LinkTypeEthernet}
	if w.pcapng == nil {
		section := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: application}}
		w.pcapng, err = pcapgo.NewNgWriterInterface(&w.block, description, section)
	} else {
		id, err = w.pcapng.AddInterface(description)
	}
	w.interfaces[p] = id
	return id, err
}

// try composes blocks with do and writes them, unless the capture has ended.
func (w *Writer) try(do func() error) {
	if w.err != nil {
		return
	}
	err := do()
	if err == nil {
		err = w.pcapng.Flush()
	}
	if err == nil {
		_, err = w.file.Write(w.block.Bytes())
	}
	w.block.Reset()
	if err != nil {
		w.err = fmt.Errorf("capture ends early: %w", err)
		w.report(w.err)
	}
}
