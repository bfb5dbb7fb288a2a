package kernel

// Why the kernel was entered, as the vectors say it.
const (
	causeCall      = 0 // SVC: a system call
	causeInterrupt = 1
	causeData      = 2 // data abort
	causeFetch     = 3 // prefetch abort
	causeUndefined = 4 // undefined instruction, or a vector that nothing uses
)

// unanswered is what a system call returns whose result is not known yet, or is already in the
// thread's registers. It is no error number and no address.
const unanswered = -1 << 31

// trap handles every exception of the program. The thread that runs when it returns need not be
// the one that was interrupted.
func trap(cause uint32) {
	k := theKernel()
	if k.masked.on {
		k.measuredTrap(cause)
		return
	}
	k.trap(cause)
}

func (k *kernel) trap(cause uint32) {
	t := &k.threads[k.sched.current]
	switch cause {
	case causeCall:
		k.sched.changed = false
		if result := k.call(t); result != unanswered {
			t.regs[0], t.done = uint32(result), 0
		}
		if !k.sched.changed { // t goes on and the timer is right as it is
			k.deliver(t)
			return
		}
	case causeInterrupt:
		k.interrupt()
	case causeData:
		status, address := dataFault()
		if isTranslationFault(status) && k.touch(address) {
			return
		}
		k.fault(t, faultSignal(status), address)
	case causeFetch:
		_, address := fetchFault()
		k.fault(t, sigSEGV, address)
	default:
		k.fault(t, sigILL, t.pc)
	}
	k.schedule()
	k.deliver(&k.threads[k.sched.current])
}

// Fault status, DFSR bits 10 and 3:0: ARM Architecture Reference Manual ARMv7-A, table B3-23.
const (
	statusMask               = 0x40f
	statusAlignment          = 0x001
	statusTranslationSection = 0x005
	statusTranslationPage    = 0x007
	statusPermissionSection  = 0x00d
	statusPermissionPage     = 0x00f
)

// isTranslationFault reports whether there was no entry in the page table.
func isTranslationFault(status uint32) bool { return status&statusMask == statusTranslationPage }

// faultSignal is the signal for a data abort: SIGSEGV for an address that is not mapped or not
// for this, SIGBUS for all the others: misaligned, or no device and no memory answered.
func faultSignal(status uint32) uint32 {
	switch status & statusMask {
	case statusTranslationSection, statusTranslationPage,
		statusPermissionSection, statusPermissionPage:
		return sigSEGV
	}
	return sigBUS
}
