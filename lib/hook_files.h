/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables of hooks of all files that the loader has mapped. */
#ifndef TRAPLESS_LIB_HOOK_FILES_H
#define TRAPLESS_LIB_HOOK_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <trapless/hooks.h>

/* A hook that some table names; its listeners are not counted. Its file may go at any time, and its word and strings with it. */
struct hook_found {
	struct tl_hook_info info;
	const struct tl_hook_listeners *listeners; /* as its word had them */
	int why; /* 0, or -TL_E_HOOK_TABLE: its row cannot be right */
};
struct hooks_found {
	struct hook_found *hook;
	size_t n, max;
};
/*
 * File by file, each once: those that fit the pattern, NULL: all; or the one that has this word, if it is not 0. 0 or
 * -TL_E_NOMEM; to be freed in any case.
 */
int hook_files_read(uintptr_t word, const char *pattern, struct hooks_found *found);
void hook_files_free(struct hooks_found *found);

/* Calls fn, which takes no lock, while the hook's file cannot be unmapped. False: it has gone. */
bool hook_files_touch(struct tl_hook *hook, const char *file,
	void (*fn)(struct tl_hook *hook, const void *arg), const void *arg);

#endif
