/* SPDX-License-Identifier: MIT */
/*
 * long shared(long a): a + 3. An indirect jump keeps windows away, so what is
 * shorter than a jump shares its bytes. What follows shared_1 and shared_2
 * would lead a jump into the program itself: it has to be moved away.
 */
	.text
	.p2align 6
	.globl	shared
	.type	shared, @function
shared:
	.cfi_startproc
	lea	1f(%rip), %rax
	jmp	*%rax
1:
	.globl	shared_1, shared_2, shared_3, shared_4, shared_5
shared_1:
	push	%rbx
	.cfi_adjust_cfa_offset 8
	mov	$0, %ecx
shared_2:
	xor	%eax, %eax
	mov	$0, %edx
shared_3:
	mov	%rdi, %rax
shared_4:
	lea	1(%rax), %rax
	mov	$2, %ebx
shared_5:
	add	%rbx, %rax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	shared, . - shared
	.skip	32, 0x11
/*
 * long chained(long a): a + 12. The bytes behind chained_1, and those behind
 * the instruction that would have to move, lead to where race.c leaves no
 * room: two have to move.
 */
	.p2align 6
	.globl	chained
	.type	chained, @function
chained:
	.cfi_startproc
	lea	1f(%rip), %rax
	jmp	*%rax
1:
	mov	%rdi, %rax
	lea	2f(%rip), %rcx
	mov	$0, %edx
	.globl	chained_1, chained_2, chained_3
chained_1:
	push	%rbx
	.cfi_adjust_cfa_offset 8
chained_2:
	lea	12(%rax), %rax
chained_3:
	add	(%rcx,%rdx), %eax
	or	(%rcx,%rdx), %eax
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	chained, . - chained
2:
	.long	0

/* long swallowed(long a): a + 4; its first five bytes are three instructions. */
	.p2align 6
	.globl	swallowed, swallowed_amid, swallowed_last
	.type	swallowed, @function
swallowed:
	.cfi_startproc
	mov	%rdi, %rax
swallowed_amid:
	stc
swallowed_last:
	cmc
	adc	$4, %rax
	ret
	.cfi_endproc
	.size	swallowed, . - swallowed

	.section .note.GNU-stack, "", @progbits
