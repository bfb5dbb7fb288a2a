#include "textflag.h"

// func loadUnaligned(p *int): an exclusive load of an address that is not a multiple of four
TEXT ·loadUnaligned(SB),NOSPLIT,$0-4
	MOVW	p+0(FP), R1
	ADD	$1, R1
	LDREX	(R1), R0
	RET
