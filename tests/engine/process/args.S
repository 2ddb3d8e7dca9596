/* SPDX-License-Identifier: MIT */
/* Entries of several shapes, and the comparison of all registers. */
#define FN_ALIGN 4
#include "../../fn.inc"

	.text
/* As twenty_both(). */
	fn at_whole
	mov	$1, %r11d /* 6 bytes */
	jmp	twenty_both
	end at_whole

	fn at_short
	nop
	test	%eax, %eax
	jmp	twenty_both
	end at_short

	fn at_pushes
	push	%rbx
	pop	%rbx
	jmp	twenty_both
	end at_pushes

	fn at_jump
	.byte	0xe9 /* the linker must not shorten it */
	.long	twenty_both - . - 4
	end at_jump

/* Calls what takes its return address away again: at entry, all arguments live. */
	fn at_call
	call	1f
	jmp	twenty_both
1:	ret
	end at_call

/* --- all registers ---------------------------------------------------------- */

	.macro	save_regs to
	mov	%rax, \to(%rip)
	mov	%rcx, \to+8(%rip)
	mov	%rdx, \to+16(%rip)
	mov	%rbx, \to+24(%rip)
	mov	%rsp, \to+32(%rip)
	mov	%rbp, \to+40(%rip)
	mov	%rsi, \to+48(%rip)
	mov	%rdi, \to+56(%rip)
	mov	%r8, \to+64(%rip)
	mov	%r9, \to+72(%rip)
	mov	%r10, \to+80(%rip)
	mov	%r11, \to+88(%rip)
	mov	%r12, \to+96(%rip)
	mov	%r13, \to+104(%rip)
	mov	%r14, \to+112(%rip)
	mov	%r15, \to+120(%rip)
	pushfq
	popq	\to+128(%rip)
	.endm

	.macro	mask
	mov	regs_mask(%rip), %eax
	mov	regs_mask+4(%rip), %edx
	.endm

	fn regs_save
	mask
	xsave64	(%rdi)
	ret
	end regs_save

	fn regs_target
	save_regs regs_seen
	mask
	xsave64	regs_state(%rip)
	ret
	end regs_target

	fn regs_call
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$24, %rsp
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	mask
	xrstor64 (%rsi)
	mov	%rdi, %r15
	pushq	128(%r15)
	popfq
	mov	(%r15), %rax
	mov	8(%r15), %rcx
	mov	16(%r15), %rdx
	mov	24(%r15), %rbx
	mov	40(%r15), %rbp
	mov	48(%r15), %rsi
	mov	56(%r15), %rdi
	mov	64(%r15), %r8
	mov	72(%r15), %r9
	mov	80(%r15), %r10
	mov	88(%r15), %r11
	mov	96(%r15), %r12
	mov	104(%r15), %r13
	mov	112(%r15), %r14
	mov	120(%r15), %r15
	call	regs_target
	emms
	fninit
	fldcw	4(%rsp)
	ldmxcsr	(%rsp)
	cmpl	$0, regs_level(%rip)
	je	1f
	vzeroupper
1:	add	$24, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	cld
	ret
	end regs_call

	fn regs_handler
	save_regs regs_got
	mask
	xsave64	regs_got_state(%rip)
	fninit
	fldpi
	fldl2e
	movl	$0x9f80, -4(%rsp) /* another rounding, no flags */
	ldmxcsr	-4(%rsp)
	movw	$0x0e7f, -4(%rsp)
	fldcw	-4(%rsp)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	pcmpeqd	%xmm\n, %xmm\n
	.endr
	cmpl	$1, regs_level(%rip)
	jb	9f
	vzeroall
	jbe	9f
	.irp	n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vpternlogd $0xff, %zmm\n, %zmm\n, %zmm\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	kxnorw	%k\n, %k\n, %k\n
	.endr
9:	mov	$-1, %rax
	mov	$-2, %rcx
	mov	$-3, %rdx
	mov	$-4, %rsi
	mov	$-5, %rdi
	mov	$-6, %r8
	mov	$-7, %r9
	mov	$-8, %r10
	mov	$-9, %r11
	add	$0x7f, %al
	ret
	end regs_handler

	.data
	.globl	regs_seen, regs_got, regs_state, regs_got_state, regs_mask, regs_level
	.p2align 6
regs_state:
	.zero	4096
regs_got_state:
	.zero	4096
regs_seen:
	.zero	136
regs_got:
	.zero	136
regs_mask:
	.quad	0
regs_level:
	.long	0

	.section .note.GNU-stack, "", @progbits
