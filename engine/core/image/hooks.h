/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Static hooks (<trapless/hook.h>): the table that a file has of them, in its notes. It may be anybody's work: nothing in it
 * is believed but that its words lie where they lie.
 */
#ifndef TRAPLESS_ENGINE_CORE_IMAGE_HOOKS_H
#define TRAPLESS_ENGINE_CORE_IMAGE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/hooks.h>

struct tl_image;

/* A hook, as one of the files says that were linked. */
struct tl_hook_row {
	uintptr_t word, function, mark;
	uint32_t form; /* TL_HOOK_FLAG ... */
	const char *name, *result; /* "provider:name", its type */
	const uint8_t *parameters; /* see tl_hook_parameter() */
	size_t size;
};
/* A parameter, and where the next one is; false: there is none, or the row is damaged. */
bool tl_hook_parameter(struct tl_hook_row *row, struct tl_hook_parameter *p);

/* A place that is switched by a change of its text. */
struct tl_hook_place {
	uintptr_t at, target; /* where it leads, while it jumps */
	uintptr_t word;
	bool jumps; /* while it is off */
};

/* Who reads a table; each may be NULL. */
struct tl_hook_reader {
	void (*hook)(void *arg, const struct tl_hook_row *row);
	void (*place)(void *arg, const struct tl_hook_place *place);
	void *arg;
};
/* Notes of `size` bytes that lie, or have lain, at `at`. Rows that do not hold what they must are passed over. */
void tl_hooks_read(
	const uint8_t *notes, size_t size, uintptr_t at, const struct tl_hook_reader *reader);

/* Until fn returns nonzero, which is returned: all places in this image's text. 0, or -TL_E_NOMEM. Engine lock held. */
int tl_image_places(const struct tl_image *img,
	int (*fn)(void *arg, const struct tl_hook_place *place), void *arg);

#endif
