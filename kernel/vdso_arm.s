#include "go_asm.h"
#include "textflag.h"

#define ISB		WORD	$0xf57ff06f
#define MRRC_CNTVCT	WORD	$0xec5e8f1e	// mrrc p15, 1, r8, lr, c14

// clock_gettime(clock R0, timespec R1) as the vDSO has it. buildVDSO copies it to another address,
// so that it contains no reference to anything but fixed addresses and constants that fit into
// an instruction.
//
// On one core an update of the vvar page is seen whole or not at all, except when it comes between
// the reads of this function; then the sequence number has changed.
TEXT ·vdsoGettime(SB),NOSPLIT|NOFRAME,$0
	MOVM.DB.W	[R4-R8, R14], (R13)
	CMP	$const_clockMonotonic, R0
	BHI	kernel
again:
	MOVW	$0x80000000, R12		// const_vvarPage, in two pieces
	ORR	$(const_vvarPage-0x80000000), R12
	MOVM.IA.W	(R12), [R2-R7]		// sequence, limit, R5:R4 = base, nsShift, nsMult
	ISB
	MRRC_CNTVCT
	SUB.S	R4, R8				// R14:R8 = ticks since base, never fewer than none
	SBC.S	R5, R14
	CMP.EQ	R3, R8
	BHS	kernel				// they are 2^32 or more, or limit or more
	MOVW	R8<<R6, R8
	MULLU	R8, R7, (R14, R8)		// R14 = nanoseconds since base, below 2^31
	ADD	R0<<3, R12, R5
	MOVM.IA	(R5), [R3-R4]			// seconds and nanoseconds at base
	MOVW	(vvar_sequence-vvar_real)(R12), R6
	CMP	R6, R2
	BNE	again
	ADD	R4, R14				// below 3 * 10^9
	MOVW	$0x3b800000, R4			// 10^9 = 0x3b9aca00, in three pieces
	ORR	$0x1a0000, R4
	ORR	$0xca00, R4
normalize:
	CMP	R4, R14
	BHS	second
	MOVW	R3, 0(R1)
	MOVW	R14, 4(R1)
	MOVW	$0, R0
	MOVM.IA.W	(R13), [R4-R8, R15]	// returns
second:
	SUB	R4, R14
	ADD	$1, R3
	B	normalize
kernel:
	MOVM.IA.W	(R13), [R4-R8, R14]
	MOVW	R7, R2				// the program's R7 survives in R2
	MOVW	$(const_callClockGettime & 0xff00), R7
	ORR	$(const_callClockGettime & 0xff), R7
	SWI	$0
	MOVW	R2, R7
	RET

// vdsoEnd marks the end of vdsoGettime.
TEXT ·vdsoEnd(SB),NOSPLIT|NOFRAME,$0
	RET

// func vdsoCode() (start, end uint32)
TEXT ·vdsoCode(SB),NOSPLIT,$0-8
	MOVW	$·vdsoGettime(SB), R0
	MOVW	R0, start+0(FP)
	MOVW	$·vdsoEnd(SB), R0
	MOVW	R0, end+4(FP)
	RET
