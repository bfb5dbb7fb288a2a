#include "textflag.h"

// func Counter() uint64
//
// The barrier keeps the read from being done ahead of the instructions before it.
TEXT ·Counter(SB),NOSPLIT,$0-8
	WORD	$0xf57ff06f	// isb
	WORD	$0xec510f1e	// mrrc p15, 1, r0, r1, c14: CNTVCT
	MOVW	R0, ret_lo+0(FP)
	MOVW	R1, ret_hi+4(FP)
	RET

// func Hz() uint32
TEXT ·Hz(SB),NOSPLIT,$0-4
	MRC	15, 0, R0, C14, C0, 0	// CNTFRQ
	MOVW	R0, ret+0(FP)
	RET

// func SetHz(hz uint32)
TEXT ·SetHz(SB),NOSPLIT,$0-4
	MOVW	hz+0(FP), R0
	MCR	15, 0, R0, C14, C0, 0	// CNTFRQ
	WORD	$0xf57ff06f	// isb
	RET

// func Set(at uint64)
TEXT ·Set(SB),NOSPLIT,$0-8
	MOVW	at_lo+0(FP), R0
	MOVW	at_hi+4(FP), R1
	WORD	$0xec410f3e	// mcrr p15, 3, r0, r1, c14: CNTV_CVAL
	MOVW	$1, R0		// enabled, not masked
	MCR	15, 0, R0, C14, C3, 1	// CNTV_CTL
	WORD	$0xf57ff06f	// isb
	RET
