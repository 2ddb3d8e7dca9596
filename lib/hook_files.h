/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables of hooks of all files that the loader has mapped. */
#ifndef TRAPLESS_LIB_HOOK_FILES_H
#define TRAPLESS_LIB_HOOK_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <trapless/hooks.h>

/* A hook that some table names; its listeners are not counted. */
struct hook_found {
	struct tl_hook_info info;
	int why; /* 0, or -TL_E_HOOK_TABLE: its row cannot be right */
};
struct hooks_found {
	struct hook_found *hook;
	size_t n, max;
};
/* All, file by file, each once, or the one that has this word. 0 or -TL_E_NOMEM; to be freed in any case. */
int hook_files_read(uintptr_t word, struct hooks_found *found);
void hook_files_free(struct hooks_found *found);

#endif
