/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Changes of text, and how they are written while threads run. */
#ifndef TRAPLESS_ENGINE_CORE_TEXT_CHANGE_H
#define TRAPLESS_ENGINE_CORE_TEXT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../arch/arch.h"

struct tl_patch;

struct tl_change {
	uintptr_t addr;
	uint8_t len;
	bool one_insn; /* before and after, one instruction starts at addr and nothing else does */
	bool window; /* new window: nobody may stand inside */
	bool linked; /* its order with the next higher change matters: where one is written with all stopped, both are */
	bool taken; /* nothing new comes here */
	bool past; /* written past the protection that the program has given its text */
	bool tangled; /* no order will do: everyone is stopped */
	uint8_t round; /* written when those of lower rounds are in force everywhere */
	uint8_t how; /* enum tl_patch_how */
	uint8_t from[TL_PATCH_MAX * 2], to[TL_PATCH_MAX * 2];
	struct tl_patch_step step;
	bool trapped; /* `from` is a breakpoint of ours */
	bool headed; /* one stands at addr, and leads on already */
	bool guarded; /* written behind a breakpoint while all stand still, as somebody may run all the same */
	bool blocked; /* on failure: somebody stands in this window and cannot be moved */
	size_t next; /* the first one that was not opened together with this one, which was the first of those */
	const struct tl_patch
		*patch; /* the window, or the detour for a passing breakpoint; NULL: neither */
};
/* Sorts them. 0, or -TL_E_ with the text unchanged. */
int tl_text_apply(struct tl_change *changes, size_t n);

#endif
