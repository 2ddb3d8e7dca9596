/* SPDX-License-Identifier: MIT */
/* Code of the program's, by its bytes; and a piece of ours. */
#define _GNU_SOURCE
#include <string.h>

#include "x86_64.h"

enum { NEAR = 24 };

const uint8_t *code_find_call(const uint8_t *p, const uint8_t *end, long nr)
{
	const uint8_t load[] = {0xb8, (uint8_t)nr, (uint8_t)(nr >> 8), 0, 0}; /* mov $nr, %eax */
	const uint8_t *at;

	while (p < end && (p = memmem(p, (size_t)(end - p), load, sizeof(load)))) {
		p += sizeof(load);
		at = memmem(p, end - p < NEAR ? (size_t)(end - p) : NEAR, machine.syscall.bytes,
			machine.syscall.size);
		if (at)
			return at;
	}
	return NULL;
}

const uint8_t *code_find_bare_clone(const uint8_t *p, const uint8_t *end)
{
	static const uint8_t call[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x75}; /* syscall; test; jne */
	static const uint8_t child[] = {0x48, 0x31, 0xed, 0x58, 0x5f, 0xff, 0xd0};
	const size_t size = sizeof(call) + 1 + sizeof(child);

	while ((size_t)(end - p) >= size &&
		(p = memmem(p, (size_t)(end - p), call, sizeof(call)))) {
		if ((size_t)(end - p) >= size &&
			!memcmp(p + sizeof(call) + 1, child, sizeof(child)))
			return p;
		p++;
	}
	return NULL;
}

/* What it goes on by, where nobody has come: its signals, then its registers; none but rcx and r11 is known to the call. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl machine_parking\n"
	"machine_parking:\n"
	"	syscall\n"
	"	mov $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8) */
	"	mov $2, %edi\n"
	"	lea machine_parking + 256 + 512(%rip), %rsi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	syscall\n"
	"	lea -128(%rsp), %rsp\n"
	"	push machine_parking + 256 + 144(%rip)\n"
	"	popf\n"
	"	lea 128(%rsp), %rsp\n"
	"	mov machine_parking + 256 + 48(%rip), %r11\n"
	"	mov machine_parking + 256 + 56(%rip), %r10\n"
	"	mov machine_parking + 256 + 80(%rip), %rax\n"
	"	mov machine_parking + 256 + 88(%rip), %rcx\n"
	"	mov machine_parking + 256 + 96(%rip), %rdx\n"
	"	mov machine_parking + 256 + 104(%rip), %rsi\n"
	"	mov machine_parking + 256 + 112(%rip), %rdi\n"
	"	jmp *machine_parking + 256 + 128(%rip)\n"
	"	.org machine_parking + 256\n"
	".popsection\n");

_Static_assert(PARKING_CODE == 256 && offsetof(struct parking_state, mask) == 512 &&
		       offsetof(struct user_regs_struct, eflags) == 144 &&
		       offsetof(struct user_regs_struct, rip) == 128 &&
		       offsetof(struct user_regs_struct, rdi) == 112 &&
		       offsetof(struct user_regs_struct, r11) == 48,
	"the code above reads them");
