/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Names of the kernel's functions to addresses. Several functions may have one name: a probe of it stands at each of
 * them, in a slot of its own; those of the module come first, one for each of its probes.
 */
#include <linux/bsearch.h>
#include <linux/mm.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <trapless/error.h>

#include "../engine/os/kernel/kernel.h"
#include "script.h"

/* In all; a kernel has some 200 such names. */
enum { MOST_EXTRA = 2048 };

struct wanted {
	const char *name;
	uint32_t probe;
};

struct search {
	struct script *s;
	struct wanted *wanted; /* by name */
	uint32_t n, room;
	bool full;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

/* What is only there as the kernel starts lies elsewhere, and so does data. */
static bool is_text(unsigned long addr)
{
	return addr >= (unsigned long)tl_names.stext && addr < (unsigned long)tl_names.etext;
}

static void take(struct search *search, uint32_t probe, unsigned long addr)
{
	struct script *s = search->s;

	if (!s->slots[probe].func)
		s->slots[probe].func = addr;
	else if (s->nslots < search->room)
		s->slots[s->nslots++] = (struct script_slot){.func = addr, .probe = probe};
	else
		search->full = true;
}

/* For each probe of that name. */
static void take_named(struct search *search, const char *name, unsigned long addr)
{
	const struct wanted key = {.name = name};
	const struct wanted *w =
		bsearch(&key, search->wanted, search->n, sizeof(*search->wanted), compare);

	if (!w || !is_text(addr))
		return;
	while (w > search->wanted && !compare(w - 1, &key))
		w--;
	for (; w < search->wanted + search->n && !compare(w, &key); w++)
		take(search, w->probe, addr);
}

/* Newer kernels have their names sorted; in older ones all are looked at, once. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)

struct named {
	struct search *search;
	const char *name;
};

static int on_match(void *arg, unsigned long addr)
{
	const struct named *named = arg;

	take_named(named->search, named->name, addr);
	return 0;
}

static void look(struct search *search)
{
	for (uint32_t i = 0; i < search->n; i++) {
		struct named named = {.search = search, .name = search->wanted[i].name};

		if (!i || compare(&search->wanted[i - 1], &search->wanted[i]))
			tl_names.kallsyms_on_each_match_symbol(on_match, named.name, &named);
	}
}

#else

static int on_symbol(void *arg, const char *name, struct module *module, unsigned long addr)
{
	take_named(arg, name, addr);
	return 0;
}

static void look(struct search *search)
{
	if (search->n)
		tl_names.kallsyms_on_each_symbol(on_symbol, search);
}

#endif

static void want(struct search *search, uint32_t probe)
{
	const struct script *s = search->s;
	const struct tl_tap_probe *p = &s->tap.probes[probe];

	search->s->slots[probe] = (struct script_slot){.probe = probe};
	if (tl_tap_stands(p->kind) && !script_module_of(s, p))
		search->wanted[search->n++] =
			(struct wanted){.name = tl_tap_string(&s->tap, p->func), .probe = probe};
}

int script_find(struct script *s)
{
	struct search search = {.s = s, .room = s->tap.nprobes + MOST_EXTRA};

	s->slots = kvcalloc(search.room, sizeof(*s->slots), GFP_KERNEL);
	search.wanted = kvcalloc(s->tap.nprobes + 1, sizeof(*search.wanted), GFP_KERNEL);
	if (!s->slots || !search.wanted) {
		kvfree(search.wanted);
		return -TL_E_NOMEM;
	}
	s->nslots = s->tap.nprobes;
	for (uint32_t i = 0; i < s->tap.nprobes; i++)
		want(&search, i);
	sort(search.wanted, search.n, sizeof(*search.wanted), compare, NULL);
	look(&search);
	kvfree(search.wanted);
	return search.full ? -TL_E_LIMIT : 0;
}
