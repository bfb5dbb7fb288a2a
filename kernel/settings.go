package kernel

// The Go runtime's settings. A line of the same name on the loader's boot page wins.
const (
	programName = "holdfast"

	// environment is passed as it stands.
	//
	// GOMAXPROCS: with one processor, a goroutine that an interrupt makes runnable waits for the
	// busy one to be preempted or for sysmon, some 6 ms. With four, the kernel runs the thread that
	// polls the network at once, and the goroutine follows within microseconds.
	//
	// madvdontneed: memory that the runtime gives back would be cleared at its next use, and nobody
	// else wants it in the meantime.
	//
	// memprofilerate: the table of an allocation profile is 0.7 MB, and nobody reads the profile. A
	// program that has one turns it on.
	//
	// GOGC: the heap grows by 4 MB at a time. At 75 the first collection comes at 3 MB, so that what
	// is alive in a small program, its garbage and its stacks fit into the first 4.
	//
	// GOTRACEBACK: a node that dies should say where every goroutine was.
	environment = "GOMAXPROCS=4\x00" +
		"GODEBUG=madvdontneed=0,memprofilerate=0\x00" +
		"GOGC=75\x00" +
		"GOTRACEBACK=all\x00" +
		"TZ=UTC\x00"

	// GOMEMLIMIT is a part of the memory there is for the program. The collector works harder near
	// it; the rest is for the image's zeroed sections and for fragments.
	memoryLimitName    = "GOMEMLIMIT="
	memoryLimitPercent = 75
)
