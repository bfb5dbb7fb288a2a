package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultRAM is what a Machine without RAM gets. QEMU's board takes 16M to 2G.
	DefaultRAM = "128M"
	// EEPROMSize is the size in bytes of the AT24C64 that NVRAM backs.
	EEPROMSize = 8192

	board = "mcimx6ul-evk"
	// Every device names its bus: without one QEMU silently picks the last, I2C4.
	eepromDevice = "at24c-eeprom,bus=i2c-bus.1,address=0x50"
	clockDevice  = "ds1338,bus=i2c-bus.0,address=0x68"
	nicModel     = "imx.enet"
	netdevID     = "net0"

	// maxSocketPath is the longest path of a unix socket, without the closing NUL.
	maxSocketPath = 107
)

// Machine says what to start. The zero value of a field means what its comment says; Image and
// Limit have to be given.
type Machine struct {
	Name   string // in errors and file names; "vm" when empty
	Image  string // the ELF file to boot, or memory when Flat is set
	Binary string // the emulator; found in PATH when empty
	RAM    string // QEMU's notation, such as "512M"; DefaultRAM when empty
	Flat   *Flat  // how Image is loaded that is no ELF file; nil: it is one
	Dir    string // a private folder that exists, for Loads; may be empty when there are none

	NVRAM string // this machine's own file of EEPROMSize bytes, at I2C2 0x50; none when empty
	Clock *Clock // battery-backed clock, at I2C1 0x68; none when nil
	Loads []Load // memory contents set before the first instruction and again at every reset

	MAC net.HardwareAddr // of ENET1; QEMU's own choice, the same for every machine, when nil
	Net Network          // what ENET1 is connected to; nothing when nil

	ICount   string   // QEMU's -icount, such as "shift=0": time by instructions; off when empty
	NoReboot bool     // a reset ends QEMU instead
	GDB      bool     // wait for a debugger at Process.GDB before the first instruction
	Extra    []string // further arguments for QEMU

	Limit time.Duration // QEMU is killed when it has run for so long

	// Raw gets every console byte as it came, and OnLine every line with the instant its end was
	// read. One goroutine calls both, so either may be slow: see maxPending for how slow. OnLine's
	// line has no line end and is printable. OnEvent gets QMP's events, from another goroutine.
	Raw     io.Writer
	OnLine  func(at time.Time, line string)
	OnEvent func(at time.Time, name string, data json.RawMessage)
}

// Clock is a DS1338: seven BCD registers from offset 0, and RAM that QEMU clears at every start.
type Clock struct {
	Base time.Time // shown at the start, to the second, as UTC; the host's time when zero
	// Guest makes it advance with the guest's own time, which stands still while QMP has stopped
	// the machine. Otherwise it advances with the host's, whatever happens to the guest.
	Guest bool
}

// Flat is an image that is memory as it stands: it is copied to Addr and started at Entry, the way
// a boot ROM does it, and again at every reset.
type Flat struct{ Addr, Entry uint32 }

// Load is data that stands in the guest's memory when it starts.
type Load struct {
	Addr uint32
	Data []byte
}

// Network is what a machine's ENET1 is connected to: an Ethernet or a UserNet.
type Network interface{ netdev() (string, error) }

// Ethernet is a pair of unix datagram sockets, one datagram a frame without its check sequence.
// QEMU binds Local and sends to Remote, which somebody else binds and keeps reading: QEMU spins
// at full load while its peer's queue is full. Paths hold at most 107 bytes.
type Ethernet struct{ Local, Remote string }

func (e Ethernet) netdev() (string, error) {
	for _, path := range []string{e.Local, e.Remote} {
		if path == "" || len(path) > maxSocketPath {
			return "", fmt.Errorf("socket path of %d bytes, want 1 to %d: %q",
				len(path), maxSocketPath, path)
		}
	}
	return "dgram,id=" + netdevID + ",local.type=unix,local.path=" + escape(e.Local) +
		",remote.type=unix,remote.path=" + escape(e.Remote), nil
}

// UserNet is QEMU's user network: the guest is 10.0.2.15, the gateway 10.0.2.2. For every TCP port
// in Forward the kernel picks a port on 127.0.0.1 that leads to it (Process.Forwarded).
type UserNet struct{ Forward []uint16 }

func (u UserNet) netdev() (string, error) {
	option := "user,id=" + netdevID
	for i, port := range u.Forward {
		if port == 0 || slices.Contains(u.Forward[:i], port) {
			return "", fmt.Errorf("forwarded port %d is zero or given twice", port)
		}
		option += fmt.Sprintf(",hostfwd=tcp:127.0.0.1:0-:%d", port)
	}
	return option, nil
}

// escape doubles the commas of a value inside a QEMU option, where a single one ends it.
func escape(value string) string { return strings.ReplaceAll(value, ",", ",,") }

func (m *Machine) name() string {
	if m.Name == "" {
		return "vm"
	}
	return m.Name
}

// loadFile is where Loads[i] stands for QEMU to read.
func (m *Machine) loadFile(i int) string {
	return filepath.Join(m.Dir, fmt.Sprintf("%s.load%d", m.name(), i))
}

// check refuses what QEMU would refuse later and worse, or not at all.
func (m *Machine) check() error {
	if m.Limit <= 0 {
		return errors.New("no time limit")
	}
	if strings.ContainsRune(m.Name, filepath.Separator) {
		return fmt.Errorf("name %q is not a file name", m.Name)
	}
	if _, err := os.Stat(m.Image); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if m.NVRAM != "" {
		// QEMU 7.2 divides by zero at the first access when it has to guess the size.
		info, err := os.Stat(m.NVRAM)
		if err != nil {
			return fmt.Errorf("NVRAM: %w", err)
		}
		if info.Size() != EEPROMSize {
			return fmt.Errorf("NVRAM: %s has %d bytes, want %d", m.NVRAM, info.Size(), EEPROMSize)
		}
	}
	if len(m.Loads) > 0 && m.Dir == "" {
		return errors.New("memory contents without a folder to put them in")
	}
	for _, l := range m.Loads {
		if len(l.Data) == 0 {
			return fmt.Errorf("no memory contents for %#x", l.Addr)
		}
	}
	if len(m.MAC) != 0 && len(m.MAC) != 6 {
		return fmt.Errorf("MAC address %v is not six bytes", m.MAC)
	}
	return nil
}

// args is QEMU's command line. The two file descriptors are those that QEMU inherits for its
// console and for QMP. The machine is made stopped (-S), so that nothing runs before its readers.
func (m *Machine) args(consoleFD, qmpFD int) ([]string, error) {
	ram := m.RAM
	if ram == "" {
		ram = DefaultRAM
	}
	args := []string{
		"-machine", board, "-m", ram,
		"-nodefaults", "-display", "none", "-S",
		"-chardev", fmt.Sprintf("socket,id=console,fd=%d", consoleFD), "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", qmpFD), "-mon", "chardev=qmp,mode=control",
	}
	if m.Flat == nil {
		args = append(args, "-kernel", m.Image)
	} else {
		args = append(args,
			"-device", loader(m.Image, m.Flat.Addr),
			"-device", fmt.Sprintf("loader,addr=%#x,cpu-num=0", m.Flat.Entry))
	}
	if m.NVRAM != "" {
		args = append(args,
			"-drive", "if=none,id=eeprom,format=raw,file="+escape(m.NVRAM),
			"-device", fmt.Sprintf("%s,rom-size=%d,drive=eeprom", eepromDevice, EEPROMSize))
	}
	args = append(args, m.Clock.args()...)
	for i, l := range m.Loads {
		args = append(args, "-device", loader(m.loadFile(i), l.Addr))
	}
	if m.Net != nil {
		netdev, err := m.Net.netdev()
		if err != nil {
			return nil, fmt.Errorf("network: %w", err)
		}
		nic := "nic,model=" + nicModel + ",netdev=" + netdevID
		if m.MAC != nil {
			nic += ",macaddr=" + m.MAC.String()
		}
		args = append(args, "-netdev", netdev, "-net", nic)
	}
	if m.ICount != "" {
		args = append(args, "-icount", m.ICount)
	}
	if m.NoReboot {
		args = append(args, "-no-reboot")
	}
	if m.GDB {
		args = append(args, "-gdb", "tcp:127.0.0.1:0")
	}
	return append(args, m.Extra...), nil
}

// loader is the device that copies a file into the memory.
func loader(file string, addr uint32) string {
	return fmt.Sprintf("loader,file=%s,addr=%#x,force-raw=on", escape(file), addr)
}

func (c *Clock) args() []string {
	if c == nil {
		return nil
	}
	rtc := "base=utc"
	if !c.Base.IsZero() {
		rtc = "base=" + c.Base.UTC().Format("2006-01-02T15:04:05")
	}
	if c.Guest {
		rtc += ",clock=vm"
	}
	return []string{"-rtc", rtc, "-device", clockDevice}
}
