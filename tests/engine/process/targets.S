/* SPDX-License-Identifier: MIT */
/* Functions to probe, one idea each, with their instruction boundaries known. */
#define FN_ALIGN 6
#include "../../fn.inc"

	.text

/* long plain(long a, long b): a + b + 7, one instruction of five bytes */
	fn	plain
	lea	7(%rdi,%rsi), %rax
	ret
	end	plain

/* long shorts(long a): 2 a + 3; no instruction of five bytes, so several go into one jump */
	fn	shorts
	mov	%rdi, %rax
	add	%rdi, %rax
	add	$3, %rax
	ret
	end	shorts

/* long red_zone(long a): keeps a below the stack pointer while it works */
	fn	red_zone
	mov	%rdi, -8(%rsp)
	mov	%rdi, -128(%rsp)
	.globl	red_zone_mid
red_zone_mid:
	lea	1(,%rdi,2), %rax
	add	-8(%rsp), %rax
	sub	-128(%rsp), %rax
	ret
	end	red_zone

/* long flags(long a, long b): a < b (unsigned); the probed instruction lies between test and use */
	fn	flags
	cmp	%rsi, %rdi
	.globl	flags_mid
flags_mid:
	mov	$0, %eax
	setb	%al
	ret
	end	flags

/* long keeper(long a): uses a call-preserved register across the probed instruction */
	fn	keeper
	push	%rbx
	.cfi_adjust_cfa_offset 8
	lea	1(%rdi), %rbx
	.globl	keeper_mid
keeper_mid:
	mov	$100, %eax
	add	%rbx, %rax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	end	keeper

/* long caller(long a): a + 8 by way of plain */
	fn	caller
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	$1, %esi
	.globl	caller_call
caller_call:
	call	plain
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	end	caller

/* long loop(long n): n times through a backward branch */
	fn	loop
	xor	%eax, %eax
	.globl	loop_top
loop_top:
	add	$1, %rax
	cmp	%rdi, %rax
	jb	loop_top
	ret
	end	loop

/* long fact(long n), recursive */
	fn	fact
	cmp	$1, %rdi
	jg	1f
	mov	$1, %eax
	ret
1:	push	%rdi
	.cfi_adjust_cfa_offset 8
	lea	-1(%rdi), %rdi
	call	fact
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	imul	%rdi, %rax
	ret
	end	fact

/* long thrower(void (*f)(void)): calls f, which may not come back; then 5 */
	fn	thrower
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	*%rdi
	mov	$5, %eax
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	end	thrower

/*
 * char *park_K(-, const char *from, -, size_t n): K one-byte instructions, then one
 * that reads n bytes and takes its time: a thread stands at its start all the
 * while. Returns one more than the end of what was read.
 */
	.macro	park k
	fn	park_\k
	.rept	\k
	cld
	.endr
	rep lodsb
	mov	%rsi, %rax
	add	$1, %rax
	ret
	end	park_\k
	.endm
	park	1
	park	2
	park	3
	park	4

/* many_begin[i * 32]: 20,000 functions; each adds 1 to its argument */
	.p2align 12
	.globl	many_begin
many_begin:
	.rept	20000
	.p2align 5
	.cfi_startproc
	lea	1(%rdi), %rax
	nop
	ret
	.cfi_endproc
	.endr
	.p2align 5
	.globl	many_end
many_end:

	.section .note.GNU-stack, "", @progbits
