#include "textflag.h"

// func peripheralBase() uint32
TEXT ·peripheralBase(SB),NOSPLIT,$0-4
	MRC	15, 4, R0, C15, C0, 0	// CBAR
	MOVW	R0, ret+0(FP)
	RET
