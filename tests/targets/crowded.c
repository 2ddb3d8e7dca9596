/* SPDX-License-Identifier: MIT */
/* 140 functions go on as hub(), which calls the next: all wait at once. And one is entered by a jump into its middle. */
#include <stdio.h>

enum { DEEP = 140 };

typedef long fn(long n);
fn amid, into, hub;
extern fn *const deep[DEEP];

__asm__(".text\n.altmacro\n"
	".macro deeper n\n.p2align 4\n.type deep_\\n, @function\n"
	"deep_\\n: .cfi_startproc\n jmp hub\n.cfi_endproc\n.size deep_\\n, . - deep_\\n\n"
	".section .data.rel.ro\n.quad deep_\\n\n.text\n.endm\n"
	".section .data.rel.ro\n.globl deep\ndeep:\n.text\n"
	".set i, 0\n.rept 140\ndeeper %i\n.set i, i + 1\n.endr\n"
	".globl amid, into\n.type amid, @function\n.type into, @function\n"
	"amid: .cfi_startproc\n lea 1(%rdi), %rdi\n"
	"amid_1: lea 1(%rdi), %rax\n ret\n.cfi_endproc\n.size amid, . - amid\n"
	"into: .cfi_startproc\n jmp amid_1\n.cfi_endproc\n.size into, . - into\n");

__attribute__((noinline, noclone)) long hub(long n)
{
	volatile long r = n;

	if (n < DEEP)
		r = deep[n](n + 1);
	return r;
}

int main(void)
{
	long sum = 0;

	for (int i = 0; i < 10; i++)
		sum += amid(i) + into(i);
	printf("%ld %ld\n", hub(0), sum);
	return 7;
}
