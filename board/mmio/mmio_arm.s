#include "textflag.h"

// One access each. The Go assembler's MOVW, MOVH and MOVHU are the plain LDR, STR, STRH and LDRH.

// func R32(addr uint32) uint32
TEXT ·R32(SB),NOSPLIT,$0-8
	MOVW	addr+0(FP), R0
	MOVW	(R0), R1
	MOVW	R1, ret+4(FP)
	RET

// func W32(addr, v uint32)
TEXT ·W32(SB),NOSPLIT,$0-8
	MOVW	addr+0(FP), R0
	MOVW	v+4(FP), R1
	MOVW	R1, (R0)
	RET

// func R16(addr uint32) uint16
TEXT ·R16(SB),NOSPLIT,$0-6
	MOVW	addr+0(FP), R0
	MOVHU	(R0), R1
	MOVH	R1, ret+4(FP)
	RET

// func W16(addr uint32, v uint16)
TEXT ·W16(SB),NOSPLIT,$0-6
	MOVW	addr+0(FP), R0
	MOVHU	v+4(FP), R1
	MOVH	R1, (R0)
	RET

// func Barrier()
TEXT ·Barrier(SB),NOSPLIT,$0
	WORD	$0xf57ff04f	// dsb sy
	RET
