#include "go_asm.h"
#include "textflag.h"

#define ISB		WORD	$0xf57ff06f
#define MRRC_CNTVCT	WORD	$0xec554f1e	// mrrc p15, 1, r4, r5, c14

// clock_gettime(clock R0, timespec R1) as the vDSO has it. buildVDSO copies it to another address,
// so that it contains no reference to anything but fixed addresses and constants that fit into
// an instruction.
//
// On one core an update of the vvar page is seen whole or not at all, except when it comes between
// the reads of this function; then the sequence number has changed.
TEXT ·vdsoGettime(SB),NOSPLIT|NOFRAME,$0
	MOVM.DB.W	[R4-R8], (R13)
	CMP	$const_clockMonotonic, R0
	BHI	kernel
	MOVW	$0x80000000, R3		// const_vvarPage, in two pieces
	ORR	$(const_vvarPage-0x80000000), R3
again:
	MOVW	vvar_sequence(R3), R12
	ISB
	MRRC_CNTVCT
	MOVW	vvar_base(R3), R6
	MOVW	(vvar_base+4)(R3), R7
	SUB.S	R6, R4			// R5:R4 = ticks since base
	SBC	R7, R5
	CMP	$0, R5
	BNE	kernel
	MOVW	vvar_limit(R3), R6
	CMP	R6, R4
	BHS	kernel
	MOVW	vvar_nsMult(R3), R6
	MOVW	vvar_nsShift(R3), R7
	MULLU	R4, R6, (R5, R4)	// R5:R4 = ticks * nsMult
	MOVW	R4>>R7, R4		// >> nsShift, which is 1 to 31
	RSB	$32, R7, R7
	ORR	R5<<R7, R4		// R4 = nanoseconds since base, below 2^31
	CMP	$const_clockRealtime, R0
	MOVW.EQ	(vvar_real+timespec_sec)(R3), R2
	MOVW.NE	(vvar_mono+timespec_sec)(R3), R2
	MOVW.EQ	(vvar_real+timespec_ns)(R3), R8
	MOVW.NE	(vvar_mono+timespec_ns)(R3), R8
	MOVW	vvar_sequence(R3), R6
	CMP	R6, R12
	BNE	again
	ADD	R8, R4			// below 3 * 10^9
	MOVW	$0x3b800000, R3		// 10^9 = 0x3b9aca00, in three pieces
	ORR	$0x1a0000, R3
	ORR	$0xca00, R3
normalize:
	CMP	R3, R4
	SUB.HS	R3, R4
	ADD.HS	$1, R2
	BHS	normalize
	MOVW	R2, 0(R1)
	MOVW	R4, 4(R1)
	MOVW	$0, R0
	MOVM.IA.W	(R13), [R4-R8]
	RET
kernel:
	MOVM.IA.W	(R13), [R4-R8]
	MOVW	R7, R2			// the program's R7 survives in R2
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
