/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Detours, and the memory that they lie in. */
#ifndef TRAPLESS_ENGINE_CORE_DETOUR_DETOUR_H
#define TRAPLESS_ENGINE_CORE_DETOUR_DETOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>
#include "../../arch/arch.h"
#include "../base/gaps.h"
#include "../base/index.h"

struct tl_site;

/* A block of detour memory. */
struct tl_detour {
	uintptr_t at;
	uint32_t size;
	uint32_t used; /* bytes of code */
	struct tl_plan plan; /* what it was built for */
	struct tl_node node; /* among the retired */
	struct tl_gap behind; /* what is free there; its key is `at` */
	struct tl_detour *next; /* retired for the same address */
	bool retired;
};

/* detmem.c: a reservation of detour memory. */
struct tl_chunk {
	struct tl_node node;
	uintptr_t at;
	size_t size;
	struct tl_gap bottom; /* what is free before its first block; its key is in front of `at` */
	uintptr_t lo, hi; /* tl_detour_poll(): its retired blocks */
	bool quiet;
};
struct tl_chunk *tl_chunk_at(uintptr_t at);
struct tl_chunk *tl_chunk_next(uintptr_t from);
/* From the first to the last of them; false: there is none. */
bool tl_chunks_span(uintptr_t *lo, uintptr_t *hi);
/* Where the plan's block of at least `bound` bytes would lie; 0 and *err. Until the next call of these. */
uintptr_t tl_detmem_look(const struct tl_plan *plan, size_t bound, int *err);
/* false: not even the smallest block fits. What retired detours hold may become free, and is not looked at. */
bool tl_detmem_room(const struct tl_plan *plan);
/* A block of at least `bound` bytes for the plan; NULL and *err. */
struct tl_detour *tl_detmem_get(const struct tl_plan *plan, size_t bound, int *err);
void tl_detmem_put(struct tl_detour *d);
void tl_detmem_usage(struct tl_usage *usage);
void tl_detmem_deinit(void);

/*
 * A home that answers for the program's faults has to know which detours there are: it sets tl_detour_watch before
 * tl_engine_init(). Engine lock held. used: threads come into it from now on. retired: nobody is led into it any more,
 * who is in it stays. freed: nobody is in it, its memory is given back.
 */
struct tl_detour_watch {
	void (*used)(struct tl_detour *d);
	void (*retired)(struct tl_detour *d);
	void (*freed)(struct tl_detour *d);
};
extern const struct tl_detour_watch *tl_detour_watch; /* NULL: nobody asks */

/* Build and write a detour for plan; -TL_E_ and *out untouched on failure. Takes a reference on each site. */
int tl_detour_create(const struct tl_plan *plan, struct tl_detour **out);
/* Nothing leads to it any more, but somebody may be inside: keep until quiet. */
void tl_detour_retire(struct tl_detour *d);
bool tl_detours_retired(void); /* are there any? */
/* A retired detour that was built for this very plan, or NULL; and the same, come back to life. */
struct tl_detour *tl_detour_retired(const struct tl_plan *plan);
struct tl_detour *tl_detour_revive(const struct tl_plan *plan);
/* Never reached by anyone: give back at once. */
void tl_detour_cancel(struct tl_detour *d);
/* Free what is quiet among the retired; force: look even when few are retired. Returns how many remain. */
size_t tl_detour_poll(bool force);
/* Frees a retired one if nobody is inside: false, somebody may be. */
bool tl_detour_release(struct tl_detour *d);
/* May somebody inside a retired detour come back between lo and hi (both exclusive)? */
bool tl_detour_returns_into(uintptr_t lo, uintptr_t hi);
/* Nobody is inside it; inside any retired one that may have served this address. As threads were seen last. */
bool tl_detour_is_left(const struct tl_detour *d);
bool tl_detours_are_left(uintptr_t addr);
/* What was seen of the threads is out of date. */
void tl_detours_look_again(void);
/* For who leaves: the place in the text of a program counter in a retired detour, 0: it has none. */
uintptr_t tl_detour_text(uintptr_t ip);
void tl_detour_deinit(void);

#endif
