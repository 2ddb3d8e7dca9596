/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A handler that somebody else's hook calls, a kernel's tracepoint say: no text
 * is changed for it, and the engine does not know where it stands. It runs as
 * those of probes do: on the processor's record, and not inside another handler.
 */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_HOOK_H
#define TRAPLESS_ENGINE_OS_KERNEL_HOOK_H

#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>

struct tl_hook;

/* Bytes of one, in the caller's memory. */
size_t tl_hook_size(void);
void tl_hook_init(struct tl_hook *h, void *data);
/*
 * Before its handler is called with tl_hook_probe(), whatever the caller's context: the record of this context, which is
 * in a handler until tl_hook_leave(). NULL: do not call it; why is counted. Preemption is off from one to the other.
 */
struct tl_thread *tl_hook_enter(struct tl_hook *h);
void tl_hook_leave(struct tl_thread *self);
struct tl_probe *tl_hook_probe(struct tl_hook *h); /* its `data` is that of tl_hook_init() */
/* Nobody calls it any more: hits without the handler, by reason, and those inside another handler. */
void tl_hook_missed(const struct tl_hook *h, uint64_t missed[TL_MISSED_KINDS], uint64_t *inside);

#endif
