/* SPDX-License-Identifier: MIT */
/* Has a function whose address is asked for before main() can run; says how often. */
#include <stdio.h>

static int asked;

static long one(void)
{
	return 1;
}

long (*choose(void))(void)
{
	asked++;
	return one;
}

long chosen(void) __attribute__((ifunc("choose")));

int main(void)
{
	printf("asked %d\n", asked);
	return chosen() == 1 ? 7 : 1;
}
