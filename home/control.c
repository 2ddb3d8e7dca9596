/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "process.h"
#include "../engine/core/base/mem.h"
#include "../runtime/session.h"

struct tl_ctl *tl_ctl;

bool tl_home_caller(const struct tl_from *from, uint32_t n, uint64_t *pc)
{
	(void)from;
	(void)n;
	(void)pc;
	return false;
}

/* Blocks are threads'. */
uint32_t tl_home_processor(void)
{
	return 0;
}

int tl_home_indent(const struct tl_view *v, int64_t delta, int64_t now, struct tl_indent *at)
{
	(void)v;
	(void)delta;
	(void)now;
	(void)at;
	return 0;
}

bool tl_home_wild_stacks(void)
{
	return false;
}

const volatile uint32_t *tl_home_guests(void)
{
	return &tl_ctl->nvforks;
}

void tl_home_ids(struct tl_ids *who)
{
	const struct tl_ctl_vfork *f;

	for (f = tl_ctl->vforks; f < tl_ctl->vforks + TL_CTL_VFORKS; f++)
		if (TL_LOAD(&f->record) == who->tid) {
			*who = (struct tl_ids){f->tid, f->pid};
			return;
		}
}

/* They stand in the program. */
int tl_home_left(struct tl_from *at)
{
	(void)at;
	return -1;
}

bool tl_home_of_program(uint64_t pc)
{
	(void)pc;
	return true;
}

uint64_t tl_home_original(uint64_t pc)
{
	struct tl_ctl_place *spare;
	const struct tl_ctl_place *p = tl_ctl_place_find(tl_ctl, pc, &spare);

	return p && p->to ? p->to : pc;
}
