package link

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"holdfast/kernel/node/clock"
	"holdfast/mesh/wire"
)

// stream is a connection that gives its bytes in pieces of a size, then ends.
type stream struct {
	net.Conn // deadlines mean nothing here
	rest     []byte
	piece    int
}

func (s *stream) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.piece)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// readStream is the frames that the reader finds, and why it ends.
func readStream(data []byte, piece int) (frames [][]byte, why Reason) {
	end, other := net.Pipe()
	defer end.Close()
	defer other.Close()
	s := newSession(1, end, &stream{rest: data, piece: piece}, clock.System)
	why = newReader(s).run(func(e Event) { frames = append(frames, e.(Arrived).Data) })
	return frames, why
}

// split is what readStream should find, written from the byte table of the package comment.
func split(data []byte) (frames [][]byte, why Reason) {
	for len(data) >= 2 {
		n := int(binary.BigEndian.Uint16(data))
		if n < 9 || n > 4094 {
			return frames, Malformed
		}
		if len(data) < 2+n {
			break
		}
		frames = append(frames, data[2:2+n])
		data = data[2+n:]
	}
	return frames, EOF
}

// FuzzReader takes any stream in any pieces: the frames are those that the lengths say, and the
// reader neither panics nor waits for a frame that cannot come.
func FuzzReader(f *testing.F) {
	biggest := append(binary.BigEndian.AppendUint16(nil, wire.FrameMax-wire.PrefixSize),
		make([]byte, wire.FrameMax-wire.PrefixSize)...)
	for _, seed := range [][]byte{
		nil, {0}, {0, 0}, {0xff, 0xff}, {0x0f, 0xff}, frame(1), frame(1)[:10],
		append(frame(1), frame(2)...), append(frame(1), 0, 1), biggest, append(biggest, frame(1)...),
		[]byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		f.Add(seed, uint16(1))
		f.Add(seed, uint16(7))
		f.Add(seed, uint16(wire.FrameMax))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint16) {
		got, why := readStream(data, int(piece)+1)
		want, wantWhy := split(data)
		if why != wantWhy || len(got) != len(want) {
			t.Fatalf("%d frames, then %s; want %d, then %s", len(got), why, len(want), wantWhy)
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("frame %d is %x, want %x", i, got[i], want[i])
			}
		}
	})
}

func TestAnArrivedFrameIsTheReceiversToKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		frames, _ := readStream(append(frame(1), frame(2)...), 5)
		if nonceOf(t, frames[0]) != 1 || nonceOf(t, frames[1]) != 2 {
			t.Error("a frame has changed after it was delivered")
		}
	})
}
