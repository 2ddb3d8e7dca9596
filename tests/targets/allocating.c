// SPDX-License-Identifier: MIT
// A library that allocates memory, for copies.c.
#include <stdlib.h>

long plugged(long a);

long plugged(long a)
{
	void *volatile p = malloc(54321);

	free(p);
	return a;
}
