/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See stdint.h. */
#ifndef TRAPLESS_KMOD_STRING_H
#define TRAPLESS_KMOD_STRING_H

#include <linux/string.h>

#endif
