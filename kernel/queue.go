package kernel

// runQueue is the runnable threads in the order in which they will run, the running one excluded:
// a ring of thread indices that can grow at both ends. It has room for all threads, and a thread
// is in it at most once, so that it never overflows.
type runQueue struct {
	ring  [threadsMax]uint8
	head  uint32 // index of the front
	count uint32
}

func (q *runQueue) pushBack(i int) {
	if q.count == threadsMax {
		die("kernel: run queue overflow")
	}
	q.ring[(q.head+q.count)%threadsMax] = uint8(i)
	q.count++
}

func (q *runQueue) pushFront(i int) {
	if q.count == threadsMax {
		die("kernel: run queue overflow")
	}
	q.head = (q.head + threadsMax - 1) % threadsMax
	q.ring[q.head] = uint8(i)
	q.count++
}

// insert puts i behind the first n threads.
func (q *runQueue) insert(n uint32, i int) {
	if n > q.count {
		die("kernel: run queue too short")
	}
	q.pushFront(i)
	for at := q.head; n > 0; n-- {
		next := (at + 1) % threadsMax
		q.ring[at], q.ring[next] = q.ring[next], q.ring[at]
		at = next
	}
}

func (q *runQueue) popFront() int {
	if q.count == 0 {
		die("kernel: run queue underflow")
	}
	i := q.ring[q.head]
	q.head = (q.head + 1) % threadsMax
	q.count--
	return int(i)
}
