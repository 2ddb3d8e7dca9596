/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Instructions that have an entry in an exception table, when their copies in
 * detours fault: the kernel asks by their address, and is led to think that it
 * was the original's. It asks in one function only, whose argument ftrace lets
 * us change. Where ftrace is switched off, such instructions stay where they
 * are. It is asked that way only while there is a detour that needs it.
 */
#include <linux/ftrace.h>
#include "../../arch/arch.h"
#include "../../core/base/core.h"
#include "../../core/detour/detour.h"
#include "../traptab.h"
#include "kernel.h"
#include "machine.h"

/* Any context. */
static void on_search(
	unsigned long ip, unsigned long parent, struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	unsigned long *addr = regs ? tl_machine_argument(regs) : NULL;
	uintptr_t text = addr ? tl_traptab_find(*addr) : 0;

	if (text)
		*addr = text;
	else if (addr && tl_kprobe_fears(parent, *addr))
		*addr = tl_machine_fault_at(tl_names.faults);
}
NOKPROBE_SYMBOL(on_search);

static struct ftrace_ops hook = {
	.func = on_search,
	/* It calls nothing that is traced; and whoever switches ftrace off is told that he cannot. */
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_RECURSION | FTRACE_OPS_FL_PERMANENT,
};
static bool hooked, tried, lost; /* engine lock */
static size_t ncopies; /* that may fault */

bool tl_faults_followed(void)
{
	if (tried || tl_text_is_open())
		return hooked;
	tried = true;
	hooked = !ftrace_set_filter_ip(
			 &hook, (unsigned long)tl_names.search_exception_tables, 0, 0) &&
		 !register_ftrace_function(&hook);
	return hooked;
}

static bool is_needed(void)
{
	return ncopies || tl_kprobes_noted();
}

void tl_faults_prepare(void)
{
	if (is_needed())
		tl_faults_followed();
}

static void unhook(void)
{
	if (hooked)
		unregister_ftrace_function(&hook);
	hooked = tried = false;
}

void tl_faults_settle(void)
{
	if (!is_needed())
		unhook();
	else
		tl_faults_followed();
}

static bool may_fault(uintptr_t lo, uintptr_t hi)
{
	return tl_marked(TL_MARK_FAULTS, lo, hi);
}

static void note_copy(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	if (what != TL_PLACE_COPY || !may_fault(text, text + 1) || tl_traptab_find(ip))
		return;
	if (tl_traptab_set(ip, text))
		lost = true;
	else
		ncopies++;
}

static void forget_copy(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	if (what != TL_PLACE_COPY || !tl_traptab_find(ip))
		return;
	tl_os_trap_remove(ip);
	ncopies--;
}

static void used(struct tl_detour *d)
{
	tl_kprobes_note(&d->plan, 1);
	if (may_fault(d->plan.start, d->plan.start + d->plan.len))
		tl_arch_detour_places(&d->plan, &tl_core.env, d->at, note_copy, NULL);
}

/* Who is in it may fault still. */
static void retired(struct tl_detour *d)
{
	tl_kprobes_note(&d->plan, -1);
}

static void freed(struct tl_detour *d)
{
	if (ncopies) /* what may fault was known by tables of a module that may have gone */
		tl_arch_detour_places(&d->plan, &tl_core.env, d->at, forget_copy, NULL);
}

static const struct tl_detour_watch watch = {used, retired, freed};

bool tl_faults_lost(void)
{
	bool was = lost;

	lost = false;
	return was;
}

void tl_faults_init(void)
{
	tl_kprobes_init();
	tl_detour_watch = &watch;
	ncopies = 0;
}

void tl_faults_exit(void)
{
	tl_detour_watch = NULL;
	unhook();
	ftrace_free_filter(&hook);
}
