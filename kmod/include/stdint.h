/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the engine expects of <stdint.h>, in the kernel's own types: the build has no other. */
#ifndef TRAPLESS_KMOD_STDINT_H
#define TRAPLESS_KMOD_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

#ifndef INTPTR_MAX
typedef long intptr_t; /* the kernel's own, where it has one, is the same */
#define INTPTR_MAX LONG_MAX
#endif
#ifndef UINTPTR_MAX
#define UINTPTR_MAX ULONG_MAX
#endif

#define INT16_MIN  S16_MIN
#define INT16_MAX  S16_MAX
#define INT32_MAX  S32_MAX
#define INT32_MIN  S32_MIN
#define INT64_MIN  S64_MIN
#define INT64_MAX  S64_MAX
#define UINT8_MAX  U8_MAX
#define UINT16_MAX U16_MAX
#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX

#endif
