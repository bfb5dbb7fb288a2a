package node

import (
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"holdfast/kernel/node/tty"
	"holdfast/mesh/evidence"
)

// consoleQueue is how many lines wait for the console. At 115,200 baud it sends some 90 of them a
// second; a view change of 64 objects makes 130 at once.
const consoleQueue = 256

// log is where evidence goes: into the ring that HTTP shows, and to the console. Before Start a
// line is written at once, because at boot nothing waits for anybody. After it the console has a
// goroutine and a bounded queue, so that a slow console never delays the mesh; what does not fit
// is counted and said, and stays in the ring. The same goroutine draws what an operator types and
// writes the answers, behind every line that is queued: nothing can come in the middle of a line.
type log struct {
	screen  *tty.Screen            // used under mu before Start, by the console's goroutine after it
	answers chan answer            // those who answer wait until it is written
	typed   atomic.Pointer[string] // what is being typed; nil: nothing
	redraw  chan struct{}          // capacity 1: typed has changed

	mu    sync.Mutex // never held during a Write once queue is there
	ring  evidence.Ring
	queue chan string // nil before Start
	lost  uint64      // lines that did not fit, in all
}

// answer is what an operator's command puts on the console.
type answer struct {
	line    string
	entered bool // the line is the command itself
	written chan<- struct{}
}

func newLog(w io.Writer) *log {
	return &log{
		screen:  tty.NewScreen(w),
		answers: make(chan answer), redraw: make(chan struct{}, 1),
	}
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
		l.screen.Print(text)
		return
	}
	select {
	case l.queue <- text:
	default:
		l.lost++
	}
}

// Typed shows what is being typed, once there is nothing else to write. It does not wait.
func (l *log) Typed(text string) {
	l.typed.Store(&text)
	select {
	case l.redraw <- struct{}{}:
	default:
	}
}

// Entered shows the line that was typed as complete, and Answer a line of the answer to it. Both
// wait until it is written, and report false when ctx was done before.
func (l *log) Entered(ctx context.Context, line string) bool {
	return l.put(ctx, answer{line: line, entered: true})
}

func (l *log) Answer(ctx context.Context, line string) bool {
	return l.put(ctx, answer{line: line})
}

func (l *log) put(ctx context.Context, a answer) bool {
	written := make(chan struct{}, 1)
	a.written = written
	select {
	case l.answers <- a:
	case <-ctx.Done():
		return false
	}
	select {
	case <-written:
		return true
	case <-ctx.Done():
		return false
	}
}

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
		select {
		case text := <-l.queue:
			l.screen.Print(text)
			continue
		default:
		}
		// Empty: here, in the order of things, the lines that did not fit are missing.
		if lost := l.Lost(); lost > said {
			l.screen.Print("node: console: " + strconv.FormatUint(lost-said, 10) +
				" lines did not fit, GET /mesh/log has the latest")
			said = lost
		}
		if typed := l.typed.Load(); typed != nil {
			l.screen.Draw(*typed)
		}
		select {
		case text := <-l.queue:
			l.screen.Print(text)
		case a := <-l.answers:
			l.answer(a)
		case <-l.redraw:
		case <-ending:
			if len(l.queue) == 0 {
				return
			}
		}
	}
}

func (l *log) answer(a answer) {
	if a.entered {
		l.screen.Enter(a.line)
		l.typed.Store(nil) // whoever typed waits for this
	} else {
		l.screen.Answer(a.line)
	}
	a.written <- struct{}{}
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
