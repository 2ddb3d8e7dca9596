/* SPDX-License-Identifier: MIT */
/* A program with 20,000 small functions, many_0 to many_19999, for bench/start. */
#include <stdio.h>
#include <unistd.h>

__asm__(".text\n"
	".macro one\n"
	".globl many_\\@\n"
	".type many_\\@, @function\n"
	"many_\\@: .cfi_startproc\n"
	"	lea (%rdi,%rdi,8),%rax\n"
	"	xor $6,%rsi\n"
	"	lea (%rsi,%rax,2),%rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size many_\\@, . - many_\\@\n"
	".p2align 4\n"
	".endm\n"
	".rept 20000\n"
	"one\n"
	".endr\n");
long many_1(long a, long b), many_10(long a, long b);

int main(void)
{
	volatile long sum = 0;

	puts("ready");
	fflush(stdout);
	for (;;) {
		for (int i = 0; i < 1000; i++)
			sum += many_1(i, sum) + many_10(i, sum);
		usleep(100);
	}
}
