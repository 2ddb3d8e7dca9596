/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Inside the agent. */
#ifndef TRAPLESS_AGENT_AGENT_H
#define TRAPLESS_AGENT_AGENT_H

#include "control.h"
#include "header.h"
#include "../engine/core/internal.h"

extern struct tl_ctl *tl_ctl; /* ours, while a command runs */

/* Ask the guardian; only from the helper. Returns svc_ret. */
int64_t tl_agent_ask(enum tl_service what, uint64_t a, uint64_t b);

#ifdef TL_TEST
void tl_agent_test_begin(void); /* of an agent with race points */
#else
static inline void tl_agent_test_begin(void)
{
}
#endif

/* Is there a guardian still? handler.c */
bool tl_agent_guarded(void);

/* probes.c */
int tl_agent_arm(struct tl_ctl *c, struct tl_ctl_session *s);
int tl_agent_disarm(struct tl_ctl *c, struct tl_ctl_session *s);
int tl_agent_follow(struct tl_ctl *c);

/* places.c */
extern const struct tl_detour_watch tl_agent_places;

/* watch.c: places that concern the guardian, not the script */
void tl_agent_watch(struct tl_ctl *c);
void tl_agent_unwatch(void);

/*
 * handler.c, in a preloaded agent preload/handler.c: what a handler has to know or to read outside of itself.
 * tl_agent_read, _write: 0, or -1 where any byte is missing. tl_agent_pid: of the thread that runs, 0: nobody tells.
 * tl_agent_fact, tl_agent_raise: as tl_view_ops.fact and .raise.
 */
int tl_agent_read(void *dst, uint64_t addr, uint32_t size);
int tl_agent_write(uint64_t addr, const void *src, uint32_t size);
uint32_t tl_agent_pid(uint32_t tid);
void tl_agent_comm(char comm[16]);
bool tl_agent_fact(uint32_t what, int64_t of, uint64_t value[2]);
bool tl_agent_raise(int64_t sig);

/* view.c: a session as its handlers see it. */
struct tl_view;
struct tl_view *tl_agent_view(const struct tl_ctl_session *s);
int tl_agent_view_init(const struct tl_ctl_session *s); /* unless it is there already */
/* No handler of that session runs any more, and none will. */
void tl_agent_view_forget(const struct tl_ctl_session *s);

#endif
