/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From names of functions to places in the text. */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "../home/fill.h"
#include "script.h"

/* Of the function at addr: all of it. */
static bool part_at(uintptr_t addr, struct tl_func_part *part)
{
	unsigned long size, off;

	if (!tl_names.kallsyms_lookup_size_offset(addr, &size, &off))
		return false;
	part->start = addr - off;
	part->size = size;
	return true;
}

/* What is ftrace's, or for the processor to see, is no part of the function: it begins behind that. */
static void leave_out(unsigned bytes, struct tl_ctl_probe *to, struct tl_func_part *part)
{
	to->addr += bytes;
	part->start += bytes;
	part->size -= bytes;
}

const char *script_module_of(const struct script *s, const struct tl_tap_probe *p)
{
	const char *name = tl_tap_string(&s->tap, s->tap.images[p->image].path);

	return strcmp(name, "kernel") ? name : NULL;
}

static bool is_loaded(const char *module)
{
	const struct module *m;
	bool ret = false;

	mutex_lock(tl_names.module_mutex);
	list_for_each_entry (m, tl_names.modules, list)
		ret |= m->state == MODULE_STATE_LIVE && !strcmp(m->name, module);
	mutex_unlock(tl_names.module_mutex);
	return ret;
}

/* 0: it is not there. */
static uintptr_t find(const char *module, const char *func)
{
	char name[MODULE_NAME_LEN + KSYM_NAME_LEN];

	if (!module)
		return tl_names.kallsyms_lookup_name(func);
	if (snprintf(name, sizeof(name), "%s:%s", module, func) >= (int)sizeof(name))
		return 0;
	return tl_names.kallsyms_lookup_name(name);
}

/* 0 or -TL_E_; its place in *func. */
static int look(struct script *s, uint32_t i, const char *module, uintptr_t *func)
{
	const struct tl_tap_probe *from = &s->tap.probes[s->slots[i].probe];
	struct tl_func_part *part = &tl_ctl_parts(s->ctl, s->nslots)[i];

	*func = s->slots[i].func;
	if (!*func)
		*func = find(module, tl_tap_string(&s->tap, from->func));
	if (!*func || !part_at(*func, part))
		return -TL_E_NO_FUNCTION;
	return from->addr < part->size ? 0 : -TL_E_NOT_TEXT;
}

/* Of a module that is not loaded a probe has no place, and waits. */
static void place(struct script *s, uint32_t i)
{
	const struct tl_tap_probe *from = &s->tap.probes[s->slots[i].probe];
	struct tl_ctl_probe *to = tl_ctl_probe(s->ctl, i);
	struct tl_func_part *parts = tl_ctl_parts(s->ctl, s->nslots);
	const char *module = script_module_of(s, from);
	uintptr_t func;

	if (to->addr && !module)
		return;
	to->first_part = i;
	to->nparts = 0;
	to->addr = 0;
	to->result = 0;
	if (module && !is_loaded(module))
		return;
	to->result = look(s, i, module, &func);
	if (to->result)
		return;
	tl_ctl_place(to, parts, i, from, NULL, func);
	to->nparts = 1;
	if (from->flags & TL_TAP_PROBE_ENTRY || from->kind == TL_TAP_RETURN)
		leave_out(tl_os_entry_bytes(func), to, &parts[i]);
}

void script_place(struct script *s)
{
	for (uint32_t i = 0; i < s->nslots; i++) {
		script_stack_of(s, tl_ctl_probe(s->ctl, i));
		if (tl_tap_stands(s->tap.probes[s->slots[i].probe].kind))
			place(s, i);
	}
}
