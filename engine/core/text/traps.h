/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Breakpoints of a batch. */
#ifndef TRAPLESS_ENGINE_CORE_TEXT_TRAPS_H
#define TRAPLESS_ENGINE_CORE_TEXT_TRAPS_H

#include "patch.h"

/* Breakpoints of the batch's fresh patches lead into their detours. 0 or -TL_E_. */
int tl_traps_add(struct tl_batch *b);
/* Takes that back for the fresh patches in front of `end`. */
void tl_traps_undo(struct tl_batch *b, const struct tl_patch *end);
/* Breakpoints that a window will swallow lead into it, and their old detours are empty. 0 or -TL_E_BUSY. */
int tl_traps_lead_in(struct tl_batch *b);
void tl_traps_lead_back(struct tl_batch *b);

#endif
