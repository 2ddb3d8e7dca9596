/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The closing figures, which lie in the program's own memory: handed over when
 * it ends, at its exit handlers and, for programs that leave without them, at
 * _exit(), where we have a probe.
 */
#include "internal.h"
#include "../../engine/os/process/own.h"

extern void _exit(int) __attribute__((weak, visibility("default")));

static struct tl_probe probe;
static bool counting;

static uint64_t word_at(uint64_t addr)
{
	return addr ? TL_RELAXED((const uint64_t *)(uintptr_t)addr) : 0;
}

static void count_kinds(struct tl_ctl_probe *p)
{
	for (unsigned why = 0; why < TL_MISSED_KINDS; why++) {
		uint64_t rest = p->at_rest ? word_at(p->at_rest + why * sizeof(uint64_t)) : 0;

		p->missed[why] = p->old_kinds[why] + word_at(p->at_kinds[why]) + rest;
		p->nmissed += rest;
	}
}

/* Nobody asks the engine now: other threads may still run. */
void tl_count_all(void)
{
	struct tl_ctl_probe *p = tl_ctl_probe(tl_session_ctl, 0);
	uint64_t i;

	for (i = 0; i < tl_session_ctl->nprobes; i++, p++) {
		if (!p->armed)
			continue;
		p->nmissed = p->old_missed + word_at(p->at_missed);
		count_kinds(p);
		p->nabandoned = p->old_abandoned + word_at(p->at_abandoned);
		p->ntails = p->old_tails + word_at(p->at_tails);
		p->nunpaired = p->old_unpaired + word_at(p->at_unpaired);
		p->ncrowded = p->old_crowded + word_at(p->at_crowded);
	}
	if (tl_objects_apart())
		tl_preload->passed_over = 1;
	TL_STORE(&tl_preload->counted, 1);
}

/* A vfork child leaves this way, too, in its parent's memory. */
bool tl_count_ours(void)
{
	return tl_preload->claimed == (uint32_t)tl_syscall3(TL_NR_getpid, 0, 0, 0);
}

static int at_exit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	if (tl_count_ours())
		tl_count_all();
	return 0;
}

/* Where it cannot stand the figures of such programs stay unknown, and the runner says so. */
void tl_count_start(void)
{
	if (counting || !_exit)
		return;
	probe = (struct tl_probe){
		.addr = (void *)(uintptr_t)_exit, .pre = at_exit, .flags = TL_PROBE_NO_TRAP};
	counting = !tl_probe_register(&probe);
}

void tl_count_stop(void)
{
	if (counting)
		tl_probe_unregister(&probe);
	counting = false;
}
