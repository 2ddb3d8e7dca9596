/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes that the kernel itself calls: at tracepoints, as time goes by, as memory is used. No text
 * is changed for them, and the engine has no part in where they stand; their
 * handlers run as a detour would run them. Each kind has a file of its own.
 */
#ifndef TRAPLESS_KMOD_HOOKS_H
#define TRAPLESS_KMOD_HOOKS_H

#include <trapless/regs.h>

#include "../runtime/script.h"
#include "script.h"

struct hook_kind;

/* One probe. */
struct hooked {
	const struct hook_kind *kind; /* NULL: it is off */
	void *at; /* the kind's own */
	void *listener; /* the same */
	void *handler;
	struct script *script;
	struct tl_hook *hook;
	struct tl_env env;
};

/* May sleep. on(): 0 or -TL_E_. Behind off(), and an RCU grace period, no handler runs any more. */
struct hook_kind {
	int (*on)(struct hooked *h, const struct tl_tap_probe *p);
	void (*off)(struct hooked *h);
};
extern const struct hook_kind hook_traces; /* traces.c */
extern const struct hook_kind hook_samples; /* samples.c */
extern const struct hook_kind hook_watches; /* watches.c */

/* The handler, with these registers. Context: any, until off(). */
void hooked_run(struct hooked *h, struct tl_regs *regs);

#endif
