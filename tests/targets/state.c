// SPDX-License-Identifier: MIT
// Calls probed() with flags and control registers that few programs set: alignment checking, backwards string
// instructions, other rounding. They are as before behind each call; what it reads is misaligned. The status is 13.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	CARRY = 1,
	SIGN = 0x80,
	DIRECTION = 0x400,
	OVERFLOWN = 0x800,
	ALIGNMENT = 0x40000,
	IDENTIFICATION = 0x200000,
	ALL = CARRY | SIGN | DIRECTION | OVERFLOWN | ALIGNMENT | IDENTIFICATION
};

struct __attribute__((packed)) odd {
	char first;
	uint64_t number;
	char name[40];
	uint32_t half;
};

__attribute__((noinline)) long probed(long a, const struct odd *o)
{
	__asm__ volatile("" ::"r"(o) : "memory");
	return a + 1;
}

// Nothing between both changes of the flags is the compiler's.
uint64_t with_flags(uint64_t flags, long a, const struct odd *o, long *result);
__asm__(".text\n.globl with_flags\n.type with_flags, @function\n"
	"with_flags:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	mov %rcx, %rbx\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	push %rax\n"
	"	.cfi_def_cfa_offset 24\n"
	"	popfq\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call probed\n"
	"	pushfq\n"
	"	.cfi_def_cfa_offset 24\n"
	"	pop %rdx\n"
	"	.cfi_def_cfa_offset 16\n"
	"	push $0x202\n"
	"	.cfi_def_cfa_offset 24\n"
	"	popfq\n"
	"	.cfi_def_cfa_offset 16\n"
	"	mov %rax, (%rbx)\n"
	"	mov %rdx, %rax\n"
	"	pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size with_flags, . - with_flags\n");

static const uint64_t sets[] = {0, ALIGNMENT, DIRECTION, ALIGNMENT | DIRECTION, CARRY | ALIGNMENT,
	OVERFLOWN | SIGN | IDENTIFICATION, ALL};
enum { SETS = sizeof(sets) / sizeof(sets[0]) };

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10;
	const uint32_t rounding = 0x7f80; // towards zero
	const uint16_t control = 0x0e7f; // the same, of doubles
	struct odd *o = (struct odd *)((char *)malloc(sizeof(*o) + 16) + 8);
	long wrong = 0, result;
	uint16_t now;

	*o = (struct odd){.number = 1000, .name = "misaligned, and longer than a word", .half = 7};
	_mm_setcsr(rounding);
	__asm__ volatile("fldcw %0" ::"m"(control));
	for (long i = 0; i < rounds * SETS; i++) {
		uint64_t flags = 0x202 | sets[i % SETS];

		wrong += (with_flags(flags, i, o, &result) & (ALL | 0x202)) != flags;
		wrong += result != i + 1;
	}
	__asm__ volatile("fnstcw %0" : "=m"(now));
	wrong += _mm_getcsr() != rounding || now != control;
	printf("calls %ld wrong %ld\n", rounds * SETS, wrong);
	return 13;
}
