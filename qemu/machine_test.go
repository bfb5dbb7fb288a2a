package qemu

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheCommandLineOfAWholeMachine(t *testing.T) {
	m := Machine{
		Name:   "n0",
		Image:  "a.elf",
		RAM:    "512M",
		Dir:    "/tmp/d,1",
		NVRAM:  "/tmp/d,1/n0.ee",
		Clock:  &Clock{Base: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Guest: true},
		Loads:  []Load{{0x80090000, []byte("seed")}, {0x80091000, []byte("env")}},
		MAC:    net.HardwareAddr{2, 0, 0, 0, 0, 10},
		Net:    Ethernet{Local: "/tmp/d,1/n0.vm", Remote: "/tmp/d,1/n0.sw"},
		ICount: "shift=0", NoReboot: true,
		Extra: []string{"-d", "unimp"},
	}
	got, err := m.args(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-machine", "mcimx6ul-evk", "-m", "512M",
		"-nodefaults", "-display", "none", "-S",
		"-chardev", "socket,id=console,fd=3", "-serial", "chardev:console",
		"-chardev", "socket,id=qmp,fd=4", "-mon", "chardev=qmp,mode=control",
		"-kernel", "a.elf",
		"-drive", "if=none,id=eeprom,format=raw,file=/tmp/d,,1/n0.ee",
		"-device", "at24c-eeprom,bus=i2c-bus.1,address=0x50,rom-size=8192,drive=eeprom",
		"-rtc", "base=2026-01-02T03:04:05,clock=vm", "-device", "ds1338,bus=i2c-bus.0,address=0x68",
		"-device", "loader,file=/tmp/d,,1/n0.load0,addr=0x80090000,force-raw=on",
		"-device", "loader,file=/tmp/d,,1/n0.load1,addr=0x80091000,force-raw=on",
		"-netdev", "dgram,id=net0,local.type=unix,local.path=/tmp/d,,1/n0.vm," +
			"remote.type=unix,remote.path=/tmp/d,,1/n0.sw",
		"-net", "nic,model=imx.enet,netdev=net0,macaddr=02:00:00:00:00:0a",
		"-icount", "shift=0", "-no-reboot", "-d", "unimp",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheCommandLineOfABareMachine(t *testing.T) {
	m := Machine{Image: "a.elf"}
	got, err := m.args(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(got, " ")
	for _, absent := range []string{"-drive", "-rtc", "-device", "-net", "-icount", "-no-reboot"} {
		if slices.Contains(got, absent) {
			t.Errorf("%s in %s", absent, line)
		}
	}
	if !strings.Contains(line, "-m "+DefaultRAM) {
		t.Errorf("no default RAM in %s", line)
	}
}

func TestAFlatImageIsCopiedAndStarted(t *testing.T) {
	m := Machine{Image: "/tmp/d,1/a.imx", Flat: &Flat{Addr: 0x801ff400, Entry: 0x80201234}}
	got, err := m.args(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(got, " ")
	want := "-device loader,file=/tmp/d,,1/a.imx,addr=0x801ff400,force-raw=on " +
		"-device loader,addr=0x80201234,cpu-num=0"
	if slices.Contains(got, "-kernel") || !strings.Contains(line, want) {
		t.Errorf("%s, want %s in it", line, want)
	}
}

func TestAMachineThatCannotStartIsRefusedWithTheReason(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	image := file("image", 1)
	for _, c := range []struct {
		name  string
		spoil func(*Machine)
		want  string // in the error; empty for none
	}{
		{"nothing is wrong", func(m *Machine) {}, ""},
		{"no limit", func(m *Machine) { m.Limit = 0 }, "no time limit"},
		{"no image", func(m *Machine) { m.Image = dir + "/none" }, "image"},
		{"name is a path", func(m *Machine) { m.Name = "a/b" }, "not a file name"},
		{"NVRAM fits", func(m *Machine) { m.NVRAM = file("fits", EEPROMSize) }, ""},
		{"NVRAM too small", func(m *Machine) { m.NVRAM = file("small", EEPROMSize-1) },
			"8191 bytes, want 8192"},
		{"NVRAM too large", func(m *Machine) { m.NVRAM = file("large", EEPROMSize+1) },
			"8193 bytes, want 8192"},
		{"NVRAM missing", func(m *Machine) { m.NVRAM = dir + "/none" }, "NVRAM"},
		{"contents without a folder", func(m *Machine) { m.Dir = "" }, "without a folder"},
		{"no contents", func(m *Machine) { m.Loads[0].Data = nil }, "no memory contents for 0x10"},
		{"short MAC", func(m *Machine) { m.MAC = m.MAC[:5] }, "not six bytes"},
		{"long MAC", func(m *Machine) { m.MAC = append(m.MAC, 0) }, "not six bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Machine{
				Image: image, Limit: 1, Dir: dir,
				Loads: []Load{{0x10, []byte{1}}}, MAC: net.HardwareAddr{2, 0, 0, 0, 0, 10},
			}
			c.spoil(&m)
			switch err := m.check(); {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestANetworkThatQEMUWouldRefuseIsRefused(t *testing.T) {
	long := strings.Repeat("x", maxSocketPath)
	for _, c := range []struct {
		name string
		net  Network
		ok   bool
	}{
		{"longest paths", Ethernet{long, long}, true},
		{"local too long", Ethernet{long + "x", "r"}, false},
		{"remote too long", Ethernet{"l", long + "x"}, false},
		{"no path", Ethernet{"l", ""}, false},
		{"nothing forwarded", UserNet{}, true},
		{"two ports", UserNet{[]uint16{80, 443}}, true},
		{"port 0", UserNet{[]uint16{0}}, false},
		{"a port twice", UserNet{[]uint16{80, 80}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Machine{Image: "a.elf", Net: c.net}
			if _, err := m.args(3, 4); (err == nil) != c.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestForwardedPortsAreReadFromTheMonitorsTable(t *testing.T) {
	const table = "Hub -1 (net0):\r\n" +
		"  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r\n" +
		"  TCP[HOST_FORWARD]  10       127.0.0.1 41237       10.0.2.15    80     0     0\r\n" +
		"  TCP[ESTABLISHED]   11       127.0.0.1 50000       10.0.2.15   443     0     0\r\n" +
		"  TCP[HOST_FORWARD]  12       127.0.0.1 41238       10.0.2.15  7070     0     0\r\n"
	got, err := parseForwards(table, []uint16{80, 7070})
	want := forwards{
		80:   netip.MustParseAddrPort("127.0.0.1:41237"),
		7070: netip.MustParseAddrPort("127.0.0.1:41238"),
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := parseForwards(table, []uint16{443}); err == nil {
		t.Errorf("a port that is not forwarded: got %v", got)
	}
}

func TestTheVersionIsReadFromQEMUsFirstLine(t *testing.T) {
	got, err := parseVersion("QEMU emulator version 7.2.22 (Debian 1:7.2)\nCopyright\n")
	if err != nil || got != "7.2.22 (Debian 1:7.2)" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"", "QEMU emulator version ", "bash: no such thing"} {
		if got, err := parseVersion(bad); err == nil {
			t.Errorf("%q: got %q", bad, got)
		}
	}
}

func TestAMissingQEMUIsNamedWithTheCommandThatInstallsIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, []byte{1}, 0o600); err != nil {
		t.Fatal(err)
	}
	_, startErr := Start(t.Context(), Machine{Image: image, Limit: time.Second})
	_, versionErr := Version(t.Context())
	for _, err := range []error{startErr, versionErr} {
		if !errors.Is(err, ErrNoQEMU) || !strings.Contains(err.Error(), InstallCommand) {
			t.Errorf("got %v", err)
		}
	}
}

func TestOnlyTheLastOfQEMUsOutputIsKeptWithoutTheUsualRemark(t *testing.T) {
	var x tail
	x.Write([]byte(strings.Repeat("early ", maxTail)))
	x.Write([]byte("\nqemu-system-arm: warning: nic imx.enet.1 has no peer\nthe reason\n"))
	if got := x.String(); len(got) > maxTail || !strings.HasSuffix(got, "early \nthe reason\n") {
		t.Errorf("kept %d bytes ending in %q", len(got), got[max(0, len(got)-40):])
	}
}

func TestHowLongAThreadRanAndWaited(t *testing.T) {
	for text, want := range map[string][2]time.Duration{
		"2500000 14715078 31\n": {2_500_000, 14_715_078}, "7 0 1\n": {7, 0},
		"": {}, "7 14715078": {}, "7 soon 31\n": {}, // hosts that do not count
	} {
		if ran, waited := scheduled(text); ran != want[0] || waited != want[1] {
			t.Errorf("%q: ran %d ns, waited %d, want %d", text, ran, waited, want)
		}
	}
}
