#include "textflag.h"

// A program runs in System mode, which is privileged: nothing but good manners keeps it from
// becoming the kernel. These functions have none.

#define CPS_SVC	WORD	$0xf10e01d3	// cpsid aif, #SVC

TEXT ·kernelData(SB),NOSPLIT,$0
	CPS_SVC
	MOVW	$0x60000000, R0
	MOVW	R0, (R0)
	RET

TEXT ·kernelFetch(SB),NOSPLIT,$0
	CPS_SVC
	MOVW	$0x60000000, R0
	B	(R0)

TEXT ·kernelUndefined(SB),NOSPLIT,$0
	CPS_SVC
	WORD	$0xe7f000f0	// udf
	RET

// A system call from a stack that is not where a thread's frame belongs.
TEXT ·kernelCall(SB),NOSPLIT,$0
	CPS_SVC
	MOVW	$0x80012000, R13
	SWI	$0
	RET

// A call chain that has run off the kernel's stack.
TEXT ·kernelStack(SB),NOSPLIT,$0
	CPS_SVC
	MOVW	$0x80010000, R13
	MOVW	R0, -4(R13)
	RET
