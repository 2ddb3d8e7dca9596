/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Code that no unwind entry covers: assembler without one, or whose entry ends where there is no caller any more (the
 * system call that makes a thread). It is proven by what leads there from functions that are covered: control falls out
 * of one, or a direct jump or call does. From there on by the same, instruction by instruction.
 */
#include "../../os/os.h"
#include "../base/addrs.h"
#include "../base/mem.h"
#include "../text/patch.h"
#include "ehframe.h"
#include "entries.h"
#include "func.h"

enum { GAP_MAX = 4096, SCAN = 65536, SCAN_SLACK = 8 };

/* Between two functions of the table; `before` ends where it begins, `size` 0: there is none. */
struct gap {
	struct tl_func_part before;
	uintptr_t lo, hi;
};

static uintptr_t lower(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

/* False: a function of the table holds addr, or one whose end is not known stands before it. */
static bool gap_at(struct tl_eh_table *t, uintptr_t addr, struct gap *g)
{
	size_t n = t->n ? tl_eh_upto(t, addr) : 0;
	uintptr_t next = tl_eh_start(t, n);

	g->before = (struct tl_func_part){0, 0};
	g->lo = t->img->lo;
	if (n) {
		g->before = (struct tl_func_part){tl_eh_start(t, n - 1), tl_eh_size(t, n - 1)};
		g->lo = g->before.start + g->before.size;
	}
	g->hi = next ? lower(next, t->img->hi) : t->img->hi;
	return (!n || g->before.size) && addr >= g->lo && addr < g->hi;
}

/* Of what begins at `start`, whose first `known` bytes are code, up to where nothing is proven any more. */
static bool reaches(const struct gap *g, uintptr_t start, size_t known, uintptr_t addr,
	struct tl_func_part *part, bool *alone)
{
	uintptr_t end = lower(g->hi, start + known + GAP_MAX);
	const struct tl_code *code;
	size_t size;

	if (addr >= end || tl_func_walk(start, end - start, 0, &code))
		return false;
	size = tl_arch_code_reached(code, known);
	if (addr - start >= size)
		return false;
	*part = (struct tl_func_part){start, size};
	*alone = known && start + size == g->hi;
	return true;
}

/* --- what is called ------------------------------------------------------------- */

typedef void (*call_fn)(void *arg, uintptr_t from, uintptr_t target);

/* What may be a call or a jump, anywhere in the image. Text that cannot be read proves nothing. */
static void each_call(const struct tl_image *img, call_fn fn, void *arg)
{
	uint8_t *buf = tl_os_alloc(SCAN + SCAN_SLACK);
	size_t got = SCAN;

	for (uintptr_t at = img->lo; buf && at < img->hi && got >= SCAN; at += SCAN) {
		tl_fill(buf, 0, SCAN + SCAN_SLACK);
		got = tl_os_text_read(at, buf, lower(img->hi - at, SCAN + SCAN_SLACK));
		tl_patch_original(at, buf, got);
		tl_arch_wide_calls(buf, lower(got, SCAN), at, fn, arg);
		tl_os_resched();
	}
	if (buf)
		tl_os_free(buf, SCAN + SCAN_SLACK);
}

static void note(void *arg, uintptr_t from, uintptr_t target)
{
	struct tl_eh_table *t = arg;
	struct gap g;

	(void)from;
	if (target >= t->img->lo && target < t->img->hi && gap_at(t, target, &g))
		tl_addrs_add(&tl_entries_of(t->img)->called, target);
}

struct proof {
	struct tl_eh_table *table;
	uintptr_t target;
	bool found;
};

/* An instruction of a function of the table? */
static void prove(void *arg, uintptr_t from, uintptr_t target)
{
	struct proof *p = arg;
	const struct tl_code *code;
	struct gap g;
	size_t n;

	if (p->found || target != p->target || gap_at(p->table, from, &g))
		return;
	n = tl_eh_upto(p->table, from);
	if (!n || from - tl_eh_start(p->table, n - 1) >= tl_eh_size(p->table, n - 1) ||
		tl_func_walk(tl_eh_start(p->table, n - 1), tl_eh_size(p->table, n - 1), 0, &code))
		return;
	n = from - code->start;
	p->found = code->complete && code->boundary[n / 8] >> n % 8 & 1;
}

static bool is_called(struct tl_eh_table *t, uintptr_t target)
{
	struct proof p = {.table = t, .target = target};

	each_call(t->img, prove, &p);
	return p.found;
}

static const struct tl_addrs *may_be_called(struct tl_eh_table *t)
{
	struct tl_entries *en = tl_entries_of(t->img);

	if (!en->calls_known) {
		each_call(t->img, note, t);
		tl_addrs_sort(&en->called);
	}
	en->calls_known = true;
	return &en->called;
}

bool tl_gap_proves(struct tl_eh_table *t, uintptr_t addr, struct tl_func_part *part, bool *alone)
{
	const struct tl_addrs *called;
	struct tl_func_part found;
	bool only;
	struct gap g;
	size_t n;

	if (!gap_at(t, addr, &g))
		return false;
	if (g.before.size && reaches(&g, g.before.start, g.before.size, addr, part, alone))
		return true;
	called = may_be_called(t);
	for (n = called->n; n && called->at[n - 1] > addr; n--)
		;
	for (; n && called->at[n - 1] >= g.lo; n--) {
		if (!reaches(&g, called->at[n - 1], 0, addr, &found, &only) ||
			!is_called(t, called->at[n - 1]))
			continue;
		*part = found;
		*alone = only;
		return true;
	}
	return false;
}
