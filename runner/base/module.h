/* SPDX-License-Identifier: MIT */
/* Module files of this machine. */
#ifndef TRAPLESS_RUNNER_BASE_MODULE_H
#define TRAPLESS_RUNNER_BASE_MODULE_H

#include "../../home/tap.h"

/* 0, or -TL_E_ with the reason in `why` (room bytes). */
int module_load(struct tl_tap *m, const char *path, char *why, size_t room);
void module_unload(struct tl_tap *m);
/* As tl_tap_place(), with the reason in `why`. */
int module_place(const struct tl_tap *m, uint64_t at, uint8_t *buf, tl_tap_export_fn find,
	void *arg, char *why, size_t room);

#endif
