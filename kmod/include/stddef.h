/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See stdint.h. size_t and NULL are all that the engine wants of it. */
#ifndef TRAPLESS_KMOD_STDDEF_H
#define TRAPLESS_KMOD_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
