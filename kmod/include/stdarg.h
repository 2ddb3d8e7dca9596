/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See stdint.h. */
#ifndef TRAPLESS_KMOD_STDARG_H
#define TRAPLESS_KMOD_STDARG_H

#include <linux/stdarg.h>

#endif
