/* SPDX-License-Identifier: MIT */
/* Copies a function that V8 would call a builtin, and calls the copy; says what came out. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { SIZE = 4096 };

const unsigned char v8_Default_embedded_blob_code_[1] = {0};

int Builtins_Triple(int x);
__asm__(".text; .globl Builtins_Triple; .type Builtins_Triple, @function\n"
	"Builtins_Triple: push %rbx; mov %edi, %ebx; lea (%rbx,%rbx,2), %eax; pop %rbx; ret\n"
	".size Builtins_Triple, . - Builtins_Triple");

int ordinary(int x);
__attribute__((noinline)) int ordinary(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

int main(void)
{
	int (*copy)(int) = mmap(
		NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if ((void *)copy == MAP_FAILED)
		return 1;
	memcpy((void *)copy, (const void *)Builtins_Triple, 32);
	printf("%d %d\n", copy(7), ordinary(1) + v8_Default_embedded_blob_code_[0]);
	return 0;
}
