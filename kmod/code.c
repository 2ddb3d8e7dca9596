/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A script's code and constants in the kernel: beside modules, in reach of all text; read-only from the first run on. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "script.h"

static uint64_t find_export(void *arg, const char *name)
{
	for (unsigned i = 0; i < tl_nexports; i++)
		if (!strcmp(tl_exports[i].name, name))
			return (uintptr_t)tl_exports[i].addr;
	return 0;
}

static bool seal(struct script *s, size_t span)
{
	unsigned long at = (unsigned long)s->code;
	int code = (int)(s->tap.code_size >> PAGE_SHIFT);

	return !tl_names.set_memory_ro(at, (int)(span >> PAGE_SHIFT)) &&
	       (!code || !tl_names.set_memory_x(at, code));
}

int script_map_code(struct script *s, const char **missing)
{
	size_t span = tl_tap_span(&s->tap);
	int ret;

	*missing = NULL;
	if (!span)
		return 0;
	s->code = tl_text_alloc(span);
	if (!s->code)
		return -TL_E_NOMEM;
	ret = tl_tap_place(&s->tap, (uintptr_t)s->code, s->code, find_export, NULL, missing);
	if (!ret && !seal(s, span))
		ret = -TL_E_NOMEM;
	if (ret)
		script_unmap_code(s);
	return ret;
}

void script_unmap_code(struct script *s)
{
	if (s->code)
		tl_text_free(s->code);
	s->code = NULL;
}
