/* SPDX-License-Identifier: MIT */
/* A leaf that only its symbol knows, with labels amid it. What it was given lies below the stack pointer throughout. */
	.macro	site name, insn:vararg
	.globl	\name
\name:	\insn
	.endm

	.text
	.p2align 4
	.type	leaf, @function
leaf:	mov	%rdi, -8(%rsp)
	mov	%rdi, -16(%rsp)
	mov	%rdi, -128(%rsp)
	site	long_nop, .byte 0x0f, 0x1f, 0x44, 0, 0
	site	short_nop, nop
	site	load, mov -8(%rsp), %rax
	site	sum, add -16(%rsp), %rax
	site	branch, jz last
	add	-128(%rsp), %rax
	site	last, ret
	.size	leaf, . - leaf

	/* Calls it 2,000 times; the status is 7 where each sum was right. */
	.globl	main
	.type	main, @function
main:	.cfi_startproc
	mov	$2000, %esi
1:	mov	%rsi, %rdi
	call	leaf
	lea	(%rsi, %rsi, 2), %rcx
	cmp	%rax, %rcx
	jne	2f
	dec	%esi
	jnz	1b
	mov	$7, %eax
	ret
2:	mov	$1, %eax
	ret
	.cfi_endproc
	.size	main, . - main
	.section .note.GNU-stack, "", @progbits
