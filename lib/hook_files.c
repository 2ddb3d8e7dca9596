/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include <elf.h>
#include <fnmatch.h>
#include <link.h>
#include <stdlib.h>
#include <trapless/hook.h>

#include "../engine/core/image/hooks.h"
#include "hook_files.h"

/* What is told of hooks in one file: each of the files that it was linked from may tell of each. */
struct told {
	uintptr_t word; /* the only one that is asked for; 0: all */
	const char *pattern; /* that its name fits; NULL: any */
	struct tl_hook_row *row;
	size_t nrows, max_rows;
	uintptr_t *place; /* its hook's word */
	size_t nplaces, max_places;
	struct hooks_found *found;
	int ret;
};

/* Room for one more. */
static void *more(struct told *t, void *old, size_t n, size_t *max, size_t size)
{
	void *p = old;

	if (n < *max)
		return old;
	*max = *max ? 2 * *max : 64;
	p = realloc(old, *max * size);
	if (p)
		return p;
	free(old);
	*max = 0;
	t->ret = -TL_E_NOMEM;
	return NULL;
}

static void take_row(void *arg, const struct tl_hook_row *row)
{
	struct told *t = arg;

	if (t->ret || (t->word && row->word != t->word))
		return;
	t->row = more(t, t->row, t->nrows, &t->max_rows, sizeof(*t->row));
	if (t->row)
		t->row[t->nrows++] = *row;
}

static void take_place(void *arg, const struct tl_hook_place *place)
{
	struct told *t = arg;

	if (t->ret || (t->word && place->word != t->word))
		return;
	t->place = more(t, t->place, t->nplaces, &t->max_places, sizeof(*t->place));
	if (t->place)
		t->place[t->nplaces++] = place->word;
}

/* By hook; of one hook as they lie in the table. */
static int compare_rows(const void *a, const void *b)
{
	const struct tl_hook_row *x = a, *y = b;

	if (x->word != y->word)
		return x->word < y->word ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int compare_places(const void *a, const void *b)
{
	const uintptr_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Those of its segments that have these rights hold [addr, addr + size). */
static bool maps(const struct dl_phdr_info *object, uintptr_t addr, size_t size, uint32_t rights)
{
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
		uintptr_t at = addr - (object->dlpi_addr + ph->p_vaddr);

		if (ph->p_type == PT_LOAD && (ph->p_flags & rights) == rights && at < ph->p_memsz &&
			size <= ph->p_memsz - at)
			return true;
	}
	return false;
}

static void read_tables(const struct dl_phdr_info *object, struct told *t)
{
	const struct tl_hook_reader reader = {take_row, take_place, t};

	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_NOTE && maps(object, at, ph->p_memsz, PF_R))
			tl_hooks_read((const uint8_t *)at, ph->p_memsz, at, &reader);
	}
}

static void fill(
	struct hook_found *h, const struct dl_phdr_info *object, const struct tl_hook_row *row)
{
	struct tl_hook_info *info = &h->info;
	struct tl_hook_row left = *row;

	*h = (struct hook_found){.info = {.hook = (struct tl_hook *)row->word,
					 .name = row->name,
					 .result = row->result,
					 .file = object->dlpi_name,
					 .form = row->form}};
	while (info->nparameters < TL_HOOK_PARAMETERS &&
		tl_hook_parameter(&left, &info->parameter[info->nparameters]))
		info->nparameters++;
	if (row->word % _Alignof(struct tl_hook) ||
		!maps(object, row->word, sizeof(struct tl_hook), PF_R | PF_W) ||
		!maps(object, row->function, 1, PF_X) || !maps(object, row->mark, 1, PF_X)) {
		h->why = -TL_E_HOOK_TABLE;
		return;
	}
	info->on = info->hook->on;
	h->listeners = __atomic_load_n(&info->hook->listeners, __ATOMIC_RELAXED);
}

static bool is_wanted(const struct told *t, size_t i)
{
	const struct tl_hook_row *row = &t->row[i];

	if (i && t->row[i - 1].word == row->word)
		return false;
	return !t->pattern || !fnmatch(t->pattern, row->name, 0);
}

static void find_hooks(const struct dl_phdr_info *object, struct told *t)
{
	struct hooks_found *f = t->found;
	size_t k = 0;

	qsort(t->row, t->nrows, sizeof(*t->row), compare_rows);
	qsort(t->place, t->nplaces, sizeof(*t->place), compare_places);
	for (size_t i = 0; i < t->nrows && !t->ret; i++) {
		uintptr_t word = t->row[i].word;

		if (!is_wanted(t, i))
			continue;
		f->hook = more(t, f->hook, f->n, &f->max, sizeof(*f->hook));
		if (!f->hook)
			break;
		fill(&f->hook[f->n], object, &t->row[i]);
		for (; k < t->nplaces && t->place[k] <= word; k++)
			f->hook[f->n].info.nplaces += t->place[k] == word;
		f->n++;
	}
	if (!f->hook)
		f->n = 0;
}

static int look_at_file(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct told *t = arg;

	(void)size;
	if (t->word && !maps(object, t->word, 1, PF_R))
		return 0;
	t->nrows = t->nplaces = 0;
	read_tables(object, t);
	if (!t->ret && t->nrows)
		find_hooks(object, t);
	return t->ret;
}

int hook_files_read(uintptr_t word, const char *pattern, struct hooks_found *found)
{
	struct told t = {.word = word, .pattern = pattern, .found = found};

	*found = (struct hooks_found){0};
	dl_iterate_phdr(look_at_file, &t);
	free(t.row);
	free(t.place);
	return t.ret;
}

void hook_files_free(struct hooks_found *found)
{
	free(found->hook);
}

/* The loader unmaps nothing while it goes through its files. */
struct touch {
	struct tl_hook *hook;
	const char *file;
	void (*fn)(struct tl_hook *hook, const void *arg);
	const void *arg;
};

static int touch_in_file(struct dl_phdr_info *object, size_t size, void *arg)
{
	const struct touch *t = arg;

	(void)size;
	if (object->dlpi_name != t->file ||
		!maps(object, (uintptr_t)t->hook, sizeof(*t->hook), PF_R | PF_W))
		return 0;
	t->fn(t->hook, t->arg);
	return 1;
}

bool hook_files_touch(struct tl_hook *hook, const char *file,
	void (*fn)(struct tl_hook *hook, const void *arg), const void *arg)
{
	struct touch t = {hook, file, fn, arg};

	return dl_iterate_phdr(touch_in_file, &t);
}
