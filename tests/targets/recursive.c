/* SPDX-License-Identifier: MIT */
/* Calls down() from within itself, as often as its argument says, and tells the sum. Ends with 7. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, noclone)) long down(long n)
{
	long below = n > 1 ? down(n - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + n;
}

int main(int argc, char **argv)
{
	printf("sum %ld\n", down(argc > 1 ? atol(argv[1]) : 1));
	return 7;
}
