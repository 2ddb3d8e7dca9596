/* SPDX-License-Identifier: MIT */
/* Functions that begin with s: of one the returns can be probed, the others leave by jumps that nobody follows, or have a name that says no. */
#define FUNCTION(name, text)                                                                       \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", @function\n" name             \
		": .cfi_startproc\n" text "\n.cfi_endproc\n.size " name ", . - " name "\n");
#define SEGMENT "test %edi, %edi\n jne 1f\n jmp *%fs:(%rax)\n1: lea 1(%rdi), %rax\n ret\n"

long sound(long n), segment_1(long n), segment_2(long n), swapcontext(long n);
FUNCTION("sound", "lea 1(%rdi), %rax\n ret\n")
FUNCTION("segment_1", SEGMENT)
FUNCTION("segment_2", SEGMENT)
FUNCTION("swapcontext", "lea 1(%rdi), %rax\n ret\n")

int main(void)
{
	long n = 1;

	for (int i = 0; i < 10; i++)
		n = swapcontext(segment_2(segment_1(sound(n))));
	return (int)n;
}
