/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The places where control enters a function part from another one: landing
 * pads, jumps that lead between parts (.cold and back), jump tables. They are
 * found by one walk over the image, done when the first probe needs it.
 * Nothing is decoded: all that could be a jump or a table counts. What is none
 * in truth costs a window at worst; one too few would be a crash.
 */
#include "../../os/os.h"
#include "../base/addrs.h"
#include "../base/mem.h"
#include "../text/patch.h"
#include "dynsym.h"
#include "ehframe.h"
#include "entries.h"
#include "func.h"
#include "hooks.h"
#include "images.h"

enum { SCAN = 65536, SCAN_SLACK = 64, FAR_DATA = 256 << 20 };

static struct tl_slab noted_slab = {.size = sizeof(struct tl_node)};

static void forget(void *what)
{
	struct tl_entries *en = what;
	struct tl_node *n;

	while ((n = en->noted.root)) {
		tl_index_remove(&en->noted, n);
		tl_slab_put(&noted_slab, n);
	}
	tl_eh_unload(&en->table);
	tl_addrs_deinit(&en->list);
	tl_addrs_deinit(&en->called);
	if (en->near)
		tl_os_free(en->near, en->near_size);
	*en = (struct tl_entries){0};
}

struct tl_entries *tl_entries_of(const struct tl_image *img)
{
	struct tl_image_kept *kept = tl_image_kept(img, TL_KEEPS_ENTRIES);

	_Static_assert(sizeof(struct tl_entries) <= sizeof(kept->what), "it lies there");
	kept->forget = forget;
	return (void *)kept->what;
}

void tl_entries_deinit(void)
{
	tl_slab_deinit(&noted_slab);
}

struct tl_eh_table *tl_entries_table(const struct tl_image *img)
{
	struct tl_entries *en = tl_entries_of(img);

	if (!en->tabled && tl_eh_load(&en->table, img))
		return NULL;
	en->tabled = true;
	return &en->table;
}

const struct tl_dynamic *tl_dynamic_of(const struct tl_image *img)
{
	struct tl_entries *en = tl_entries_of(img);

	if (!en->linked)
		en->linked = tl_dynamic_read(img, &en->dynamic);
	return en->linked ? &en->dynamic : NULL;
}

/* --- the walk over an image ------------------------------------------------------ */

struct scan {
	const struct tl_image *img;
	struct tl_entries *en;
	uintptr_t lo, hi; /* the part being looked at: what stays inside is its own affair */
	struct tl_addrs bases; /* of what may be jump tables */
};

static void add_entry(void *arg, uintptr_t target)
{
	struct scan *s = arg;

	if ((target >= s->lo && target < s->hi) || target < s->img->lo || target >= s->img->hi)
		return;
	if (!tl_addrs_add(&s->en->list, target))
		s->en->incomplete = s->en->nomem = true;
}

/* Landing pads that belong to another part's table. */
static void scan_pads(struct scan *s)
{
	const struct tl_eh_table *t = &s->en->table;

	for (size_t i = 0; i < t->n; i++) {
		struct tl_eh_entry e;

		if (!tl_eh_has_pads(t, i) || tl_eh_entry(t, i, &e))
			continue;
		s->lo = e.part.start;
		s->hi = s->lo + e.part.size;
		if (tl_eh_pads(&e, add_entry, s))
			s->en->incomplete = true;
	}
}

/* Most of what is referred to is data of other kinds: does the first entry lead into the text? */
static void add_base(void *arg, uintptr_t base)
{
	struct scan *s = arg;

	if (base < s->img->bias || (base < s->img->lo && s->img->lo - base > FAR_DATA) ||
		(base >= s->img->hi && base - s->img->hi > FAR_DATA))
		return;
	if (!tl_arch_table_targets(base, 1, s->img->lo, s->img->hi, tl_os_text_read, NULL, NULL))
		return;
	if (!tl_addrs_add(&s->bases, base))
		s->en->incomplete = s->en->nomem = true;
}

/* Between segments there may be nothing, or nothing that runs; text that cannot be read may hold any jump. */
static uintptr_t behind_gap(struct scan *s, uintptr_t at, uintptr_t end)
{
	uintptr_t lo, hi;

	if (!tl_os_text_next(at, &lo, &hi) || lo >= end)
		return end;
	if (lo == at) {
		s->en->incomplete = true;
		return end;
	}
	return lo;
}

/* One block of text, a function of the table after the other; *row: the one behind `at`. */
static void scan_block(struct scan *s, const uint8_t *buf, uintptr_t at, uintptr_t end, size_t *row)
{
	const uint8_t *from = buf;

	while (at < end) {
		uintptr_t stop;

		while (s->hi && s->hi <= at) {
			s->lo = s->hi;
			s->hi = tl_eh_start(&s->en->table, ++*row);
		}
		stop = s->hi && s->hi < end ? s->hi : end;
		tl_arch_wide_jumps(from, stop - at, at, add_entry, add_base, s);
		from += stop - at;
		at = stop;
	}
}

/* Jumps of wide reach that lead from one function of the table to another; what may be a jump table. */
static void scan_text(struct scan *s, uint8_t *buf)
{
	size_t row = 0, got;
	uintptr_t at = s->img->lo;

	s->lo = at;
	s->hi = tl_eh_start(&s->en->table, row);
	while (at < s->img->hi) {
		uintptr_t end = s->img->hi - at < SCAN ? s->img->hi : at + SCAN, next = end;

		got = tl_os_text_read(at, buf, end - at + SCAN_SLACK);
		if (got < end - at) {
			next = behind_gap(s, at + got, end);
			end = at + got;
		}
		tl_patch_original(at, buf, got);
		tl_fill(buf + got, 0, SCAN + SCAN_SLACK - got);
		scan_block(s, buf, at, end, &row);
		tl_os_resched();
		at = next;
	}
}

/*
 * A table ends where its entries stop making sense, or where others begin.
 * The next base might be a wrong one, so one more is allowed for.
 */
static void scan_tables(struct scan *s)
{
	const struct tl_addrs *b = &s->bases;

	tl_addrs_sort(&s->bases);
	s->lo = s->hi = 0; /* whose tables they are is not known: every target counts */
	for (size_t i = 0; i < b->n; i++) {
		uintptr_t end = i + 2 < b->n ? b->at[i + 2] : UINTPTR_MAX;

		tl_arch_table_targets(b->at[i], end - b->at[i], s->img->lo, s->img->hi,
			tl_os_text_read, add_entry, s);
		tl_os_resched();
	}
	tl_addrs_deinit(&s->bases);
}

/* Where a hook's place goes on, switched on or off. */
static int add_place(void *arg, const struct tl_hook_place *place)
{
	add_entry(arg, place->target);
	add_entry(arg, place->at + tl_arch_switch(place->at, place->target, NULL, NULL));
	return 0;
}

static void scan_hooks(struct scan *s)
{
	s->lo = s->hi = 0;
	if (tl_image_places(s->img, add_place, s))
		s->en->incomplete = s->en->nomem = true;
}

static int scan(const struct tl_image *img, struct tl_entries *en)
{
	struct scan s = {.img = img, .en = en};
	uint8_t *buf = tl_entries_table(img) ? tl_os_alloc(SCAN + SCAN_SLACK) : NULL;

	if (!en->near) {
		en->near_size = en->table.n / 8 + 1;
		en->near = tl_os_alloc(en->near_size);
	}
	if (buf && en->near) {
		en->scanned = true;
		scan_pads(&s);
		scan_text(&s, buf);
		scan_tables(&s);
		scan_hooks(&s);
		tl_addrs_sort(&en->list);
	}
	if (buf)
		tl_os_free(buf, SCAN + SCAN_SLACK);
	return en->scanned ? 0 : -TL_E_NOMEM;
}

/* --- asking ------------------------------------------------------------------------ */

/* The first of the walk's entries at or behind addr. */
static size_t entry_at(const struct tl_entries *en, uintptr_t addr)
{
	size_t a = 0, b = en->list.n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;

		if (en->list.at[mid] < addr)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

void tl_image_note_entry(void *arg, uintptr_t target)
{
	const struct tl_image *img = tl_image_find(target);
	struct tl_entries *en = img ? tl_entries_of(img) : NULL;
	struct tl_node *n;
	size_t i;

	(void)arg;
	if (!en || tl_index_find(&en->noted, target))
		return;
	i = entry_at(en, target);
	if (i < en->list.n && en->list.at[i] == target)
		return;
	n = tl_slab_get(&noted_slab);
	if (n)
		tl_index_insert(&en->noted, n, target);
	else
		en->incomplete = en->nomem = true;
}

/* Walks the i-th function, once, for the jumps that leave it. */
static void walk_near(const struct tl_image *img, struct tl_entries *en, size_t i)
{
	uintptr_t start = tl_eh_start(&en->table, i);
	size_t size = tl_eh_size(&en->table, i);
	const struct tl_code *code;
	int ret;

	en->near[i / 8] |= (uint8_t)(1 << i % 8);
	if (start < img->lo || start + size > img->hi)
		return;
	ret = tl_func_walk(start, size, tl_eh_start(&en->table, i + 1), &code);
	en->nomem |= ret == -TL_E_NOMEM;
	if (!ret)
		tl_arch_code_leaves(code, tl_image_note_entry, NULL);
}

static bool walked(const struct tl_entries *en, size_t i)
{
	return en->near[i / 8] >> i % 8 & 1;
}

/* Functions are asked for in order: what was walked for the last one is stepped over. */
static bool in_run(const struct tl_entries *en, size_t i)
{
	return i >= en->near_lo && i < en->near_hi;
}

/* [lo, hi) less the function itself, which begins at `own`, unless it was walked as a neighbour before. */
static void note_run(struct tl_entries *en, size_t lo, size_t own, size_t behind, size_t hi)
{
	while (own < behind && walked(en, own))
		own++;
	lo = own < behind ? behind : lo;
	if (lo > en->near_hi || hi < en->near_lo)
		en->near_lo = en->near_hi = lo;
	en->near_lo = lo < en->near_lo ? lo : en->near_lo;
	en->near_hi = hi > en->near_hi ? hi : en->near_hi;
}

/*
 * Short jumps reach what lies near only, small functions in between or not: all of that is decoded properly, up to
 * what the table cannot tell.
 */
static void scan_near(const struct tl_image *img, struct tl_entries *en, uintptr_t lo, uintptr_t hi)
{
	struct tl_eh_table *t = &en->table;
	size_t own = t->n ? tl_eh_upto(t, lo - 1) : 0, behind = t->n ? tl_eh_upto(t, hi - 1) : 0;
	size_t first = own, end = behind, size;

	for (size_t i = end; i < t->n && tl_eh_size(t, i) && tl_eh_start(t, i) < hi + tl_arch_near;
		end = ++i) {
		if (in_run(en, i))
			i = en->near_hi - 1;
		else if (!walked(en, i))
			walk_near(img, en, i);
	}
	for (; first && (size = tl_eh_size(t, first - 1)); first--) {
		if (in_run(en, first - 1))
			first = en->near_lo + 1;
		else if (tl_eh_start(t, first - 1) + size + tl_arch_near <= lo)
			break;
		else if (!walked(en, first - 1))
			walk_near(img, en, first - 1);
	}
	note_run(en, first, own, behind, end);
}

int tl_image_entries(const struct tl_image *img, uintptr_t lo, uintptr_t hi, uintptr_t *pads,
	size_t max, size_t *npads)
{
	struct tl_entries *en = tl_entries_of(img);
	struct tl_pad_list list = {.pads = pads, .n = *npads, .max = max, .lo = lo, .hi = hi};
	struct tl_node *n;
	size_t a;
	int ret;

	en->nomem = false;
	if (!en->scanned && scan(img, en))
		return -TL_E_NOMEM;
	scan_near(img, en, lo, hi);
	if (en->nomem) {
		forget(en); /* all over again next time */
		return -TL_E_NOMEM;
	}
	for (a = entry_at(en, lo); a < en->list.n && en->list.at[a] < hi; a++)
		tl_pad_add(&list, en->list.at[a]);
	for (n = tl_index_ceil(&en->noted, lo); n && n->key < hi;
		n = tl_index_ceil(&en->noted, n->key + 1))
		tl_pad_add(&list, n->key);
	ret = tl_os_text_entries(lo, hi, tl_pad_add, &list);
	*npads = list.n;
	return ret || !(list.full || en->incomplete) ? ret : -TL_E_LIMIT;
}
