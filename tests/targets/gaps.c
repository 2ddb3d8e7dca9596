// SPDX-License-Identifier: MIT
// System calls in assembler that the unwind table covers in part, as the C library's clone3, or not at all. Prints how
// often each was made; the status is 21.
#include <stdio.h>
#include <stdlib.h>

long falls_out(void), jumps_out(long how), by_call(void);
extern long (*const alone)(void);

__asm__(".text\n"
	"	.p2align 4\n"
	"	.type falls_out, @function\n"
	"falls_out:\n"
	"	.cfi_startproc\n"
	"	mov $110, %eax\n" // getppid
	"	.cfi_endproc\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	js 1f\n"
	"	ret\n"
	"1:	neg %rax\n"
	"	ret\n"
	"	.size falls_out, . - falls_out\n"

	"	.p2align 4\n"
	"	.type jumps_out, @function\n"
	"jumps_out:\n"
	"	.cfi_startproc\n"
	"	test %rdi, %rdi\n"
	"	jnz 1f\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"1:	mov $24, %eax\n" // sched_yield
	"	syscall\n"
	"	dec %rdi\n"
	"	jnz 1b\n"
	"	ret\n"
	"	.size jumps_out, . - jumps_out\n"

	"	.p2align 4\n"
	"	.type by_call, @function\n"
	"by_call:\n"
	"	mov $39, %eax\n" // getpid
	"	syscall\n"
	"	jmp 2f\n"
	"	.quad 0x050f050f050f050f\n" // data that reads as calls
	"2:	ret\n"
	"	.size by_call, . - by_call\n"

	"	.p2align 4\n"
	"	.type by_pointer, @function\n"
	"by_pointer:\n"
	"	mov $186, %eax\n" // gettid
	"	syscall\n"
	"	ret\n"
	"	.size by_pointer, . - by_pointer\n"
	"	.section .data.rel.ro, \"aw\"\n"
	"	.p2align 3\n"
	"alone:	.quad by_pointer\n"
	"	.text\n");

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 10;
	long bad = 0;

	for (long i = 0; i < rounds; i++)
		bad += falls_out() <= 0 || jumps_out(2) || jumps_out(0) || by_call() <= 0 ||
		       alone() <= 0;
	printf("getppid %ld sched_yield %ld getpid %ld gettid %ld bad %ld\n", rounds, 2 * rounds,
		rounds, rounds, bad);
	return 21;
}
