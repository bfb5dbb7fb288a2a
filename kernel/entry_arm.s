#include "go_asm.h"
#include "textflag.h"

// The way in: from reset to boot, and from every exception to trap and back to a thread. doc.go
// has the picture of the trap frame.

// Encodings that the Go assembler lacks.
#define SRSDB_SVC	WORD	$0xf94d0513	// srsdb sp, #SVC
#define RFEDB_SP	WORD	$0xf91d0a00	// rfedb sp
#define STM_USR		WORD	$0xe8cd7fff	// stmia sp, {r0-r14}^
#define LDM_USR		WORD	$0xe8dd7fff	// ldmia sp, {r0-r14}^
#define CPS_SVC		WORD	$0xf1020013	// cps #SVC
#define CPS_ABT		WORD	$0xf1020017	// cps #ABT
#define CPS_UND		WORD	$0xf102001b	// cps #UND
#define CPSID_SVC	WORD	$0xf10e01d3	// cpsid aif, #SVC
#define MRRC_CNTVCT	WORD	$0xec576f1e	// mrrc p15, 1, r6, r7, c14
#define MRS_SPSR_R0	WORD	$0xe14f0000	// mrs r0, spsr
#define RETURN_NEXT	WORD	$0xe25ef004	// subs pc, lr, #4
#define DSB		WORD	$0xf57ff04f
#define ISB		WORD	$0xf57ff06f
#define CLREX		WORD	$0xf57ff01f
#define NOOP		WORD	$0xe320f000	// an access to banked registers may not follow LDM_USR

// _kernel_start is the image's entry point (-E _kernel_start): SVC mode, MMU and caches off, no
// stack, nothing known about the memory but that the image is in it.
TEXT _kernel_start(SB),NOSPLIT|NOFRAME,$0
	CPSID_SVC
	MRRC_CNTVCT		// R7:R6, for the figures
	MRC	15, 0, R0, C1, C0, 0	// SCTLR: MMU, caches, high vectors, alignment checks off
	MOVW	$0x3007, R1
	BIC	R1, R0
	MCR	15, 0, R0, C1, C0, 0
	ISB

	// What a boot ROM left in the data caches is written to memory and dropped: afterwards no line
	// of the DMA pool is cached, and since it is never mapped as cacheable none will be. Level by
	// level (R1 is twice the level), set by set (R8), way by way (R9). ARM Architecture Reference
	// Manual ARMv7-A, B2.2.4. QEMU has no caches, and its CBAR reads as zero: see package core.
	MRC	15, 4, R0, C15, C0, 0	// CBAR
	CMP	$0, R0
	BEQ	clean
	MRC	15, 1, R0, C0, C0, 1	// CLIDR
	MOVW	$0, R1
level:
	ADD	R1>>1, R1, R2
	MOVW	R0>>R2, R2
	AND	$7, R2
	CMP	$0, R2			// no cache at this level, nor behind it
	BEQ	clean
	CMP	$2, R2			// only one for instructions
	BLT	nextLevel
	MCR	15, 2, R1, C0, C0, 0	// CSSELR
	ISB
	MRC	15, 1, R2, C0, C0, 0	// CCSIDR
	AND	$7, R2, R3
	ADD	$4, R3			// where the set stands: log2 of the bytes in a line
	MOVW	R2>>3, R4
	MOVW	$0x3ff, R5
	AND	R5, R4			// the last way
	CLZ	R4, R5			// where the way stands
	MOVW	R2>>13, R8
	MOVW	$0x7fff, R9
	AND	R9, R8			// the last set
set:
	MOVW	R4, R9
way:
	ORR	R9<<R5, R1, R2
	ORR	R8<<R3, R2
	MCR	15, 0, R2, C7, C14, 2	// DCCISW
	SUB.S	$1, R9
	BPL	way
	SUB.S	$1, R8
	BPL	set
nextLevel:
	ADD	$2, R1
	CMP	$14, R1
	BNE	level
clean:
	DSB
	MRC	15, 0, R0, C1, C0, 1	// ACTLR.SMP, without which a Cortex-A7 does not cache
	ORR	$0x40, R0
	MCR	15, 0, R0, C1, C0, 1
	MRC	15, 0, R0, C1, C0, 2	// CPACR: coprocessors 10 and 11, the floating-point unit
	ORR	$0xf00000, R0
	MCR	15, 0, R0, C1, C0, 2
	ISB
	MOVW	$0x40000000, R0
	WORD	$0xeee80a10		// vmsr fpexc, r0
	MOVW	$0, R0
	WORD	$0xeee10a10		// vmsr fpscr, r0

	// Vectors: eight "ldr pc, [pc, #24]" and the eight addresses behind them. The data abort
	// belongs to the probe below for now.
	MOVW	$const_vectorPage, R3
	MCR	15, 0, R3, C12, C0, 0	// VBAR
	MOVW	$0xe59ff018, R0
	MOVW	$8, R1
vectors:
	MOVW.P	R0, 4(R3)
	SUB.S	$1, R1
	BNE	vectors
	MOVW	$·vecUndefined(SB), R0
	MOVW	R0, 0(R3)
	MOVW	R0, 4(R3)
	MOVW	R0, 20(R3)
	MOVW	$·vecCall(SB), R0
	MOVW	R0, 8(R3)
	MOVW	$·vecFetch(SB), R0
	MOVW	R0, 12(R3)
	MOVW	$·vecProbe(SB), R0
	MOVW	R0, 16(R3)
	MOVW	$·vecInterrupt(SB), R0
	MOVW	R0, 24(R3)
	MOVW	R0, 28(R3)
	DSB
	ISB

	// The kernel struct, in pieces of 32 bytes.
	MOVW	$const_stateBase, R9
	MOVW	$const_stateEnd, g
	MOVW	$0, R0
	MOVW	$0, R1
	MOVW	$0, R2
	MOVW	$0, R3
	MOVW	$0, R4
	MOVW	$0, R5
	MOVW	$0, R8
	MOVW	$0, R12
clear:
	MOVM.IA.W	[R0-R5,R8,R12], (R9)
	CMP	g, R9
	BLO	clear
	MOVW	$(const_stateBase+kernel_sched+scheduler_entered), R0
	MOVW	R6, 0(R0)
	MOVW	R7, 4(R0)

	// How many megabytes of memory answer: R4 do, R5 do not. A read where no memory is ends in an
	// external abort, which the probe's vector turns into R0 = 0.
	MOVW	$1, R4
	MOVW	$(const_megabytesMax+1), R5
probe:
	SUB	R4, R5, R0
	CMP	$1, R0
	BEQ	probed
	ADD	R4, R5, R6
	MOVW	R6>>1, R6
	MOVW	R6<<20, R7
	ADD	$const_l1Table, R7
	MOVW	$1, R0
	MOVW	-4(R7), R1
	CMP	$0, R0
	MOVW.NE	R6, R4
	MOVW.EQ	R6, R5
	B	probe
probed:
	MOVW	$·vecData(SB), R0
	MOVW	$const_vectorPage, R3
	MOVW	R0, 48(R3)
	DSB

	// Stack pointers of the abort modes, the kernel's g, its stack.
	CPS_ABT
	MOVW	$(const_stateBase+kernel_abort), R13
	CPS_UND
	MOVW	$(const_stateBase+kernel_abort), R13
	CPS_SVC
	MOVW	$(const_stateBase+kernel_g), g
	MOVW	$const_kernelStack, R0
	MOVW	R0, dummyG_stackLo(g)
	MOVW	$const_kernelStackTop, R1
	MOVW	R1, dummyG_stackHi(g)
	ADD	$1024, R0
	MOVW	R0, dummyG_stackGuard0(g)
	MOVW	R0, dummyG_stackGuard1(g)
	SUB	$16, R1, R13
	MOVW	R4, 4(R13)
	BL	·boot(SB)
	B	·resume(SB)

// vecProbe goes on behind the read that found no memory.
TEXT ·vecProbe(SB),NOSPLIT|NOFRAME,$0
	MOVW	$0, R0
	RETURN_NEXT

TEXT ·vecCall(SB),NOSPLIT|NOFRAME,$0
	SRSDB_SVC
	STM_USR
	MOVW	$const_causeCall, R0
	B	·enter(SB)

TEXT ·vecInterrupt(SB),NOSPLIT|NOFRAME,$0
	SUB	$4, R14
	SRSDB_SVC
	CPS_SVC
	STM_USR
	MOVW	$const_causeInterrupt, R0
	B	·enter(SB)

// The three that follow can also come from the kernel itself, whose stack pointer may then be
// anything: before they save a frame through it, they look at the mode they came from. R13 of
// their own modes points at kernel.abort for ever.

#define ABORT_ENTRY(behind, cause)	\
	SUB	behind, R14;		\
	MOVW	R0, 0(R13);		\
	MRS_SPSR_R0;			\
	AND	$0x1f, R0;		\
	CMP	$const_modeSystem, R0;	\
	MOVW	cause, R0;		\
	BNE	kernel;			\
	MOVW	0(R13), R0;		\
	SRSDB_SVC;			\
	CPS_SVC;			\
	STM_USR;			\
	MOVW	cause, R0;		\
	B	·enter(SB);		\
kernel:					\
	B	·kernelAbort(SB)

TEXT ·vecData(SB),NOSPLIT|NOFRAME,$0
	ABORT_ENTRY($8, $const_causeData)

TEXT ·vecFetch(SB),NOSPLIT|NOFRAME,$0
	ABORT_ENTRY($4, $const_causeFetch)

TEXT ·vecUndefined(SB),NOSPLIT|NOFRAME,$0
	ABORT_ENTRY($4, $const_causeUndefined)

// enter runs trap(cause) on the kernel stack; the frame is at R13. A frame that is not the current
// thread's means that the kernel made a system call, which only the runtime's own panics do.
TEXT ·enter(SB),NOSPLIT|NOFRAME,$0
	MOVW	$const_stateBase, R1
	MOVW	kernel_current(R1), R2
	CMP	R13, R2
	BNE	stray
	MOVW	$(const_kernelStackTop-16), R13
	MOVW	$(const_stateBase+kernel_g), g
	MOVW	R0, 4(R13)
	BL	·trap(SB)
	B	·resume(SB)
stray:
	MOVW	$(const_stateBase+kernel_abort), R1
	MOVW	R13, 52(R1)
	MOVW	R14, 56(R1)
	MOVW	R14, 60(R1)
	B	·reportAbort(SB)

// kernelAbort saves the registers of a kernel that faulted and reports them. R0 is the cause, R13
// points at kernel.abort, which holds the kernel's R0, and the mode is abort or undefined.
TEXT ·kernelAbort(SB),NOSPLIT|NOFRAME,$0
	MOVW	R1, 4(R13)
	MOVW	R2, 8(R13)
	MOVW	R3, 12(R13)
	MOVW	R4, 16(R13)
	MOVW	R5, 20(R13)
	MOVW	R6, 24(R13)
	MOVW	R7, 28(R13)
	MOVW	R8, 32(R13)
	MOVW	R9, 36(R13)
	MOVW	g, 40(R13)
	MOVW	R11, 44(R13)
	MOVW	R12, 48(R13)
	MOVW	R14, 60(R13)
	MOVW	R0, R2
	MRS_SPSR_R0
	MOVW	R0, 64(R13)
	MOVW	R13, R1
	CPS_SVC
	MOVW	R13, 52(R1)
	MOVW	R14, 56(R1)
	MOVW	R2, R0
	B	·reportAbort(SB)

// reportAbort runs kernelFault(cause), which does not return, on a stack that is known to be good.
TEXT ·reportAbort(SB),NOSPLIT|NOFRAME,$0
	MOVW	$(const_faultStackTop-16), R13
	MOVW	$(const_stateBase+kernel_g), g
	MOVW	R0, 4(R13)
	BL	·kernelFault(SB)
	B	0(PC)

// resume returns to the current thread. CLREX makes an interrupted LDREX and STREX pair fail, so
// that the thread tries again.
TEXT ·resume(SB),NOSPLIT|NOFRAME,$0
	MOVW	$const_stateBase, R1
	MOVW	kernel_current(R1), R13
	CLREX
	LDM_USR
	NOOP
	RFEDB_SP
