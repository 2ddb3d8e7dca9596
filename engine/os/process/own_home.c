/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What an own process says of itself that is nobody's but the program's. */
#include "own.h"

/* It ends with the process: nobody cleans up behind it. */
int tl_home_area_add(uintptr_t lo, size_t size)
{
	return (void)lo, (void)size, 0;
}

void tl_home_area_drop(uintptr_t lo)
{
	(void)lo;
}

bool tl_home_map(uintptr_t addr, struct tl_mapping *map)
{
	return tl_own_map(addr, map);
}

int tl_home_threads(int (*fn)(void *arg, uint32_t tid), void *arg)
{
	return tl_own_threads(fn, arg);
}

bool tl_home_asleep(uint32_t tid, struct tl_own_sleep *s)
{
	return tl_own_asleep(tid, s);
}

bool tl_home_alone(void)
{
	return false;
}
