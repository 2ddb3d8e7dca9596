// SPDX-License-Identifier: MIT
// A library with data of its own and a mark, whose semaphore lies where SEMAPHORE says. It calls itself once while it is loaded.
#include <stdint.h>

#include "mark.h"

#ifndef SEMAPHORE
#define SEMAPHORE __attribute__((section(".probes")))
#endif

long plugged(long a);
long listeners(void);

#ifdef ROOM
char room[ROOM]; /* the library takes much more memory than its file has */
#endif
unsigned short plugged_semaphore SEMAPHORE;
static long state;

__attribute__((noinline)) long plugged(long a)
{
	state += a;
	if (__builtin_expect(*(volatile unsigned short *)&plugged_semaphore, 0))
		MARK_("plugged", "plugged_semaphore", "-8@%0", "r"(a));
	return state;
}

long listeners(void)
{
	return *(volatile unsigned short *)&plugged_semaphore;
}

__attribute__((constructor)) static void begin(void)
{
	plugged(0);
}
