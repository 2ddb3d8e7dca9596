/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The life of probes. Engine lock held. */
#ifndef TRAPLESS_ENGINE_CORE_PROBE_PROBE_H
#define TRAPLESS_ENGINE_CORE_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>

/* start.c: any first operation. 0 or -TL_E_. */
int tl_engine_init_locked(void);
int tl_probes_register_locked(struct tl_probe **probes, size_t n, size_t *failed);
/* The same; after a refusal whys[i] is set for all that would be refused, not for the first only. */
int tl_probes_try_locked(struct tl_probe **probes, size_t n, size_t *failed, int *whys);
int tl_probes_unregister_locked(struct tl_probe **probes, size_t n);
void tl_probes_unregister_all(void);
/* Once more: text that could not be taken away. True: nothing of it is left. Takes the engine lock. */
bool tl_probes_sweep(void); /* and what earlier ones have left */
/* Where somebody else's breakpoint stands on text that has to stay for it; 0: nowhere. Takes the engine lock. */
uintptr_t tl_probes_borrowed(void);

/* state.c: moves a probe between states; an illegal move is reported by tl_broken(). */
void tl_probe_move(struct tl_probe *p, enum tl_probe_state from, enum tl_probe_state to);
/* list.c: what the listing says of it; its site is armed or not. */
void tl_probe_describe(const struct tl_probe *p, struct tl_probe_info *info);

/* groups.c: probes that stand or fall together. */
struct tl_group {
	struct tl_probe **list;
	size_t n;
	int result; /* 0 or -TL_E_ */
	void *owner; /* the caller's */
};
/* Registers each group whose result is 0; leaves those that are refused out, and says why in their result. */
void tl_groups_register_locked(struct tl_group *g, size_t n);
/* All of them, whatever their result. 0, or the first -TL_E_. */
int tl_groups_unregister_locked(struct tl_group *g, size_t n);

#endif
