/* SPDX-License-Identifier: MIT */
/* Functions to be probed: what each rung needs, byte by byte. Each returns its argument plus something. */
#include <linux/linkage.h>
#include <asm/asm.h>

/* Code begins at a multiple of 16, behind ENDBR or not. */
#ifdef CONFIG_X86_KERNEL_IBT
#define FUNC_START(name) SYM_START(name, SYM_L_GLOBAL, .balign 16; .nops 12) ENDBR
#else
#define FUNC_START(name) SYM_START(name, SYM_L_GLOBAL, .balign 16)
#endif

/* Five bytes in one aligned word: one store. */
FUNC_START(vm_whole)
	mov	$0x100, %eax
	add	%edi, %eax
	RET
SYM_FUNC_END(vm_whole)

/* A long instruction over two words, at vm_across + 4. */
FUNC_START(vm_across)
	lea	1(%rdi), %rax
	add	$0x12345, %rax
	RET
SYM_FUNC_END(vm_across)

/* Four bytes: a jump does not fit. */
FUNC_START(vm_short)
	lea	2(%rdi), %rax
	RET
SYM_FUNC_END(vm_short)

/* The same, and control comes back right behind it. */
FUNC_START(vm_barred)
	lea	2(%rdi), %rax
1:	cmp	%eax, %eax
	jne	1b
	RET
SYM_FUNC_END(vm_barred)

/* The second instruction may fault, and is left out then. */
FUNC_START(vm_faults)
	lea	4(%rdi), %rax
1:	mov	(%rsi), %rax
2:	RET
	_ASM_EXTABLE(1b, 2b)
SYM_FUNC_END(vm_faults)

FUNC_START(vm_call)
	call	vm_short
	add	$0x20, %eax
	RET
SYM_FUNC_END(vm_call)

/* The landing place of indirect branches, whether or not this kernel has them checked. */
SYM_START(vm_endbr, SYM_L_GLOBAL, .balign 16)
	.byte	0xf3, 0x0f, 0x1e, 0xfa
	mov	$0x300, %eax
	add	%edi, %eax
	RET
SYM_FUNC_END(vm_endbr)

/* A breakpoint of somebody else's. */
FUNC_START(vm_int3)
	int3
	RET
SYM_FUNC_END(vm_int3)
