/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory for detours: few, large, sparse reservations near the text, and never
 * a page that is writable and executable at once. Private memory, not a shared
 * file with two views: a fork child keeps the detours that its text jumps to,
 * whatever the parent does later.
 *
 * A page is written in one of two ways. A fresh one is made writable, filled,
 * and sealed (made executable) together with its neighbours before anything can
 * lead to it. A page that is already live is replaced: its copy, changed, takes
 * its place by one mremap; threads that run there meet the same bytes before
 * and after. Sealing happens at the latest when text is opened or changed.
 */
#include "../../core/base/mem.h"
#include "process.h"

enum {
	AREAS = 1024,
	SWAPS = 32,
	OPEN_MAX = 1024,
	LOOSE_MAX = 64, /* then neighbours among an area's loose pages become one mapping */
	PIECES_MAX = 256, /* then all live ones do */
	RW = TL_PROT_READ | TL_PROT_WRITE,
	RX = TL_PROT_READ | TL_PROT_EXEC,
};
#define PRIVATE (TL_MAP_PRIVATE | TL_MAP_ANONYMOUS | TL_MAP_NORESERVE)

/* LOOSE: live, in a mapping of its own since it was replaced. */
enum page_state { FRESH, OPEN, WRITTEN, LIVE, LOOSE, SWAPPED };

struct area {
	uintptr_t at;
	size_t size;
	uint8_t *page; /* enum page_state of each */
	uintptr_t open_lo, open_hi; /* every OPEN or WRITTEN page lies in here */
	uintptr_t written; /* the end of the page written last */
	unsigned nloose, pieces;
};

struct swap {
	uintptr_t at, copy;
};

/* All under the engine lock. */
static struct area areas[AREAS];
static struct swap swaps[SWAPS];
static unsigned nswaps;
static bool pending; /* something is WRITTEN or SWAPPED */
static unsigned nopen; /* runs of OPEN and WRITTEN pages: mappings of their own until sealed */

static long map_at(uintptr_t at, size_t size, int prot, int flags)
{
	return tl_syscall6(TL_NR_mmap, (long)at, (long)size, prot, PRIVATE | flags, -1, 0);
}

static int protect(uintptr_t at, size_t size, int prot)
{
	return tl_syscall3(TL_NR_mprotect, (long)at, (long)size, prot)
		       ? tl_mappings_why(-TL_E_NOMEM)
		       : 0;
}

/* An area, and each piece of one with what is left of it behind the piece. */
size_t tl_code_mappings(void)
{
	size_t n = 0;

	for (unsigned i = 0; i < AREAS; i++)
		n += areas[i].size ? 1 + 2 * (areas[i].nloose + areas[i].pieces) : 0;
	return n;
}

/* --- finding a place ------------------------------------------------------ */

/* Not where the heap or the first thread's stack is going to grow; other stacks do not. */
static bool in_growth(uintptr_t at, size_t size)
{
	const uintptr_t stack_room = 128ul << 20;
	uintptr_t brk = (uintptr_t)tl_syscall3(TL_NR_brk, 0, 0, 0);
	struct tl_mapping above;

	if (at < brk + TL_HEAP_ROOM && at + size > brk)
		return true;
	if (at + size < TL_STACK_LOWEST - stack_room)
		return false;
	return tl_home_map(at + size, &above) && above.lo >= at + size &&
	       (above.prot & TL_PROT_WRITE) && above.lo >= TL_STACK_LOWEST &&
	       above.lo - (at + size) < stack_room;
}

static bool try_at(uintptr_t at, size_t size, bool careful)
{
	long ret = map_at(at, size, RX, TL_MAP_FIXED_NOREPLACE);

	if (tl_syscall_failed(ret))
		return false;
	/* Some kernels take the address as a hint. */
	if (ret != (long)at || (careful && in_growth(at, size))) {
		tl_syscall3(TL_NR_munmap, ret, (long)size, 0);
		return false;
	}
	/* A few bytes in use must not become 2 MiB. */
	tl_syscall3(TL_NR_madvise, (long)at, (long)size, TL_MADV_NOHUGEPAGE);
	return true;
}

/* From just below the text downwards: nothing grows there. Then from far above it. */
static uintptr_t find_place(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t step)
{
	uintptr_t mid = tl_page_down(lo + (hi - lo) / 2), at;

	if (hi - lo == size)
		return try_at(lo, size, true) ? lo : 0;
	for (at = mid - size; at >= lo && at < mid; at -= step) {
		if (try_at(at, size, false))
			return at;
	}
	for (at = tl_page_down(hi - size); at >= mid && at < hi; at -= step) {
		if (try_at(at, size, true))
			return at;
	}
	return 0;
}

int tl_os_code_reserve(uintptr_t lo, uintptr_t hi, size_t size, uintptr_t *at)
{
	const uintptr_t lowest = 0x10000, highest = TL_USER_END;
	uintptr_t step;
	unsigned i;
	int ret = tl_mappings_room(1);

	if (ret)
		return ret;
	size = tl_page_up(size);
	lo = tl_page_up(lo < lowest ? lowest : lo);
	hi = tl_page_down(hi > highest ? highest : hi);
	if (!size || lo >= hi || hi - lo < size)
		return -TL_E_OUT_OF_REACH;
	for (i = 0; i < AREAS && areas[i].size; i++)
		;
	if (i == AREAS)
		return -TL_E_LIMIT;
	areas[i] = (struct area){.size = size};
	areas[i].page = tl_os_alloc(size / TL_PAGE);
	if (!areas[i].page)
		goto no_memory;
	for (step = 16ul << 20; step >= 64ul << 10 && !areas[i].at; step /= 16) {
		areas[i].at = find_place(lo, hi, size, step);
		if (hi - lo == size)
			break;
	}
	if (!areas[i].at)
		goto free_pages;
	ret = tl_home_area_add(areas[i].at, size);
	if (ret) {
		tl_os_code_release(areas[i].at, size);
		return ret;
	}
	*at = areas[i].at;
	return 0;
free_pages:
	tl_os_free(areas[i].page, size / TL_PAGE);
	areas[i].size = 0;
	return -TL_E_OUT_OF_REACH;
no_memory:
	areas[i].size = 0;
	return -TL_E_NOMEM;
}

static struct area *area_of(uintptr_t at)
{
	static unsigned last; /* one detour comes behind the other */

	for (unsigned n = 0; n < AREAS; n++) {
		struct area *a = &areas[(last + n) % AREAS];

		if (a->size && at - a->at < a->size) {
			last = (last + n) % AREAS;
			return a;
		}
	}
	return NULL;
}

static uint8_t *state_of(const struct area *a, uintptr_t at)
{
	return &a->page[(at - a->at) / TL_PAGE];
}

/* --- writing -------------------------------------------------------------- */

/* Makes a fresh page writable, where writes go upwards a few more behind it too. */
static int open_fresh(struct area *a, uintptr_t at)
{
	const size_t ahead = at == a->written || at == a->at ? 16 : 1;
	uintptr_t end = at;
	int ret;

	if (nopen >= OPEN_MAX) {
		ret = tl_code_seal();
		if (ret)
			return ret;
	}
	while (end < a->at + a->size && end - at < ahead * TL_PAGE && *state_of(a, end) == FRESH)
		end += TL_PAGE;
	ret = protect(at, end - at, RW);
	if (ret)
		return ret;
	nopen++;
	if (a->open_lo == a->open_hi)
		a->open_lo = a->open_hi = at;
	a->open_lo = at < a->open_lo ? at : a->open_lo;
	a->open_hi = end > a->open_hi ? end : a->open_hi;
	for (; at < end; at += TL_PAGE)
		*state_of(a, at) = OPEN;
	return 0;
}

static int open_copy(struct area *a, uintptr_t at)
{
	int err = tl_mappings_room(2);
	long ret;

	if (!err && nswaps == SWAPS)
		err = tl_code_seal();
	if (err)
		return err;
	ret = map_at(0, TL_PAGE, RW, 0);
	if (tl_syscall_failed(ret))
		return tl_mappings_why(-TL_E_NOMEM);
	tl_copy((void *)ret, (const void *)at, TL_PAGE);
	swaps[nswaps++] = (struct swap){at, (uintptr_t)ret};
	a->nloose += *state_of(a, at) == LIVE;
	*state_of(a, at) = SWAPPED;
	return 0;
}

/* Where writes to this page go now. */
static uintptr_t page_view(struct area *a, uintptr_t at)
{
	unsigned i;

	if (*state_of(a, at) != SWAPPED)
		return at;
	for (i = 0; i < nswaps && swaps[i].at != at; i++)
		;
	return swaps[i].copy;
}

static int write_in_page(struct area *a, uintptr_t at, const void *bytes, size_t len)
{
	uintptr_t page = tl_page_down(at);
	int ret = 0;

	if (*state_of(a, page) == FRESH)
		ret = open_fresh(a, page);
	else if (*state_of(a, page) == LIVE || *state_of(a, page) == LOOSE)
		ret = open_copy(a, page);
	if (ret)
		return ret;
	tl_copy((void *)(page_view(a, page) + (at - page)), bytes, len);
	if (*state_of(a, page) == OPEN)
		*state_of(a, page) = WRITTEN;
	if (*state_of(a, page) == WRITTEN)
		a->written = page + TL_PAGE;
	pending = true;
	return 0;
}

bool tl_os_code_at_will(void)
{
	return true;
}

int tl_os_code_write(uintptr_t at, const void *bytes, size_t len)
{
	struct area *a = area_of(at);
	const uint8_t *from = bytes;

	if (!a || len > a->at + a->size - at)
		return -TL_E_INVAL;
	while (len) {
		size_t n = TL_PAGE - (at & (TL_PAGE - 1));
		int ret;

		if (n > len)
			n = len;
		ret = write_in_page(a, at, from, n);
		if (ret)
			return ret;
		at += n;
		from += n;
		len -= n;
	}
	return 0;
}

/* --- sealing -------------------------------------------------------------- */

static bool is_open(const struct area *a, uintptr_t at)
{
	return *state_of(a, at) == OPEN || *state_of(a, at) == WRITTEN;
}

/* All of an area has one protection again, so that it is one mapping. Pages opened in vain are as before. */
static int seal_open(struct area *a)
{
	uintptr_t at = a->open_lo, end;

	for (; at < a->open_hi; at = end) {
		int ret;

		for (end = at; end < a->open_hi && is_open(a, end);)
			end += TL_PAGE;
		if (end == at) {
			end += TL_PAGE;
			continue;
		}
		ret = protect(at, end - at, RX);
		if (ret)
			return ret;
		for (; at < end; at += TL_PAGE)
			*state_of(a, at) = *state_of(a, at) == WRITTEN ? LIVE : FRESH;
	}
	a->open_lo = a->open_hi = 0;
	return 0;
}

/* What was prepared at `from` becomes the code at `at`, all at once. */
static int put_in_place(uintptr_t from, uintptr_t at, size_t size)
{
	int ret = protect(from, size, RX);

	if (ret)
		return ret;
	if (tl_syscall6(TL_NR_mremap, (long)from, (long)size, (long)size,
		    TL_MREMAP_MAYMOVE | TL_MREMAP_FIXED, (long)at, 0) != (long)at)
		return tl_mappings_why(-TL_E_NOMEM);
	return 0;
}

static int seal_swaps(void)
{
	while (nswaps) {
		const struct swap *s = &swaps[nswaps - 1];
		int ret = put_in_place(s->copy, s->at, TL_PAGE);

		if (ret)
			return ret;
		*state_of(area_of(s->at), s->at) = LOOSE;
		nswaps--;
	}
	return 0;
}

static bool is_piece(const struct area *a, uintptr_t at, bool all)
{
	if (at >= a->at + a->size)
		return false;
	return *state_of(a, at) == LOOSE || (all && *state_of(a, at) == LIVE);
}

/* Replaces [at, end) by one mapping with the same bytes. */
static bool make_one(struct area *a, uintptr_t at, uintptr_t end)
{
	long from = map_at(0, end - at, RW, 0);

	if (tl_syscall_failed(from))
		return false;
	tl_copy((void *)from, (const void *)at, end - at);
	if (put_in_place((uintptr_t)from, at, end - at)) {
		tl_os_free((void *)from, end - at);
		return false;
	}
	for (; at < end; at += TL_PAGE)
		*state_of(a, at) = LIVE;
	a->pieces++;
	return true;
}

/* Pages in use, and how many runs they make. */
static unsigned pages_in_use(const struct area *a, unsigned *runs)
{
	unsigned n = 0;
	bool before = false;

	*runs = 0;
	for (uintptr_t at = a->at; at < a->at + a->size; at += TL_PAGE) {
		bool in_use = is_piece(a, at, true);

		n += in_use;
		*runs += in_use && !before;
		before = in_use;
	}
	return n;
}

/* Every mapping counts against a limit of the whole program. Failing does no harm. */
static void gather_loose(struct area *a)
{
	uintptr_t at = a->at, end;
	bool all = false;

	a->nloose = 0;
	if (a->pieces > PIECES_MAX) {
		unsigned runs, n = pages_in_use(a, &runs);

		all = runs < PIECES_MAX / 4; /* scattered ones gain nothing */
		a->pieces = all ? 0 : a->pieces < n ? a->pieces : n;
	}
	for (; at < a->at + a->size; at = end) {
		for (end = at; is_piece(a, end, all);)
			end += TL_PAGE;
		if (end == at)
			end += TL_PAGE;
		else if (!make_one(a, at, end))
			return;
	}
}

int tl_code_seal(void)
{
	unsigned i;
	int ret;

	if (!pending)
		return 0;
	ret = seal_swaps();
	for (i = 0; !ret && i < AREAS; i++) {
		if (!areas[i].size)
			continue;
		ret = seal_open(&areas[i]);
		if (!ret && areas[i].nloose >= LOOSE_MAX)
			gather_loose(&areas[i]);
	}
	if (!ret) {
		pending = false;
		nopen = 0;
	}
	return ret;
}

static void drop_swaps(const struct area *a)
{
	unsigned i = 0;

	while (i < nswaps) {
		if (swaps[i].at - a->at >= a->size) {
			i++;
			continue;
		}
		tl_os_free((void *)swaps[i].copy, TL_PAGE);
		swaps[i] = swaps[--nswaps];
	}
}

void tl_os_code_release(uintptr_t at, size_t size)
{
	struct area *a = area_of(at);

	if (!a || a->at != at || a->size != tl_page_up(size))
		return;
	tl_home_area_drop(at);
	drop_swaps(a);
	tl_syscall3(TL_NR_munmap, (long)at, (long)a->size, 0);
	tl_os_free(a->page, a->size / TL_PAGE);
	*a = (struct area){0};
}
