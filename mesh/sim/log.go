package sim

import (
	"strconv"
	"strings"

	"holdfast/mesh/wire"
)

// listen makes the world tell what happens in it, like the golden conversations of package mesh.
func (w *world) listen() {
	w.log = &strings.Builder{}
	var pairs []string
	for _, m := range w.machines {
		if m != w.clone {
			pairs = append(pairs, m.id.String(), m.name)
		}
	}
	for i, name := range objectNames {
		pairs = append(pairs, objects[i].String(), name)
	}
	w.names = strings.NewReplacer(pairs...)
}

// say adds a line about a machine to the log.
func (w *world) say(m *machine, text string) {
	if w.log != nil {
		w.log.WriteString(stamp(w.now) + " " + m.name + " " + text + "\n")
	}
}

func (w *world) sayFrame(from, to *machine, data []byte) {
	if w.log == nil {
		return
	}
	_, f, err := wire.Parse(data[prefix:])
	if err != nil {
		w.judge.wrong(from, "sends a malformed frame")
		return
	}
	w.say(from, "-> "+to.name+" "+f.Kind().String())
}

// stamp writes a true time in seconds.
func stamp(t Time) string {
	s := strconv.FormatInt(int64(t/Second), 10)
	return strings.Repeat(" ", max(0, 4-len(s))) + s + "." + digits(t%Second/Millisecond)
}

func digits(ms Time) string {
	s := strconv.FormatInt(int64(ms), 10)
	return "000"[len(s):] + s
}

// seconds writes a length of time.
func seconds(d Time) string {
	if d < 0 {
		return "-" + seconds(-d)
	}
	return strconv.FormatInt(int64(d/Second), 10) + "." + digits(d%Second/Millisecond) + "s"
}

func join(words []string) string { return strings.Join(words, " ") }

// The hash of a world is FNV-1a, 64 bits, over everything that its nodes did.
const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func (w *world) hashByte(b byte) { w.hash = (w.hash ^ uint64(b)) * prime }

func (w *world) hashTime(m *machine) {
	w.hashByte(byte(m.index))
	w.hash = (w.hash ^ uint64(w.now)) * prime
}

func (w *world) hashText(m *machine, s string) {
	w.hashTime(m)
	for i := range len(s) {
		w.hashByte(s[i])
	}
}

func (w *world) hashSend(m *machine, data []byte) {
	w.hashTime(m)
	for _, b := range data {
		w.hashByte(b)
	}
}
