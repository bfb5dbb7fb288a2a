#include "go_asm.h"
#include "textflag.h"

// What Go can not say: coprocessor registers, floating-point state, barriers.

#define DSB	WORD	$0xf57ff04f
#define ISB	WORD	$0xf57ff06f

// func enableMMU(table uint32)
TEXT ·enableMMU(SB),NOSPLIT,$0-4
	MOVW	table+0(FP), R1
	MOVW	$0, R0
	DSB
	MCR	15, 0, R0, C8, C7, 0	// TLBIALL
	MCR	15, 0, R0, C7, C5, 0	// ICIALLU
	MCR	15, 0, R0, C7, C5, 6	// BPIALL
	MCR	15, 0, R0, C2, C0, 2	// TTBCR = 0: one table for all addresses
	MCR	15, 0, R1, C2, C0, 0	// TTBR0
	MOVW	$1, R0
	MCR	15, 0, R0, C3, C0, 0	// DACR: domain 0 obeys the permissions
	DSB
	ISB
	MRC	15, 0, R0, C1, C0, 0
	MOVW	$0x1805, R1		// I, Z, C, M
	ORR	R1, R0
	MCR	15, 0, R0, C1, C0, 0
	DSB
	ISB
	RET

// func flushTLBPage(a uint32)
TEXT ·flushTLBPage(SB),NOSPLIT,$0-4
	MOVW	a+0(FP), R0
	DSB
	MCR	15, 0, R0, C8, C7, 1	// TLBIMVA, address space 0
	DSB
	ISB
	RET

// func publishTables()
TEXT ·publishTables(SB),NOSPLIT,$0
	DSB
	ISB
	RET

// func saveFP(f *fpRegs)
TEXT ·saveFP(SB),NOSPLIT,$0-4
	MOVW	f+0(FP), R0
	WORD	$0xeef11a10	// vmrs r1, fpscr
	MOVW.P	R1, 4(R0)
	WORD	$0xeca00b20	// vstmia r0!, {d0-d15}
	WORD	$0xece00b20	// vstmia r0!, {d16-d31}
	RET

// func loadFP(f *fpRegs)
TEXT ·loadFP(SB),NOSPLIT,$0-4
	MOVW	f+0(FP), R0
	MOVW.P	4(R0), R1
	WORD	$0xeee11a10	// vmsr fpscr, r1
	WORD	$0xecb00b20	// vldmia r0!, {d0-d15}
	WORD	$0xecf00b20	// vldmia r0!, {d16-d31}
	RET

// func clearVirtualOffset()
//
// CNTVOFF can be written in monitor mode with SCR.NS set. R14 is banked: it is this function's
// again in SVC mode.
TEXT ·clearVirtualOffset(SB),NOSPLIT|NOFRAME,$0
	MRC	15, 0, R0, C1, C1, 0	// SCR
	ORR	$1, R0, R1
	MOVW	$0, R2
	WORD	$0xf1020016		// cps #MON
	MCR	15, 0, R1, C1, C1, 0
	ISB
	WORD	$0xec422f4e		// mcrr p15, 4, r2, r2, c14: CNTVOFF
	MCR	15, 0, R0, C1, C1, 0
	ISB
	WORD	$0xf1020013		// cps #SVC
	RET

// func waitForInterrupt()
TEXT ·waitForInterrupt(SB),NOSPLIT,$0
	DSB
	WORD	$0xe320f003	// wfi
	RET

// func dataFault() (status, address uint32)
TEXT ·dataFault(SB),NOSPLIT,$0-8
	MRC	15, 0, R0, C5, C0, 0	// DFSR
	MOVW	R0, status+0(FP)
	MRC	15, 0, R0, C6, C0, 0	// DFAR
	MOVW	R0, address+4(FP)
	RET

// func fetchFault() (status, address uint32)
TEXT ·fetchFault(SB),NOSPLIT,$0-8
	MRC	15, 0, R0, C5, C0, 1	// IFSR
	MOVW	R0, status+0(FP)
	MRC	15, 0, R0, C6, C0, 2	// IFAR
	MOVW	R0, address+4(FP)
	RET

// func runtimeEntry() uint32
TEXT ·runtimeEntry(SB),NOSPLIT,$0-4
	MOVW	$_rt0_arm_linux(SB), R0
	MOVW	R0, ret+0(FP)
	RET
