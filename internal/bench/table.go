package main

import (
	"fmt"
	"io"
)

// The rows, in the order in which they are printed.
const (
	resetToMain = "reset to main"
	httpRequest = "HTTP keep-alive request"
	tcpIn       = "TCP in"
	tcpOut      = "TCP out"
	firstHTTP   = "first HTTP answer"
	idleCPU     = "host CPU while idle"
	sysIdle     = "runtime Sys, idle"
	sysLoad     = "runtime Sys, after load"
	sizeGuest   = "image: gVisor + net/http, stripped"
	sizeNode    = "image: the node, stripped"
)

type row struct {
	name, unit string
	peer       string // measured with TamaGo, imx-enet and gVisor
	value      float64
	set        bool
}

type table struct{ rows []row }

func newTable() *table {
	return &table{[]row{
		{name: resetToMain, unit: "M instructions", peer: "3.15"},
		{name: httpRequest, unit: "k instructions", peer: "174.5"},
		{name: tcpIn, unit: "instructions a byte", peer: "32.7"},
		{name: tcpOut, unit: "instructions a byte", peer: "49.8"},
		{name: firstHTTP, unit: "s (wall, median)", peer: "0.40"},
		{name: idleCPU, unit: "% of a core (wall)", peer: "0.0"},
		{name: sysIdle, unit: "MB", peer: "5.0"},
		{name: sysLoad, unit: "MB", peer: "14"},
		{name: sizeGuest, unit: "MB", peer: "7.61"},
		{name: sizeNode, unit: "MB", peer: "-"},
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

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "%-36s %9s %9s  %s\n", "figure", "holdfast", "peer", "unit")
	for _, r := range t.rows {
		if !r.set {
			panic("bench: not measured: " + r.name)
		}
		fmt.Fprintf(w, "%-36s %9.4g %9s  %s\n", r.name, r.value, r.peer, r.unit)
	}
}
