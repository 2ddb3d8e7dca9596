/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "hook.h"

#include "../../core/base/mem.h"
#include "../../core/detour/site.h"
#include "../../core/detour/thread.h"
#include "contexts.h"

struct tl_hook {
	struct tl_site site; /* of no place: it counts what is missed */
	struct tl_probe probe;
};

size_t tl_hook_size(void)
{
	return sizeof(struct tl_hook);
}

void tl_hook_init(struct tl_hook *h, void *data)
{
	tl_fill(h, 0, sizeof(*h));
	h->probe.data = data;
	h->probe.state = TL_PROBE_ARMED;
	h->site.probes = &h->probe;
}

struct tl_thread *tl_hook_enter(struct tl_hook *h)
{
	return tl_context_enter(&h->site);
}

void tl_hook_leave(struct tl_thread *self)
{
	tl_context_leave(self);
}

struct tl_probe *tl_hook_probe(struct tl_hook *h)
{
	return &h->probe;
}

void tl_hook_missed(const struct tl_hook *h, uint64_t missed[TL_MISSED_KINDS], uint64_t *inside)
{
	for (unsigned why = 0; why < TL_MISSED_KINDS; why++)
		missed[why] = h->site.missed[why];
	*inside = h->probe.nmissed;
}
