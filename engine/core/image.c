/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Mapped images, their functions, and the places where control enters a
 * function part from another one: landing pads and jumps that lead between
 * parts (.cold and back). Those are found by one walk over the image, done
 * when the first probe needs it.
 */
#include "ehframe.h"

struct image {
	struct tl_image img;
	struct image *next;
	uintptr_t *entries; /* sorted; NULL until scanned */
	size_t nentries, max;
	size_t nsorted; /* those behind were noted since */
	bool scanned, incomplete;
	bool nomem; /* of this attempt: worth another one later */
	uint8_t *near; /* bit per function of the table: its short jumps are among the entries */
	size_t near_size;
};

static struct image *images;
static struct tl_func near_func; /* memory for looking at neighbours */
static struct tl_slab slab = {.size = sizeof(struct image)};

static void forget_entries(struct image *im)
{
	if (im->entries)
		tl_os_free(im->entries, im->max * sizeof(*im->entries));
	if (im->near)
		tl_os_free(im->near, im->near_size);
	im->near = NULL;
	im->entries = NULL;
	im->nentries = im->nsorted = im->max = 0;
	im->scanned = im->incomplete = false;
}

int tl_image_add(const struct tl_image *img)
{
	struct image *im;

	TL_ASSERT_HELD();
	for (im = images; im; im = im->next)
		if (im->img.lo == img->lo)
			break;
	if (im && im->img.hi == img->hi && im->img.eh_frame_hdr == img->eh_frame_hdr) {
		im->img = *img;
		return 0;
	}
	if (im) {
		forget_entries(im);
		im->img = *img;
		tl_func_forget(&tl_core.func);
		return 0;
	}
	im = tl_slab_get(&slab);
	if (!im)
		return -TL_E_NOMEM;
	im->img = *img;
	im->next = images;
	images = im;
	return 0;
}

void tl_image_remove(uintptr_t lo)
{
	struct image **link, *im;

	TL_ASSERT_HELD();
	for (link = &images; (im = *link); link = &im->next) {
		if (im->img.lo != lo)
			continue;
		*link = im->next;
		forget_entries(im);
		tl_slab_put(&slab, im);
		tl_func_forget(&tl_core.func);
		return;
	}
}

void tl_images_deinit(void)
{
	struct image *im;

	for (im = images; im; im = im->next)
		forget_entries(im);
	images = NULL;
	tl_func_deinit(&near_func);
	tl_slab_deinit(&slab);
}

const struct tl_image *tl_image_find(uintptr_t addr)
{
	struct image *im;

	for (im = images; im; im = im->next)
		if (addr >= im->img.lo && addr < im->img.hi)
			return &im->img;
	return NULL;
}

/* --- pads of one function ------------------------------------------------ */

struct pad_list {
	uintptr_t *pads;
	size_t n, max;
	uintptr_t lo, hi; /* only those inside */
	bool full;
};

static void add_pad(void *arg, uintptr_t pad)
{
	struct pad_list *l = arg;
	size_t i;

	if (pad < l->lo || pad >= l->hi)
		return;
	for (i = l->n; i && l->pads[i - 1] >= pad; i--)
		if (l->pads[i - 1] == pad)
			return;
	if (l->n == l->max) {
		l->full = true;
		return;
	}
	for (size_t k = l->n++; k > i; k--)
		l->pads[k] = l->pads[k - 1];
	l->pads[i] = pad;
}

int tl_image_function_next(const struct tl_image *img, uintptr_t addr, struct tl_func_part *part,
	uintptr_t *pads, size_t max, size_t *npads, uintptr_t *next)
{
	struct pad_list list = {.pads = pads, .max = max};
	struct tl_eh_entry e;
	int ret = tl_eh_find(img, addr, &e);

	*npads = 0;
	*next = 0;
	if (ret)
		return ret;
	*part = e.part;
	*next = e.next;
	list.lo = part->start;
	list.hi = part->start + part->size;
	ret = tl_eh_pads(&e, add_pad, &list);
	*npads = list.n;
	return list.full ? -TL_E_LIMIT : ret;
}

int tl_image_function(const struct tl_image *img, uintptr_t addr, struct tl_func_part *part,
	uintptr_t *pads, size_t max, size_t *npads)
{
	uintptr_t next;

	return tl_image_function_next(img, addr, part, pads, max, npads, &next);
}

/* --- entries from other parts ----------------------------------------------- */

struct scan {
	struct image *im;
	uintptr_t lo, hi; /* the part being looked at */
};

enum { SCAN = 65536, SCAN_SLACK = 64, NEAR = 256, RECENT = 512 };

static void add_entry(void *arg, uintptr_t target)
{
	struct scan *s = arg;
	struct image *im = s->im;

	if ((target >= s->lo && target < s->hi) || target < im->img.lo || target >= im->img.hi)
		return;
	if (im->nentries == im->max) {
		size_t max = im->max ? im->max * 2 : 4096;
		uintptr_t *grown = tl_os_alloc(max * sizeof(*grown));

		if (!grown) {
			im->incomplete = im->nomem = true;
			return;
		}
		if (im->entries) {
			tl_copy(grown, im->entries, im->nentries * sizeof(*grown));
			tl_os_free(im->entries, im->max * sizeof(*grown));
		}
		im->entries = grown;
		im->max = max;
	}
	im->entries[im->nentries++] = target;
}

static void sift(uintptr_t *a, size_t i, size_t n)
{
	for (;;) {
		size_t big = 2 * i + 1;
		uintptr_t t;

		if (big >= n)
			return;
		if (big + 1 < n && a[big + 1] > a[big])
			big++;
		if (a[i] >= a[big])
			return;
		t = a[i];
		a[i] = a[big];
		a[big] = t;
		i = big;
	}
}

static void sort(uintptr_t *a, size_t n)
{
	for (size_t i = n / 2; i--;)
		sift(a, i, n);
	while (n > 1) {
		uintptr_t t = a[--n];

		a[n] = a[0];
		a[0] = t;
		sift(a, 0, n);
	}
}

/* Landing pads that belong to another part's table. */
static void scan_tables(struct image *im)
{
	struct scan s = {.im = im};
	size_t n = tl_eh_count(&im->img);

	for (size_t i = 0; i < n; i++) {
		struct tl_eh_entry e;

		if (tl_eh_entry(&im->img, i, &e) || !e.lsda)
			continue;
		s.lo = e.part.start;
		s.hi = s.lo + e.part.size;
		if (tl_eh_pads(&e, add_entry, &s))
			im->incomplete = true;
	}
}

/*
 * Whatever can be read as a jump of wide reach that leads from one function
 * of the table to another. Nothing is decoded: what is no jump in truth costs
 * a window at worst, and code that no table lists is looked at too.
 */
static void scan_text(struct image *im, uint8_t *buf)
{
	struct scan s = {.im = im, .lo = im->img.lo};
	size_t row = 0, got;
	uintptr_t at = im->img.lo;

	s.hi = tl_eh_start(&im->img, row);
	while (at < im->img.hi) {
		uintptr_t end;

		while (s.hi && s.hi <= at) {
			s.lo = s.hi;
			s.hi = tl_eh_start(&im->img, ++row);
		}
		end = s.hi && s.hi < im->img.hi ? s.hi : im->img.hi;
		if (end - at > SCAN)
			end = at + SCAN;
		got = tl_os_text_read(at, buf, end - at + SCAN_SLACK);
		if (got < end - at)
			im->incomplete = true;
		tl_patch_original(at, buf, got);
		tl_fill(buf + got, 0, end - at + SCAN_SLACK - got);
		tl_arch_wide_jumps(buf, end - at, at, add_entry, &s);
		at = end;
	}
}

static int scan(struct image *im)
{
	size_t near_size = tl_eh_count(&im->img) / 8 + 1;
	uint8_t *buf = tl_os_alloc(SCAN + SCAN_SLACK);

	if (!im->near) {
		im->near = tl_os_alloc(near_size);
		im->near_size = near_size;
	}
	if (buf && im->near) {
		im->scanned = true;
		scan_tables(im);
		scan_text(im, buf);
	}
	if (buf)
		tl_os_free(buf, SCAN + SCAN_SLACK);
	return im->scanned ? 0 : -TL_E_NOMEM;
}

/* The first sorted entry at or behind addr. */
static size_t entry_at(struct image *im, uintptr_t addr)
{
	size_t a = 0, b;

	if (im->nentries - im->nsorted > RECENT) {
		sort(im->entries, im->nentries);
		im->nsorted = im->nentries;
	}
	for (b = im->nsorted; a < b;) {
		size_t mid = a + (b - a) / 2;

		if (im->entries[mid] < addr)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

void tl_image_note_entry(void *arg, uintptr_t target)
{
	struct scan s = {.im = (struct image *)(uintptr_t)tl_image_find(target)};
	size_t i;

	(void)arg;
	if (!s.im)
		return;
	i = entry_at(s.im, target);
	if (i < s.im->nsorted && s.im->entries[i] == target)
		return;
	for (i = s.im->nsorted; i < s.im->nentries; i++)
		if (s.im->entries[i] == target)
			return;
	add_entry(&s, target);
}

/* Walks a function, once, for the jumps that leave it. */
static void walk_near(struct image *im, const struct tl_eh_entry *e)
{
	uint8_t bit = (uint8_t)(1 << e->index % 8);

	if (!im->near || e->index / 8 >= im->near_size || (im->near[e->index / 8] & bit))
		return;
	im->near[e->index / 8] |= bit;
	if (e->part.start < im->img.lo || e->part.start + e->part.size > im->img.hi)
		return;
	if (tl_func_walk(&near_func, e->part.start, e->part.size) == -TL_E_NOMEM)
		im->nomem = true;
	else
		tl_arch_code_leaves(&near_func.code, tl_image_note_entry, NULL);
}

/* Short jumps reach the neighbours only: those are decoded properly. */
static void scan_near(struct image *im, uintptr_t lo, uintptr_t hi)
{
	size_t before = tl_eh_upto(&im->img, lo - 1), behind = tl_eh_upto(&im->img, hi - 1);
	struct tl_eh_entry e;

	if (before && !tl_eh_entry(&im->img, before - 1, &e) &&
		lo - (e.part.start + e.part.size) < NEAR)
		walk_near(im, &e);
	if (!tl_eh_entry(&im->img, behind, &e) && e.part.start - hi < NEAR)
		walk_near(im, &e);
}

int tl_image_entries(const struct tl_image *img, uintptr_t lo, uintptr_t hi, uintptr_t *pads,
	size_t max, size_t *npads)
{
	struct image *im = (struct image *)(uintptr_t)img; /* img is its first member */
	struct pad_list list = {.pads = pads, .n = *npads, .max = max, .lo = lo, .hi = hi};
	size_t a;

	im->nomem = false;
	if (!im->scanned && scan(im))
		return -TL_E_NOMEM;
	scan_near(im, lo, hi);
	if (im->nomem) {
		forget_entries(im); /* all over again next time */
		return -TL_E_NOMEM;
	}
	a = entry_at(im, lo);
	for (; a < im->nsorted && im->entries[a] < hi; a++)
		add_pad(&list, im->entries[a]);
	for (a = im->nsorted; a < im->nentries; a++)
		add_pad(&list, im->entries[a]); /* it takes only those inside */
	*npads = list.n;
	return list.full || im->incomplete ? -TL_E_LIMIT : 0;
}
