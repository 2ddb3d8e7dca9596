/* SPDX-License-Identifier: MIT */
/* long odd(long a): a + 0x11223344; two instructions of five bytes over the ends of aligned words */
	.text
	.p2align 6
	.globl	odd
	.type	odd, @function
odd:
	.cfi_startproc
	nopl	0(%rax)
	nop
	.globl	odd_mid
odd_mid:				/* at 5: two bytes and three */
	mov	$0x11223344, %eax
	add	%rdi, %rax
	.globl	odd_word
odd_word:				/* at 13 */
	test	$0x1ffff, %edi
	ret
	.cfi_endproc
	.size	odd, . - odd
	.section .note.GNU-stack, "", @progbits
