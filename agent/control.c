/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The agent's commands. It runs only while the guardian has its helper thread in hand. */
#include "../engine/os/process/process.h"
#include "../engine/core/base/broken.h"
#include "agent.h"

/* The guardian was killed. Everything stays as it is, but for text that is just being written. */
static int64_t unheard(enum tl_service what)
{
	if (what != TL_SVC_STOP && what != TL_SVC_RESUME && what != TL_SVC_COPY)
		tl_syscall3(TL_NR_exit, 0, 0, 0);
	return -1;
}

int64_t tl_agent_ask(enum tl_service what, uint64_t a, uint64_t b)
{
	tl_ctl->svc_arg[0] = a;
	tl_ctl->svc_arg[1] = b;
	__atomic_store_n(&tl_ctl->svc, what, __ATOMIC_SEQ_CST);
	tl_syscall3(TL_NR_tgkill, tl_syscall3(TL_NR_getpid, 0, 0, 0),
		tl_syscall3(TL_NR_gettid, 0, 0, 0), tl_ctl->svc_signal);
	return tl_agent_guarded() ? tl_ctl->svc_ret : unheard(what);
}

/* The engine counts its broken promises; here the user hears of them too. */
static void tell_broken(const char *what)
{
	tl_agent_ask(TL_SVC_BROKEN, (uintptr_t)what, 0);
}

/* A handler that a signal has interrupted may run on for ever: 10 ms each. */
enum { LOOKS = 20 };

static int command_init(struct tl_ctl *c)
{
	int ret;

	tl_agent_test_begin();
	tl_broken_heard = tell_broken;
	tl_detour_watch = &tl_agent_places;
	tl_fsgsbase = c->fsgsbase != 0;
	tl_shadow_stack = c->shadow_stack != 0;
	tl_os_lock();
	ret = tl_os_init();
	tl_os_unlock();
	c->lender = 0;
	if (!ret)
		ret = tl_engine_init();
	if (!ret)
		tl_core.patience = LOOKS;
	return ret;
}

/* By the engine's own hand, so that it is in the books whatever happens to the guardian. */
static int command_enter(struct tl_ctl *c)
{
	int ret =
		tl_core.ready ? 0 : command_init(c); /* it has gone already with the last session */

	if (ret)
		return ret;
	c->module_at = (uintptr_t)tl_os_alloc(c->module_size);
	return c->module_at ? 0 : -TL_E_NOMEM;
}

/* Memory that somebody may still stand in stays, with its list of areas. */
static int command_exit(void)
{
	tl_ctl_unwatch(); /* its own, too */
	tl_engine_exit();
	return 0;
}

static int command_lead_out(struct tl_ctl *c)
{
	uintptr_t to;
	uint32_t i;

	for (i = 0; i < c->npcs; i++) {
		to = tl_detour_text(c->pcs[i].pc);
		c->pcs[i].to = to ? to : c->pcs[i].pc;
	}
	return 0;
}

/*
 * Neighbours by one call. Forgotten first: a child that is born meanwhile may
 * have something of its own there. Should the guardian be killed, all of it
 * happens all the same.
 */
static int command_unmap(struct tl_ctl *c)
{
	uint32_t i = 0;

	c->area_free = 0;
	while (i < c->nleaving) {
		uint64_t lo = c->areas[c->leaving[i]].lo, end = lo;

		for (; i < c->nleaving && c->areas[c->leaving[i]].lo == end; i++) {
			struct tl_ctl_area *a = &c->areas[c->leaving[i]];

			end += a->size;
			__atomic_store_n(&a->size, 0, __ATOMIC_RELEASE);
		}
		tl_syscall3(TL_NR_munmap, (long)lo, (long)(end - lo), 0);
	}
	return 0;
}

static struct tl_ctl_session *session_of(const struct tl_ctl *c)
{
	return (struct tl_ctl_session *)(uintptr_t)c->arming.sessions[c->slot % TL_CTL_SESSIONS];
}

static int64_t command_disarm(struct tl_ctl *c)
{
	int ret = tl_ctl_disarm(&c->arming, session_of(c));

	if (!tl_ctl_any_session(&c->arming))
		tl_ctl_unwatch();
	return ret;
}

static int64_t run(struct tl_ctl *c)
{
	switch (c->command) {
	case TL_CMD_INIT:
		return command_init(c);
	case TL_CMD_ENTER:
		return command_enter(c);
	case TL_CMD_WATCH:
		tl_ctl_watch(c);
		return 0;
	case TL_CMD_ARM:
		tl_ctl_watch(c);
		return tl_ctl_arm(&c->arming, session_of(c));
	case TL_CMD_DISARM:
		return command_disarm(c);
	case TL_CMD_FOLLOW:
		return tl_ctl_follow(&c->arming);
	case TL_CMD_LEAD_OUT:
		return command_lead_out(c);
	case TL_CMD_EXIT:
		return command_exit();
	case TL_CMD_UNMAP:
		return command_unmap(c);
	default:
		return -TL_E_INVAL;
	}
}

__attribute__((noreturn, used)) void tl_agent_main(struct tl_ctl *c)
{
	tl_ctl = c;
	c->result = run(c);
	c->standing = (uint32_t)tl_core.ntraps;
	c->records = (uintptr_t)tl_core.env.threads;
	for (;;)
		tl_agent_ask(TL_SVC_DONE, 0, 0);
}
