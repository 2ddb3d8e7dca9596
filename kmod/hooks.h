/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes that the kernel itself calls: at tracepoints, as time goes by, as memory is used. No text
 * is changed for them, and the engine has no part in where they stand; their
 * handlers run as a detour would run them. Each kind has a file of its own.
 */
#ifndef TRAPLESS_KMOD_HOOKS_H
#define TRAPLESS_KMOD_HOOKS_H

#include <linux/list.h>
#include <trapless/regs.h>

#include "../runtime/script.h"
#include "script.h"

struct hook_kind;

/* One probe. */
struct hooked {
	const struct hook_kind *kind; /* NULL: it is off */
	void *at; /* the kind's own */
	void *listener; /* the same */
	struct list_head node; /* the same */
	void *handler;
	struct script *script;
	struct tl_hook *hook;
	struct tl_env env;
};

/*
 * May sleep; hooks_lock() is held. on(): 0, -TL_E_, or HOOK_WAITS: what it is of is not there yet. Behind off(), and an RCU
 * grace period, no handler runs any more.
 */
enum { HOOK_WAITS = 1 };
struct hook_kind {
	int (*on)(struct hooked *h, const struct tl_tap_probe *p);
	void (*off)(struct hooked *h);
};
extern const struct hook_kind hook_traces; /* traces.c */
extern const struct hook_kind hook_samples; /* samples.c */
extern const struct hook_kind hook_watches; /* watches.c */

/* Of all sessions; taken behind the lock of arming. */
void hooks_lock(void);
void hooks_unlock(void);
/* What it is at goes: it is off, and no handler runs any more. hooks_lock() is held; may sleep. */
void hooked_leave(struct hooked *h);

/* The handler, with these registers. Context: any, until off(). */
void hooked_run(struct hooked *h, struct tl_regs *regs);

#endif
