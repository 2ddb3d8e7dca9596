/* SPDX-License-Identifier: MIT */
	.text
	.globl	churn_call
	.type	churn_call, @function
/* void churn_call(const void *func, struct world *w) */
churn_call:
	.cfi_startproc
	push	%rsi
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %r11
	mov	(%rsi), %rax
	mov	8(%rsi), %rcx
	mov	16(%rsi), %rdx
	mov	32(%rsi), %r8
	mov	40(%rsi), %r9
	mov	48(%rsi), %r10
	lea	64(%rsi), %rdi
	cmpl	$0, 56(%rsi)
	mov	24(%rsi), %rsi
	cld
	call	*%r11
	pushf
	.cfi_adjust_cfa_offset 8
	mov	8(%rsp), %rdi
	mov	%rax, (%rdi)
	mov	%rcx, 8(%rdi)
	mov	%rdx, 16(%rdi)
	mov	%rsi, 24(%rdi)
	mov	%r8, 32(%rdi)
	mov	%r9, 40(%rdi)
	mov	%r10, 48(%rdi)
	pop	56(%rdi)
	.cfi_adjust_cfa_offset -8
	andl	$0x8d5, 56(%rdi)
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	churn_call, . - churn_call

/* Pages of its own, of the program's file: what is no file's is not probed. */
	.balign	4096
	.globl	churn_text
	.type	churn_text, @object
	.size	churn_text, 65536
churn_text:
	.skip	65536, 0xcc
	.section .note.GNU-stack, "", @progbits
