package node

import (
	"io"
	"strconv"
	"sync"

	"holdfast/mesh/evidence"
)

// consoleQueue is how many lines wait for the console. At 115,200 baud it sends some 90 of them a
// second; a view change of 64 objects makes 130 at once.
const consoleQueue = 256

// log is where evidence goes: into the ring that HTTP shows, and to the console. Before Start a
// line is written at once, because at boot nothing waits for anybody. After it the console has a
// goroutine and a bounded queue, so that a slow console never delays the mesh; what does not fit
// is counted and said, and stays in the ring.
type log struct {
	console io.Writer

	mu    sync.Mutex // never held during a Write once queue is there
	ring  evidence.Ring
	queue chan string // nil before Start
	lost  uint64      // lines that did not fit, in all
}

// Add takes one line of evidence.
func (l *log) Add(line evidence.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring.Append(line)
	l.print(line.String())
}

// Note takes one line for whoever reads the console. It is no evidence: nothing parses it.
func (l *log) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print("node: " + text)
}

// print writes or queues a line. The caller holds mu.
func (l *log) print(text string) {
	if l.queue == nil {
		l.write(text)
		return
	}
	select {
	case l.queue <- text:
	default:
		l.lost++
	}
}

// write hands the console one line in one piece. A console that fails has nobody to tell.
func (l *log) write(text string) { _, _ = io.WriteString(l.console, text+"\n") }

// Start gives the console its goroutine. The function it returns ends that, once what is queued has
// been written.
func (l *log) Start() (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = make(chan string, consoleQueue)
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.drain(ending)
	}()
	return func() {
		close(ending)
		<-ended
	}
}

// drain writes what is queued until ending is closed and nothing is left.
func (l *log) drain(ending <-chan struct{}) {
	var said uint64 // of the lost lines
	for {
		var text string
		select {
		case text = <-l.queue:
		default:
			// Empty: here, in the order of things, the lines that did not fit are missing.
			if lost := l.Lost(); lost > said {
				l.write("node: console: " + strconv.FormatUint(lost-said, 10) +
					" lines did not fit, GET /mesh/log has the latest")
				said = lost
			}
			select {
			case text = <-l.queue:
			case <-ending:
				if len(l.queue) == 0 {
					return
				}
				continue
			}
		}
		l.write(text)
	}
}

// Lost is how many lines the console did not get.
func (l *log) Lost() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// After is the lines in the ring with numbers above n.
func (l *log) After(n uint64) []evidence.Numbered {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ring.After(n)
}
