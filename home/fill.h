/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A module's probes as the control block has them. Used by the guardian, and by the agent that has none. Context: any. */
#ifndef TRAPLESS_HOME_FILL_H
#define TRAPLESS_HOME_FILL_H

#include <stdbool.h>
#include <stdint.h>
#include <trapless/wire.h>

#include "arm.h"

/* Where the module is in the target. */
struct tl_ctl_module {
	uint64_t code, strings;
	bool no_jump; /* traps only */
};

/* All but where it is, which may become known later. */
void tl_ctl_fill(struct tl_ctl_probe *to, uint32_t number, const struct tl_tap_probe *from,
	const struct tl_ctl_module *m);

/* Its image is mapped with this bias. Its parts go to to_parts[first_part] on. */
void tl_ctl_place(struct tl_ctl_probe *to, struct tl_func_part *to_parts, uint32_t first_part,
	const struct tl_tap_probe *from, const struct tl_tap_part *from_parts, uint64_t bias);
/* Where its semaphore lies in an image of that bias; 0: it has none. */
uint64_t tl_ctl_semaphore(const struct tl_tap_probe *from, uint64_t bias);
/* Its image has been unmapped, and may come again. */
void tl_ctl_unplace(struct tl_ctl_probe *to);

#endif
