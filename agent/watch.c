/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places where the guardian itself wants to be told: always traps, which hold
 * the thread until it has looked.
 */
#include "agent.h"

enum { LOADER, CALLS, PLACES = CALLS + TL_CTL_WATCHED };

static struct tl_probe probes[PLACES];
static bool on[PLACES];

static int no_handler(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	return 0;
}

/* size: of the instruction. musl has no unwind tables; who gave us the place knows that code begins there. */
static void watch(int i, uint64_t addr, uint32_t size)
{
	int ret;

	if (!addr || on[i])
		return;
	probes[i] = (struct tl_probe){
		.addr = (void *)(uintptr_t)addr, .pre = no_handler, .flags = TL_PROBE_NO_JUMP};
	ret = tl_probe_register(&probes[i]);
	if (ret == -TL_E_NOT_PROVEN) {
		probes[i].func_start = addr;
		probes[i].func_size = size;
		ret = tl_probe_register(&probes[i]);
	}
	on[i] = !ret;
}

void tl_agent_watch(struct tl_ctl *c)
{
	int i;

	watch(LOADER, c->dl_state, 1);
	for (i = 0; i < TL_CTL_WATCHED; i++) {
		watch(CALLS + i, c->watched_at[i], 2);
		if (!on[CALLS + i])
			c->watched_at[i] = 0;
	}
}

void tl_agent_unwatch(void)
{
	int i;

	for (i = 0; i < PLACES; i++) {
		if (on[i])
			tl_probe_unregister(&probes[i]);
		on[i] = false;
	}
}
