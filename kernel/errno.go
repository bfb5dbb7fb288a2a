package kernel

// Linux's error numbers, as far as they are used here. A system call returns them negated.
const (
	ePERM     = 1
	eNOENT    = 2
	eINTR     = 4
	eBADF     = 9
	eAGAIN    = 11
	eNOMEM    = 12
	eFAULT    = 14
	eBUSY     = 16
	eEXIST    = 17
	eINVAL    = 22
	eMFILE    = 24
	eNOTTY    = 25
	eSPIPE    = 29
	eNOSYS    = 38
	eTIMEDOUT = 110
)
