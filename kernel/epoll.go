package kernel

// There is one epoll set, the netpoller's. Files that can make no one wait are not admitted, as on
// Linux, and package os then reads and writes them directly.
const (
	epollIn  = 1
	epollOut = 4
	epollET  = 1 << 31

	epollAdd    = 1
	epollDelete = 2
	epollModify = 3

	eventSize = 16 // struct epoll_event: events, padding, data at +8

	forever = ^uint32(0) // epoll_pwait's timeout
)

// createEpoll is epoll_create1.
func (k *kernel) createEpoll() int32 {
	if k.files.epolls != 0 {
		return -eMFILE
	}
	fd := k.files.open(fileEpoll)
	if fd >= 0 {
		k.files.epolls++
	}
	return fd
}

// epollCtl is epoll_ctl.
func (k *kernel) epollCtl(ep, op, fd, event uint32) int32 {
	f, e := k.files.get(fd), k.files.get(ep)
	if f == nil || e == nil {
		return -eBADF
	}
	if e.kind != fileEpoll {
		return -eINVAL
	}
	if f.kind != fileEvent && f.kind != fileIRQ && f.kind != fileKeyboard {
		return -ePERM
	}
	watched := k.files.watched&set(int(fd)) != 0
	if op == epollDelete {
		if !watched {
			return -eNOENT
		}
		k.files.watched &^= set(int(fd))
		return 0
	}
	if !k.wordsReadable(event, eventSize) {
		return -eFAULT
	}
	switch {
	case op == epollAdd && watched:
		return -eEXIST
	case op == epollModify && !watched:
		return -eNOENT
	case op != epollAdd && op != epollModify:
		return -eINVAL
	}
	k.files.watched |= set(int(fd))
	f.events = *word(event)
	f.data = [2]uint32{*word(event + 8), *word(event + 12)}
	k.raise(f, k.level(f))
	return 0
}

// level is what f is ready for right now.
func (k *kernel) level(f *file) (events uint32) {
	switch {
	case f.kind == fileEvent:
		events = epollOut
	case f.kind == fileKeyboard && k.console.keyboard.received != 0:
		return epollIn
	}
	if f.count != 0 {
		events |= epollIn
	}
	return events
}

// raise notes that f became ready for events, and wakes whoever waits for that.
func (k *kernel) raise(f *file, events uint32) {
	f.edge |= events
	for m := k.files.waiters; m != 0; m &= m - 1 {
		i := lowest(m)
		t := &k.threads[i]
		if t.events == 0 || !k.sleeps(i) { // woken by time or by a signal in the meantime
			k.files.waiters &^= set(i)
			continue
		}
		n := int32(-eFAULT) // another thread may have unmapped the buffer
		if k.wordsWritable(t.events, t.eventsMax*eventSize) {
			n = k.collect(t.events, t.eventsMax)
		}
		if n != 0 {
			k.files.waiters &^= set(i)
			k.wake(i, n)
		}
		return
	}
}

// collect stores up to most ready events at out and counts them.
func (k *kernel) collect(out, most uint32) int32 {
	n := uint32(0)
	for m := k.files.watched; m != 0 && n < most; m &= m - 1 {
		f := &k.files.files[lowest(m)]
		events := k.level(f) & f.events
		if f.events&epollET != 0 {
			events &= f.edge
			f.edge &^= events
		}
		if events == 0 {
			continue
		}
		at := out + eventSize*n
		*word(at), *word(at + 4) = events, 0
		*word(at + 8), *word(at + 12) = f.data[0], f.data[1]
		n++
	}
	return int32(n)
}

// epollWait is epoll_pwait without a signal mask. The timeout is in milliseconds.
func (k *kernel) epollWait(t *thread, ep, out, most, timeout uint32) int32 {
	e := k.files.get(ep)
	if e == nil {
		return -eBADF
	}
	if e.kind != fileEpoll || most == 0 || most > filesMax*4 {
		return -eINVAL
	}
	most = min(most, filesMax)
	if !k.wordsWritable(out, most*eventSize) {
		return -eFAULT
	}
	if n := k.collect(out, most); n != 0 || timeout == 0 {
		return n
	}
	deadline := uint64(0)
	if timeout != forever {
		deadline = k.clock.after(uint64(timeout/1000), timeout%1000*1000000)
	}
	t.events, t.eventsMax = out, most
	k.files.waiters |= set(k.sched.current)
	k.sleep(deadline)
	return unanswered
}

// createEvent is eventfd2. Reading an empty one never waits, so that it has to be non-blocking.
func (k *kernel) createEvent(count, flags uint32) int32 {
	if flags&eventNonBlocking == 0 {
		return -eINVAL
	}
	fd := k.files.open(fileEvent)
	if fd >= 0 {
		k.files.files[fd].count = uint64(count)
		k.files.files[fd].flags |= openNonBlocking
	}
	return fd
}

// writeEvent adds to an eventfd.
func (k *kernel) writeEvent(f *file, buf, n uint32) int32 {
	if n < 8 {
		return -eINVAL
	}
	if !k.readable(buf, 8) {
		return -eFAULT
	}
	v := load64(buf)
	if v == ^uint64(0) {
		return -eINVAL
	}
	if f.count+v < v || f.count+v == ^uint64(0) {
		return -eAGAIN
	}
	f.count += v
	k.raise(f, epollIn)
	return 8
}
