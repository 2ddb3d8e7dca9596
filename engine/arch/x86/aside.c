/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The slow path of a detour whose point may have little stack left: a thread
 * that has no private stack yet goes there on a spare one. Of its own stack it
 * takes a return address.
 */
#include "x86.h"
#include "../../core/internal.h"

#ifndef __KERNEL__ /* where stacks are large enough */
#define TEXT_OF(n) #n
#define TEXT(n)	   TEXT_OF(n)

/* Offsets in struct tl_stack_pool and struct tl_site. */
#define AT_BASE	  0
#define AT_STRIDE 8
#define AT_TAKEN  16
#define AT_MISSED 208
#define LAST	  255
#define SIZE	  65536

_Static_assert(offsetof(struct tl_stack_pool, base) == AT_BASE, "as the assembler has it");
_Static_assert(offsetof(struct tl_stack_pool, stride) == AT_STRIDE, "as the assembler has it");
_Static_assert(offsetof(struct tl_stack_pool, taken) == AT_TAKEN, "as the assembler has it");
_Static_assert(offsetof(struct tl_site, nmissed) == AT_MISSED, "as the assembler has it");
_Static_assert(TL_STACKS == LAST + 1 && TL_BIG_STACK == SIZE, "as the assembler has it");

/*
 * enter_slow in r9 with its arguments, the pool in r8: may be NULL. rbx and rbp are in the frame. The stack is given
 * back when nobody stands on it any more: a spare one is in stock, and who finds none has missed the hit. Who looks
 * whether the detour is quiet sees one stack only: its address lies on the spare one, before that is the thread's.
 */
/* clang-format off */
__asm__(".pushsection .text\n"
	"	.hidden	x86_enter_aside\n"
	"	.globl	x86_enter_aside\n"
	"	.type	x86_enter_aside, @function\n"
	"x86_enter_aside:\n"
	"	test	%r8, %r8\n"
	"	je	2f\n"
	"	mov	$" TEXT(LAST) ", %ecx\n"
	"1:	lock btsl %ecx, " TEXT(AT_TAKEN) "(%r8)\n"
	"	jnc	3f\n"
	"	dec	%ecx\n"
	"	jns	1b\n"
	"2:	lock incq " TEXT(AT_MISSED) "(%rdi)\n"
	"	xor	%eax, %eax\n"
	"	ret\n"
	"3:	mov	%rsp, %rbx\n"
	"	mov	%ecx, %eax\n"
	"	imul	" TEXT(AT_STRIDE) "(%r8), %rax\n"
	"	add	" TEXT(AT_BASE) "(%r8), %rax\n"
	"	lea	" TEXT(SIZE) " - 16(%rax), %rax\n"
	"	mov	(%rsp), %r10\n"
	"	mov	%r10, (%rax)\n"
	"	mov	%rax, %rsp\n"
	"	push	%r8\n"
	"	push	%rcx\n"
	"	call	*%r9\n"
	"	pop	%rcx\n"
	"	pop	%r8\n"
	"	mov	%rbx, %rsp\n"
	"	lock btrl %ecx, " TEXT(AT_TAKEN) "(%r8)\n"
	"	ret\n"
	"	.size	x86_enter_aside, . - x86_enter_aside\n"
	".popsection\n");
/* clang-format on */
#else
void x86_enter_aside(void)
{
}
#endif
