/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Calling a handler with the probed function's arguments.
 *
 * Vector registers still hold them: nothing between the program and here has
 * been built with any. What the handler may do to them, and to the x87 unit,
 * XSAVE puts by in the processor's own form; without it, FXSAVE.
 */
#include "x86.h"

/* What ordinary code can use. Not PKRU, which is nobody's to restore, nor tiles: they are no arguments, and large. */
#define COMPONENTS (0x3ull | 0x4ull | 0xe0ull | 1ull << 19) /* x87 SSE, AVX, AVX-512, APX */

enum {
	FXSAVE_SIZE = 512,
	HEADER_END = 576,
	OSXSAVE = 1 << 27, /* cpuid 1, ecx */
	LEAF_XSAVE = 0xd,
};

/* Both once. `size` is the room to save them in; `mask` 0: by FXSAVE. */
static struct {
	uint64_t mask;
	uint32_t size;
} saved = {.size = FXSAVE_SIZE};

/*
 * void tl_x86_call_args(fn, regs, stack, size, mask): size 0 saves nothing.
 * r12 regs, r13 fn, r14 the saved state or 0, rbx mask.
 */
void tl_x86_call_args(
	void (*fn)(void), const struct tl_regs *regs, size_t stack, size_t size, uint64_t mask);

#define STR2(x) #x
#define STR(x)	STR2(x)
/* Offsets in struct tl_regs. */
#define AT_R10	       56
#define AT_R9	       64
#define AT_R8	       72
#define AT_AX	       80
#define AT_CX	       88
#define AT_DX	       96
#define AT_SI	       104
#define AT_DI	       112
#define AT_SP	       136
#define LOAD(off, reg) "	mov	" STR(off) "(%r12), %" reg "\n"
#define CHECK_AT(off, field)                                                                       \
	_Static_assert(offsetof(struct tl_regs, field) == off, "as the assembler has it")
CHECK_AT(AT_R10, r10);
CHECK_AT(AT_R9, r9);
CHECK_AT(AT_R8, r8);
CHECK_AT(AT_AX, ax);
CHECK_AT(AT_CX, cx);
CHECK_AT(AT_DX, dx);
CHECK_AT(AT_SI, si);
CHECK_AT(AT_DI, di);
CHECK_AT(AT_SP, sp);

/* clang-format off */
#ifdef __KERNEL__ /* as its own checks of the text want them; calls out of detours are as bare as this one */
#include <asm/linkage.h>
#include <asm/nospec-branch.h>
#define CALL_HANDLER ANNOTATE_RETPOLINE_SAFE "	call	*%r13\n"
#define RETURN	     "	" ASM_RET
#else
#define CALL_HANDLER "	call	*%r13\n"
#define RETURN	     "	ret\n"
#endif
__asm__(".pushsection .text\n"
	"	.hidden	tl_x86_call_args\n"
	"	.globl	tl_x86_call_args\n"
	"	.type	tl_x86_call_args, @function\n"
	"tl_x86_call_args:\n"
	"	.cfi_startproc\n"
	"	push	%rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov	%rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	push	%rbx\n"
	"	push	%r12\n"
	"	push	%r13\n"
	"	push	%r14\n"
	"	.cfi_offset %rbx, -24\n"
	"	.cfi_offset %r12, -32\n"
	"	.cfi_offset %r13, -40\n"
	"	.cfi_offset %r14, -48\n"
	"	mov	%rsi, %r12\n"
	"	mov	%rdi, %r13\n"
	"	mov	%r8, %rbx\n"
	"	xor	%r14d, %r14d\n"
	"	test	%rcx, %rcx\n"
	"	jz	2f\n"
	"	sub	%rcx, %rsp\n"
	"	and	$-64, %rsp\n"
	"	mov	%rsp, %r14\n"
	"	test	%rbx, %rbx\n"
	"	jz	1f\n"
	"	mov	%rdx, %rsi\n" /* the header must be clear, and XSAVE does not clear it */
	"	lea	512(%r14), %rdi\n"
	"	xor	%eax, %eax\n"
	"	mov	$8, %ecx\n"
	"	rep stosq\n"
	"	mov	%ebx, %eax\n"
	"	mov	%rbx, %rdx\n"
	"	shr	$32, %rdx\n"
	"	xsave64	(%r14)\n"
	"	mov	%rsi, %rdx\n"
	"	jmp	2f\n"
	"1:	fxsave64 (%r14)\n"
	"2:	lea	63(%rdx), %rax\n"
	"	and	$-64, %rax\n"
	"	sub	%rax, %rsp\n"
	"	and	$-64, %rsp\n" /* vectors on the stack are aligned */
	"	mov	%rdx, %rcx\n"
	"	shr	$3, %rcx\n"
	"	jz	3f\n"
	"	mov	" STR(AT_SP) "(%r12), %rsi\n"
	"	add	$8, %rsi\n" /* behind the return address */
	"	mov	%rsp, %rdi\n"
	"	rep movsq\n"
	"3:\n"
	LOAD(AT_R10, "r10") LOAD(AT_R9, "r9") LOAD(AT_R8, "r8") LOAD(AT_AX, "rax")
	LOAD(AT_CX, "rcx") LOAD(AT_DX, "rdx") LOAD(AT_SI, "rsi") LOAD(AT_DI, "rdi")
	CALL_HANDLER
	"	test	%r14, %r14\n"
	"	jz	5f\n"
	"	test	%rbx, %rbx\n"
	"	jz	4f\n"
	"	mov	%ebx, %eax\n"
	"	mov	%rbx, %rdx\n"
	"	shr	$32, %rdx\n"
	"	xrstor64 (%r14)\n"
	"	jmp	5f\n"
	"4:	fxrstor64 (%r14)\n"
	"5:	lea	-32(%rbp), %rsp\n"
	"	pop	%r14\n"
	"	pop	%r13\n"
	"	pop	%r12\n"
	"	pop	%rbx\n"
	"	pop	%rbp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	RETURN
	"	.cfi_endproc\n"
	"	.size	tl_x86_call_args, . - tl_x86_call_args\n"
	"	.popsection\n");
/* clang-format on */

static void cpuid(uint32_t leaf, uint32_t sub, uint32_t out[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3])
			 : "a"(leaf), "c"(sub));
}

static uint64_t enabled(void)
{
	uint32_t r[4], lo, hi;

	cpuid(0, 0, r);
	if (r[0] < LEAF_XSAVE)
		return 0;
	cpuid(1, 0, r);
	if (!(r[2] & OSXSAVE))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	return (lo | (uint64_t)hi << 32) & COMPONENTS;
}

void tl_arch_call_args_init(void)
{
	uint64_t mask = enabled();
	uint32_t size = mask ? HEADER_END : FXSAVE_SIZE, r[4];

	for (unsigned i = 2; i < 64; i++) {
		if (!(mask >> i & 1))
			continue;
		cpuid(LEAF_XSAVE, i, r);
		if (r[0] + r[1] > size) /* size, offset */
			size = r[0] + r[1];
	}
	saved.size = size;
	saved.mask = mask;
}

void tl_arch_call_args(void (*fn)(void), const struct tl_regs *regs, size_t stack, bool vectors)
{
	tl_x86_call_args(fn, regs, (stack + 7) & ~(size_t)7, vectors ? saved.size : 0, saved.mask);
}
