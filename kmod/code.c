/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A script's code and constants in the kernel: beside modules, in reach of all text; read-only from the first run on. */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "../engine/os/kernel/machine.h"
#include "script.h"

/* Where this kernel has its functions return by themselves, one that does. */
static void just_return(void)
{
}

static uint64_t find_export(void *arg, const char *name)
{
	if (!strcmp(name, TL_MACHINE_RETURN))
		return tl_machine_returns_by_thunk() ? *tl_names.return_thunk
						     : (uintptr_t)just_return;
	return tl_export_find(name);
}

/* Does the module have the address of an import there? */
static bool is_import(const struct script *s, uintptr_t slot)
{
	const uint8_t *data = s->code + s->tap.code_size;

	for (uint32_t i = 0; i < s->tap.nimports; i++)
		if (slot == (uintptr_t)data + s->tap.imports[i].slot)
			return true;
	return false;
}

/* Imports are called by stubs, which become jumps that read no memory: no processor can be led astray there. */
static void bind_stubs(struct script *s)
{
	for (uint32_t at = 0; at + TL_STUB <= s->tap.code_size; at += TL_STUB) {
		uintptr_t slot = tl_machine_stub(s->code + at);

		if (slot && is_import(s, slot))
			tl_machine_stub_to(s->code + at, *(const uintptr_t *)slot);
	}
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
	if (!ret)
		bind_stubs(s);
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
