package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/qemu"
)

// TestMain makes the test binary two programs: the rig itself, and a stand-in for QEMU.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rig": func() {
			limitFiles()
			os.Exit(command(os.Args[1:]))
		},
		qemu.Binary: standIn,
	})
}

// The stand-in's environment.
const (
	// standInScript is what its guest prints, line by line, once it runs. A line that begins with
	// '{' is an event instead, and "exit" ends the stand-in with status 7.
	standInScript = "STANDIN_SCRIPT"
	// standInPIDs is a folder in which it leaves a file named by its process id.
	standInPIDs = "STANDIN_PIDS"
	// fileLimit, for the rig itself, is how many bytes a file may have: more fails like a full disk.
	fileLimit = "RIG_FILE_LIMIT"
)

// limitFiles limits the files of this process, if the environment says so.
func limitFiles() {
	text := os.Getenv(fileLimit)
	if text == "" {
		return
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // the write fails instead
	limit := &syscall.Rlimit{Cur: n, Max: n}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit); err != nil {
		panic(err)
	}
}

// standIn is a QEMU without a machine: it answers QMP, prints what its script says, and then lives
// until it is told to quit.
func standIn() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("QEMU emulator version 7.2.0 (stand-in)")
		return
	}
	if os.Args[len(os.Args)-1] == "help" {
		fmt.Println("Available netdev backend types:\ndgram")
		return
	}
	if folder := os.Getenv(standInPIDs); folder != "" {
		path := filepath.Join(folder, strconv.Itoa(os.Getpid()))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			panic(err)
		}
	}
	console, control := inherited("id=console"), inherited("id=qmp")
	fmt.Fprintln(control, `{"QMP":{"version":{"qemu":{"major":7,"minor":2,"micro":0}},`+
		`"capabilities":[]}}`)
	for in := bufio.NewScanner(control); in.Scan(); {
		var command struct {
			Execute string          `json:"execute"`
			ID      json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(in.Bytes(), &command); err != nil {
			panic(err)
		}
		id := ""
		if command.ID != nil {
			id = `,"id":` + string(command.ID)
		}
		fmt.Fprintf(control, "{\"return\":{}%s}\n", id)
		switch command.Execute {
		case "quit":
			os.Exit(0)
		case "cont":
			play(console, control)
		}
	}
}

// inherited is the socket that the rig handed over for a character device.
func inherited(id string) *os.File {
	for _, arg := range os.Args {
		if _, fd, found := strings.Cut(arg, id+",fd="); found {
			n, err := strconv.Atoi(fd)
			if err != nil {
				panic(err)
			}
			return os.NewFile(uintptr(n), id)
		}
	}
	panic("no " + id)
}

func play(console, control *os.File) {
	const stamp = `"timestamp":{"seconds":1,"microseconds":0}`
	for line := range strings.Lines(os.Getenv(standInScript)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "exit":
			os.Exit(7)
		case strings.HasPrefix(line, "{"):
			fmt.Fprintf(control, "{%s,%s\n", stamp, line[1:])
		default:
			fmt.Fprintf(console, "%s\r\n", line)
		}
	}
}
