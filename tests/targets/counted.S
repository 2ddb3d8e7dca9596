/* SPDX-License-Identifier: MIT */
/* Text whose every byte is known to tests/front/test_coverage.py. A shared object without start files. */
	.text
	.p2align 4
	.globl f
	.type f, @function
f:	.cfi_startproc
	mov $1, %eax		/* 5 bytes: whole */
	call h			/* 5 bytes: retarget */
	ret
	.cfi_endproc
	.size f, . - f		/* 11 bytes, 5 of padding */

	.p2align 4
	.type h, @function
h:	.cfi_startproc
	lea 1(%rdi), %eax
	ret
	.cfi_endproc
	.size h, . - h		/* 4 bytes, 12 of padding */

	.p2align 4
	.globl l
	.type l, @function
l:	.cfi_startproc
	mov $3, %eax
	ret
	.cfi_endproc
	.size l, . - l		/* 6 bytes, 10 of padding */

	.p2align 4
	.type g, @function
g:	mov $2, %eax		/* no unwind entry: only a symbol knows it */
	ud2			/* cannot be probed */
	.size g, . - g		/* 7 bytes */
	.byte 6, 6, 6, 6	/* no instructions */
	.p2align 4, 0xcc	/* 5 bytes that follow something unknown */
	.section .note.GNU-stack, "", @progbits
