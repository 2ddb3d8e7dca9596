// SPDX-License-Identifier: MIT
// Calls leaf() on stacks that have no more than so many bytes left as it is entered, above a page that nobody may touch.
// Prints the sum of its results; the status is 22.
//	room BYTES
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, CALLS = 50 };

long on_stack(long a, char *at_entry);
__asm__(".text\n"
	"	.globl leaf\n"
	"	.type leaf, @function\n"
	"leaf:	.cfi_startproc\n"
	"	nopw 0(%rax,%rax)\n"
	"	lea 1(%rdi), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size leaf, . - leaf\n"
	"	.type on_stack, @function\n"
	"on_stack:\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	lea 8(%rsi), %rsp\n"
	"	call leaf\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	"	.size on_stack, . - on_stack\n");

int main(int argc, char **argv)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long sum = 0;

	if (argc < 2 || at == MAP_FAILED || mprotect(at, PAGE, PROT_NONE))
		return 1;
	for (long i = 0; i < CALLS; i++)
		sum += on_stack(i, at + PAGE + atol(argv[1]));
	printf("%ld\n", sum);
	return 22;
}
