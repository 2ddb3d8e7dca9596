/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "listen.h"
#include "home.h"
#include "../engine/core/places.h"

static uint16_t *semaphore_at(uint64_t addr)
{
	if (!addr || addr % sizeof(uint16_t) || !tl_home_writable(addr))
		return 0;
	return (uint16_t *)(uintptr_t)addr;
}

/* Noted first: who cleans up a copy of the program that was made in between takes nothing off a 0. */
static void count_in(struct tl_ctl_probe *p, uint16_t *s)
{
	__atomic_store_n(&p->listening, p->semaphore, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(s, 1, __ATOMIC_SEQ_CST);
}

static void count_out(struct tl_ctl_probe *p, uint16_t *s)
{
	if (s && __atomic_load_n(s, __ATOMIC_SEQ_CST))
		__atomic_fetch_sub(s, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->listening, 0, __ATOMIC_SEQ_CST);
}

int tl_listen(struct tl_ctl_probe *p)
{
	uint16_t *s = p->listening ? 0 : semaphore_at(p->semaphore);
	int ret;

	if (!s)
		return 0;
	count_in(p, s);
	ret = tl_places_on((uintptr_t)p->semaphore, 0);
	if (ret)
		count_out(p, s);
	return ret;
}

void tl_unlisten(struct tl_ctl_probe *p, int gone)
{
	uint16_t *s = gone ? 0 : semaphore_at(p->listening);

	if (p->listening)
		tl_places_off((uintptr_t)p->listening);
	count_out(p, s);
}
