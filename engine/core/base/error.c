/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <trapless/error.h>

struct error_text {
	const char *name, *text, *next;
};

static const struct error_text texts[] = {
	{"OK", "no error", ""},
#define TL_ERROR(name, text, next) {#name, text, next},
#include <trapless/error.def>
#undef TL_ERROR
	{"UNKNOWN", "unknown error", ""},
};

static const struct error_text *find(int err)
{
	unsigned code = err < 0 ? 0u - (unsigned)err : (unsigned)err;

	return &texts[code < TL_E_COUNT ? code : TL_E_COUNT];
}

const char *tl_error_name(int err)
{
	return find(err)->name;
}

const char *tl_error_text(int err)
{
	return find(err)->text;
}

const char *tl_error_next(int err)
{
	return find(err)->next;
}
