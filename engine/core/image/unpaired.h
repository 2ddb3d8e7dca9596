/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Why some functions have no return probes. */
#ifndef TRAPLESS_ENGINE_CORE_UNPAIRED_H
#define TRAPLESS_ENGINE_CORE_UNPAIRED_H

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

#endif
