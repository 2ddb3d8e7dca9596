/* SPDX-License-Identifier: MIT */
/* Calls look() with addresses of data: its own in every kind of section, its C library's, and of what has no name. */
#include <stdio.h>
#include <stdlib.h>

int counter = 5;
const char table[3][8] = {"a", "b", "c"};
int zeroed[100];
static int hidden[4] = {1};
__thread int own;

__attribute__((noinline)) void look(const volatile void *p, int which)
{
	__asm__ volatile("" ::"r"(p), "r"(which) : "memory");
}

int main(void)
{
	void *heap = malloc(8);

	hidden[1]++;
	look(&counter, 0);
	look(&hidden[2], 1);
	look(&table[1][2], 2);
	look((char *)&zeroed[99] + 3, 3);
	look(stdout, 4);
	look((const void *)look, 5);
	look("literal", 6);
	look(heap, 7);
	look(&own, 8);
	look(&heap, 9);
	free(heap);
	return 0;
}
