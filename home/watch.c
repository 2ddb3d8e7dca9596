/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places where the guardian itself wants to be told: always traps, which hold
 * the thread until it has looked.
 */
#include "process.h"
#include "../runtime/machine/machine.h"

enum { LOADER, CALLS, PLACES = CALLS + TL_CTL_WATCHED };

static struct tl_probe probes[PLACES];
static bool on[PLACES];

static int no_handler(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	return 0;
}

static void want(int i, uint64_t addr)
{
	probes[i] = (struct tl_probe){
		.addr = (void *)(uintptr_t)addr, .pre = no_handler, .flags = TL_PROBE_NO_JUMP};
}

/* size: of the instruction. musl has no unwind tables; who gave us the place knows that code begins there. */
static int again(struct tl_probe *p, uint32_t size)
{
	p->func_start = (uintptr_t)p->addr;
	p->func_size = size;
	return tl_probe_register(p);
}

static void watch_loader(uint64_t addr)
{
	int ret;

	want(LOADER, addr);
	ret = tl_probe_register(&probes[LOADER]);
	on[LOADER] = !ret || (ret == -TL_E_NOT_PROVEN && !again(&probes[LOADER], 1));
}

static void watch_calls(uint64_t *at)
{
	struct tl_probe *list[TL_CTL_WATCHED];
	int ret[TL_CTL_WATCHED];
	size_t n = 0, i;

	for (i = 0; i < TL_CTL_WATCHED; i++) {
		if (at[i] && !on[CALLS + i]) {
			want(CALLS + (int)i, at[i]);
			list[n++] = &probes[CALLS + i];
		}
	}
	tl_probes_register_each(list, n, ret);
	for (i = 0; i < n; i++) {
		long which = list[i] - probes;

		on[which] =
			!ret[i] || (ret[i] == -TL_E_NOT_PROVEN && !again(list[i], TL_SYSCALL_SIZE));
		if (!on[which])
			at[which - CALLS] = 0;
	}
}

void tl_ctl_watch(struct tl_ctl *c)
{
	if (c->dl_state && !on[LOADER])
		watch_loader(c->dl_state);
	watch_calls(c->watched_at);
}

void tl_ctl_unwatch(void)
{
	int i;

	for (i = 0; i < PLACES; i++) {
		if (on[i])
			tl_probe_unregister(&probes[i]);
		on[i] = false;
	}
}
