/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Result codes: functions return 0 or more, or -TL_E_<reason>. */
#ifndef TRAPLESS_ERROR_H
#define TRAPLESS_ERROR_H

enum tl_error {
	TL_OK = 0,
#define TL_ERROR(name, text, next) TL_E_##name,
#include <trapless/error.def>
#undef TL_ERROR
	TL_E_COUNT
};

#ifdef __cplusplus
extern "C" {
#endif

/* All three take a code of either sign and never return NULL. Context: any. */
const char *tl_error_name(int err); /* "NOT_BOUNDARY" */
const char *tl_error_text(int err); /* what happened */
const char *tl_error_next(int err); /* what to do; "" when there is nothing to say */

#ifdef __cplusplus
}
#endif

#endif
