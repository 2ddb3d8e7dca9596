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

/* What runs once, as the module starts, is none. */
static bool is_function(const struct module *m, const Elf_Sym *sym)
{
	return ELF_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx != SHN_UNDEF &&
	       !within_module_init(sym->st_value, m);
}

/* Of those that have the name, in the order of its symbols; 0: it has not so many. module_mutex is held. */
static uintptr_t nth_locked(const struct module *m, const char *func, int64_t nth)
{
	const struct mod_kallsyms *all = rcu_dereference_raw(m->kallsyms);

	for (unsigned i = 0; i < all->num_symtab; i++) {
		const Elf_Sym *sym = &all->symtab[i];

		if (is_function(m, sym) && !strcmp(all->strtab + sym->st_name, func) && !nth--)
			return sym->st_value;
	}
	return 0;
}

const struct module *script_loaded(const char *name)
{
	const struct module *m;

	list_for_each_entry (m, tl_names.modules, list)
		if (m->state == MODULE_STATE_LIVE && !strcmp(m->name, name))
			return m;
	return NULL;
}

/* Is the module there? Its function, in *func; 0: it has none such. */
static bool find(const char *module, const char *name, int64_t nth, uintptr_t *func)
{
	const struct module *m;

	mutex_lock(tl_names.module_mutex);
	m = script_loaded(module);
	if (m)
		*func = nth_locked(m, name, nth);
	mutex_unlock(tl_names.module_mutex);
	return m;
}

/* False: it is of a module that is not loaded. Else the function, in *func; 0: there is none. */
static bool look(struct script *s, uint32_t i, const struct tl_tap_probe *from, uintptr_t *func)
{
	const char *module = script_module_of(s, from);
	const char *name = tl_tap_string(&s->tap, from->func);

	if (module)
		return find(module, name, from->arg, func);
	*func = s->slots[i].func;
	if (!*func)
		*func = tl_names.kallsyms_lookup_name(name);
	return true;
}

/* 0 or -TL_E_ */
static int bounds(struct script *s, uint32_t i, const struct tl_tap_probe *from, uintptr_t func)
{
	struct tl_func_part *part = &tl_ctl_parts(s->ctl, s->nslots)[i];

	if (!func || !part_at(func, part))
		return -TL_E_NO_FUNCTION;
	return from->addr < part->size ? 0 : -TL_E_NOT_TEXT;
}

/* Of a module that is not loaded a probe has no place, and waits. */
static void place(struct script *s, uint32_t i)
{
	const struct tl_tap_probe *from = &s->tap.probes[s->slots[i].probe];
	struct tl_ctl_probe *to = tl_ctl_probe(s->ctl, i);
	struct tl_func_part *parts = tl_ctl_parts(s->ctl, s->nslots);
	uintptr_t func;

	if (to->addr && !script_module_of(s, from))
		return;
	to->first_part = i;
	to->nparts = 0;
	to->addr = 0;
	to->result = 0;
	if (!look(s, i, from, &func))
		return;
	to->result = bounds(s, i, from, func);
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
