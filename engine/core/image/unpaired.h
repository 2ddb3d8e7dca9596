/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Why some functions have no return probes. */
#ifndef TRAPLESS_ENGINE_CORE_UNPAIRED_H
#define TRAPLESS_ENGINE_CORE_UNPAIRED_H

#include <stdint.h>

enum tl_unpaired {
	TL_PAIRED,
#define REASON(tag, text) TL_UNPAIRED_##tag,
#include "unpaired.def"
	TL_UNPAIRED_COUNT
};

/* NULL: no reason against it. Context: any. */
static inline const char *tl_ret_reason(unsigned number)
{
	switch (number) {
#define REASON(tag, text)                                                                          \
	case TL_UNPAIRED_##tag:                                                                    \
		return text;
#include "unpaired.def"
	default:
		return (const char *)0;
	}
}

/* Why a return probe here would count what never was, enum tl_unpaired. Engine lock held. */
unsigned tl_ret_forbidden(uintptr_t entry);
unsigned tl_ret_forbidden_name(const char *name); /* the same by name alone. Any context */

#endif
