/* SPDX-License-Identifier: MIT */
/* Memory of ours in the target, by calls of the helper. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/remote.h"
#include "../trace/say.h"
#include "foothold.h"
#include "image.h"
#include "room.h"

int room_protect(struct guardian *g, uint64_t at, uint64_t size, int prot)
{
	long ret = size ? remote_call(g, g->helper, SYS_mprotect, at, size, (uint64_t)prot, 0, 0, 0)
			: 0;

	if (ret == -ESRCH)
		return guardian_fail(g, "process %d has ended", g->pid);
	if (!ret)
		return 0;
	return guardian_fail(g,
		"process %d may not have new executable memory (%s): its service's settings "
		"(MemoryDenyWriteExecute=), a security policy, or it itself (PR_SET_MDWE) forbid "
		"it: lift the rule, or start the program with -c, to be there before it does so",
		g->pid, strerror((int)-ret));
}

/* Forgotten first: a child that is born meanwhile may have something of its own there. */
void room_unmap(struct guardian *g, uint64_t *at, uint64_t size)
{
	uint64_t lo = *at;

	*at = 0;
	if (lo && g->helper)
		remote_call(g, g->helper, SYS_munmap, lo, size, 0, 0, 0, 0);
}

/* One mapping again: where we are killed before it goes, no more than that stays. */
void client_flatten(struct guardian *g, const struct client *c)
{
	if (c->module_at)
		remote_call(g, g->helper, SYS_mprotect, c->module_at, c->module_size,
			PROT_READ | PROT_WRITE, 0, 0, 0);
}

int agent_room(struct guardian *g)
{
	struct agent_layout l;
	long at;

	agent_plan(&l);
	at = remote_call(g, g->helper, SYS_mmap, 0, l.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0);
	if (at < 0 && at > -4096)
		return guardian_fail(g, "process %d has no memory for the agent: %s%s", g->pid,
			strerror((int)-at), limit_next(at));
	g->injected = true;
	g->agent_entry = 0; /* until it can be asked: before that, calls alone give all back */
	g->ctl->agent = (uint64_t)at;
	g->ctl->agent_size = l.size;
	g->stack_top = (uint64_t)at + l.size - 64;
	foothold_of_helper(g, g->helper, g->stack_top - PAGE);
	return 0;
}
