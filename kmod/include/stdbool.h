/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See stdint.h. */
#ifndef TRAPLESS_KMOD_STDBOOL_H
#define TRAPLESS_KMOD_STDBOOL_H

#include <linux/types.h>

#endif
