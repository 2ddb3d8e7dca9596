/* SPDX-License-Identifier: MIT */
/*
 * One function for each rung, and for each reason against a better one. Linked
 * at 1 GiB: a jump back leads to where nothing is mapped, or, with a last byte
 * from 0x80 to 0xbf, to below 0. (Ahead of it lies the heap, anywhere.)
 */
#define FN_ALIGN 5, 0xcc
#include "../fn.inc"

	.text
	fn	retargeted
	call	helper
	ret
	end	retargeted

	fn	helper
	mov	$1, %eax
	ret
	end	helper

	fn	whole
	mov	$1, %eax
	ret
	end	whole

	/* four bytes of a jump and one that is shared, 0xc3: 16 MiB of places */
	fn	punned
	lea	1(%rdi), %rax
	ret
	end	punned

	fn	window
	mov	%rdi, %rax
	or	$1, %rax
	and	$1, %rax
	ret
	end	window

	/* What a jump there shares ends with 0xb0; no window, for the branch; what follows can go. */
	.macro	pushes
	push	%rbp
1:	push	%rbx
	xor	%eax, %eax
	mov	$1, %al
	.endm

	fn	evicted
	pushes
	pop	%rbx
	pop	%rbp
	ret
	jmp	1b
	end	evicted

	/* The same, but nobody knows where it jumps to. */
	fn	jumps
	pushes
	pop	%rbx
	pop	%rbp
	lea	helper(%rip), %rax
	jmp	*%rax
	end	jumps

	/* What follows cannot run anywhere else. */
	fn	trapped
	push	%rbp
	ud2
	ud1	%eax, %eax
	ret
	end	trapped

	/* Right behind its last byte begins another one. */
	fn	last
	xor	%eax, %eax
	.globl	last_ret
	.type	last_ret, @function
last_ret:
	ret
	.size	last_ret, 1
	end	last
	.globl	behind
	.type	behind, @function
behind:	.cfi_startproc
	ud2
	ud1	%eax, %eax
	.cfi_endproc
	.size	behind, . - behind

	/* Two probes in one another's way. */
	fn	beside
	push	%rbp
	.globl	beside_it
	.type	beside_it, @function
beside_it:
1:	push	%rbx
	mov	%rdi, %rbx
	mov	$1, %eax
	pop	%rbx
	pop	%rbp
	ret
	jmp	1b
	.size	beside_it, . - beside_it
	end	beside

	fn	main
	push	%r12
	xor	%r12d, %r12d
	.irp	f, retargeted, whole, punned, window, evicted, jumps, beside
	call	\f
	add	%eax, %r12d
	.endr
	mov	%r12d, %eax
	pop	%r12
	ret
	end	main
	.section .note.GNU-stack, "", @progbits
