/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "listen.h"
#include "home.h"

static uint16_t *semaphore_at(uint64_t addr)
{
	if (!addr || addr % sizeof(uint16_t) || !tl_home_writable(addr))
		return 0;
	return (uint16_t *)(uintptr_t)addr;
}

/* Noted first: who cleans up a copy of the program that was made in between takes nothing off a 0. */
void tl_listen(struct tl_ctl_probe *p)
{
	uint16_t *s = p->listening ? 0 : semaphore_at(p->semaphore);

	if (!s)
		return;
	__atomic_store_n(&p->listening, p->semaphore, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(s, 1, __ATOMIC_SEQ_CST);
}

void tl_unlisten(struct tl_ctl_probe *p, int gone)
{
	uint16_t *s = gone ? 0 : semaphore_at(p->listening);

	if (s && __atomic_load_n(s, __ATOMIC_SEQ_CST))
		__atomic_fetch_sub(s, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->listening, 0, __ATOMIC_SEQ_CST);
}
