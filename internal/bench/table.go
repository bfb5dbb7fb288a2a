package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// The rows, in the order in which they are printed.
const (
	resetToMain = "reset to main"
	resetKernel = "reset to main, kernel alone"
	httpRequest = "HTTP keep-alive request"
	rawEcho     = "raw 64-byte TCP echo"
	tcpIn       = "TCP in"
	tcpOut      = "TCP out"
	relayIn     = "TCP in, through the relay"
	relayOut    = "TCP out, through the relay"
	irqMedian   = "interrupt to goroutine, median"
	irqTail     = "interrupt to goroutine, p99"
	timeNow     = "time.Now"
	rawCounter  = "raw counter"
	firstHTTP   = "first HTTP answer"
	idleCPU     = "host CPU while idle"
	sysIdle     = "runtime Sys, idle"
	sysLoad     = "runtime Sys, after load"
	sysUnder    = "runtime Sys, under load"

	commitFirst     = "routed commit, capability seen first"
	commitAgain     = "routed commit, capability seen again"
	commitLocal     = "routed local commit, seen again"
	homeFirst       = "commit at its home, capability seen first"
	homeCommit      = "commit at its home, seen again"
	homeLocalCommit = "local commit at its home, seen again"
	handshakeCost   = "mutual TLS handshake"
	commitTime      = "routed commit, median"
	localTime       = "routed local commit, median"
	oneClient       = "commits, one client"
	eightClients    = "commits, eight clients"

	sizeGuest = "image: gVisor + net/http, stripped"
	sizeNode  = "image: the node, stripped"
)

// row is one figure. What is not known of the others is empty.
type row struct {
	name, unit string
	peer       string // TamaGo, imx-enet and gVisor
	target     string
	value      float64
	set        bool
}

type table struct{ rows []row }

func newTable() *table {
	return &table{[]row{
		{name: resetToMain, unit: "M instructions", peer: "3.15", target: "3.5"},
		{name: resetKernel, unit: "M instructions", target: "0.6"},
		{name: httpRequest, unit: "k instructions", peer: "174.5", target: "140"},
		{name: rawEcho, unit: "k instructions", target: "80"},
		{name: tcpIn, unit: "instructions a byte", peer: "32.7", target: "22"},
		{name: tcpOut, unit: "instructions a byte", peer: "49.8", target: "34"},
		{name: relayIn, unit: "instructions a byte", target: "22"},
		{name: relayOut, unit: "instructions a byte", target: "34"},
		{name: irqMedian, unit: "us, a busy goroutine beside it", target: "4"},
		{name: irqTail, unit: "us, a busy goroutine beside it", target: "1000"},
		{name: timeNow, unit: "instructions", peer: "333", target: "300"},
		{name: rawCounter, unit: "instructions", peer: "19", target: "30"},
		{name: sysIdle, unit: "MB", peer: "5.0"},
		{name: sysLoad, unit: "MB", target: "6.5"},
		{name: sysUnder, unit: "MB", peer: "14", target: "12"},
		{name: commitFirst, unit: "M instructions", target: "4.5"},
		{name: commitAgain, unit: "M instructions", target: "0.8"},
		{name: commitLocal, unit: "M instructions"},
		{name: homeFirst, unit: "M instructions"},
		{name: homeCommit, unit: "M instructions"},
		{name: homeLocalCommit, unit: "M instructions"},
		{name: handshakeCost, unit: "M instructions", target: "13.2"},
		{name: firstHTTP, unit: "s (wall, median)", peer: "0.40", target: "0.35"},
		{name: idleCPU, unit: "% of a core (wall)", peer: "0.0"},
		{name: commitTime, unit: "ms (wall)"},
		{name: localTime, unit: "ms (wall)"},
		{name: oneClient, unit: "a second (wall)"},
		{name: eightClients, unit: "a second (wall)"},
		{name: sizeGuest, unit: "MB", peer: "7.61", target: "7.4"},
		{name: sizeNode, unit: "MB", target: "8.0"},
	}}
}

func (t *table) set(name string, value float64) {
	for i := range t.rows {
		if t.rows[i].name == name {
			t.rows[i].value, t.rows[i].set = value, true
			return
		}
	}
	panic("bench: no row " + name)
}

// print prints the rows with what was recorded before. A row that was not measured has no figure.
func (t *table) print(w io.Writer, before []entry) {
	line := func(name, peer, target, before, now, unit string) {
		fmt.Fprintf(w, "%-42s %8s %8s %8s %8s  %s\n",
			name, or(peer), or(target), or(before), or(now), unit)
	}
	line("figure", "peer", "target", "before", "now", "unit")
	for _, r := range t.rows {
		now, last := "", ""
		if r.set {
			now = figure(r.value)
		}
		if e, ok := latest(before, r.name); ok {
			last = figure(e.value)
		}
		line(r.name, r.peer, r.target, last, now, r.unit)
	}
}

func or(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// figure is a value to four digits.
func figure(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// entries are the rows that were measured, for the history.
func (t *table) entries(at time.Time, commit string) []entry {
	var es []entry
	for _, r := range t.rows {
		if r.set {
			es = append(es, entry{at.UTC().Format(time.DateOnly), commit, r.name, r.value, r.unit})
		}
	}
	return es
}
