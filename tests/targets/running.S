/* SPDX-License-Identifier: MIT */
/* Functions that run into the next one, as in the C library's assembler, and one that ends with a call. */
	.text
	.macro begin name
	.p2align 4
	.globl \name
	.type \name, @function
\name:	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	begin into		/* into(n) = 2 * (n + 1) */
	lea 1(%rdi), %rdi
	nopl 0(%rax,%rax,1)
	.cfi_endproc
	.size into, . - into
	.globl double
	.type double, @function
double:	.cfi_startproc
	lea (%rdi,%rdi), %rax
	ret
	end double

	begin never		/* returns for n = 0, else ends the program with n */
	test %edi, %edi
	jne 1f
	ret
1:	push %rbx
	call exit
	nop
	end never

	begin main
	push %rbx
	push %r12
	push %r13
	xor %ebx, %ebx
	xor %r12d, %r12d
2:	mov %rbx, %rdi
	call into
	add %rax, %r12
	mov %rbx, %rdi
	call double
	add %rax, %r12
	xor %edi, %edi
	call never
	inc %rbx
	cmp $100, %rbx
	jne 2b
	cmp $20000, %r12
	mov $1, %eax
	mov $7, %edi
	cmovne %eax, %edi
	call never
	end main
	.section .note.GNU-stack,"",@progbits
