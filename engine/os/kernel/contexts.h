/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Records of running handlers, by processor and by what it runs: a task, or a softirq, an interrupt, an NMI in one. */
#ifndef TRAPLESS_ENGINE_OS_KERNEL_CONTEXTS_H
#define TRAPLESS_ENGINE_OS_KERNEL_CONTEXTS_H

struct tl_site;
struct tl_thread;

int tl_contexts_init(void); /* 0 or -TL_E_NOMEM */
void tl_contexts_exit(void);
unsigned tl_contexts(void); /* how many there are */
/* From 0; tl_contexts(): it is none of them. */
unsigned tl_context_number(const struct tl_thread *t);
struct tl_thread *tl_context_now(void); /* of this context, while preemption is off */
/*
 * A handler is about to run, from whatever context: its record, and preemption is off until tl_context_leave(). NULL: it
 * is not to be called, as another one runs in this context: counted.
 */
struct tl_thread *tl_context_enter(struct tl_site *site);
void tl_context_leave(struct tl_thread *t);

#endif
