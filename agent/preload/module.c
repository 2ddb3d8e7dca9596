/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The module, mapped by the agent itself: the runner has checked every offset in it. */
#include "internal.h"
#include "../../engine/os/process/process.h"
#include "../../runtime/session.h"

const void *tl_module_table(const struct tl_preload *p, const struct tl_preload_table *t)
{
	return (const uint8_t *)p + p->module_at + t->at;
}

static int place(const struct tl_preload *p, uint8_t *code, uint8_t *data)
{
	const struct tl_preload_module *m = &p->module;
	const char *strings = tl_module_table(p, &m->strings);
	const struct tl_tap_import *import = tl_module_table(p, &m->imports);
	const uint32_t *reloc = tl_module_table(p, &m->relocs);
	uint64_t i;

	tl_copy(code, tl_module_table(p, &m->code), m->code.count);
	tl_copy(data, tl_module_table(p, &m->data), m->data.count);
	for (i = 0; i < m->relocs.count; i++)
		*(uint64_t *)(data + reloc[i]) += (uintptr_t)code;
	for (i = 0; i < m->imports.count; i++) {
		uintptr_t at = (uintptr_t)tl_export_find(strings + import[i].name);

		if (!at)
			return -TL_E_NO_SYMBOL;
		*(uint64_t *)(data + import[i].slot) = at;
	}
	return 0;
}

static int protect(const uint8_t *at, size_t size, int prot)
{
	long ret = size ? tl_syscall3(TL_NR_mprotect, (long)at, (long)tl_page_up(size), prot) : 0;

	return ret ? -TL_E_NOMEM : 0;
}

int tl_module_map(const struct tl_preload *p, struct tl_home_module *am)
{
	const struct tl_preload_module *m = &p->module;
	size_t size = m->code.count + m->data.count;
	uint8_t *code = tl_os_alloc(size + 1), *data = code + m->code.count;
	int ret;

	if (!code)
		return -TL_E_NOMEM;
	*am = (struct tl_home_module){
		.code = (uintptr_t)code,
		.code_size = m->code.count,
		.data = (uintptr_t)data,
		.data_size = m->data.count,
		.strings = (uintptr_t)tl_module_table(p, &m->strings),
		.strings_size = m->strings.count,
		.options = (uintptr_t)tl_module_table(p, &m->options),
		.symbols = (uintptr_t)tl_module_table(p, &m->symbols),
		.nsymbols = m->symbols.count,
		.lines = (uintptr_t)tl_module_table(p, &m->lines),
		.nlines = m->lines.count,
		.unwind = m->unwind.count ? (uintptr_t)tl_module_table(p, &m->unwind) : 0,
		.rows = (uintptr_t)tl_module_table(p, &m->rows),
		.frames = (uintptr_t)tl_module_table(p, &m->frames),
		.images = (uintptr_t)p + p->images_at,
		.nimages = m->images.count,
	};
	ret = place(p, code, data);
	if (!ret)
		ret = protect(code, m->code.count, TL_PROT_READ | TL_PROT_EXEC);
	if (!ret)
		ret = protect(data, m->data.count, TL_PROT_READ);
	if (ret)
		tl_module_unmap(am);
	return ret;
}

void tl_module_unmap(struct tl_home_module *am)
{
	if (am->code)
		tl_os_free((void *)(uintptr_t)am->code, am->code_size + am->data_size + 1);
	am->code = 0;
}
