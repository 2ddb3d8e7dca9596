/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Places of static hooks that are switched by a change of their text: see <trapless/hook.h>. */
#ifndef TRAPLESS_ENGINE_CORE_PLACES_H
#define TRAPLESS_ENGINE_CORE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

struct tl_reservation;
struct tl_probe_info;

/*
 * Somebody more, or somebody less, listens to the hook that has this word: the first switches all of its places on, the
 * last one off. All or none: -TL_E_HOOK_TABLE where one of them, *at (may be NULL), is not what the file's table says, or what
 * tl_probe_register() and tl_text_reserve() tell. 0 where it has no such places. Sleeps.
 */
int tl_places_on(uintptr_t word, uintptr_t *at);
int tl_places_off(uintptr_t word);

/* All off. False: some text could not be changed. Engine lock held. */
bool tl_places_exit(void);
/* reserve.c: as tl_text_reserve(), once the images are known. Engine lock held. */
int tl_text_reserve_locked(struct tl_reservation *r, struct tl_probe_info *who);

#endif
