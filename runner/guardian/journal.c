/* SPDX-License-Identifier: MIT */
/* The engine's journal of original bytes, as it lies in a process: what is patched there, and taking it out. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../engine/core/internal.h"
#include "../../engine/os/process/process.h"
#include "guardian.h"

/* The entries that lie in `pid`, *n of them; NULL: none, or with *n set they cannot be read. */
static struct tl_journal_entry *journal_read(struct guardian *g, pid_t pid, uint32_t *n)
{
	struct tl_journal head;
	struct tl_journal_entry *e;
	uint64_t at = 0;

	*n = 0;
	if (target_read(g, pid, g->ctl->journal, &at, sizeof(at)) != sizeof(at) || !at)
		return NULL;
	*n = 1;
	if (target_read(g, pid, at, &head, sizeof(head)) != sizeof(head) ||
		head.magic != TL_JOURNAL_MAGIC || head.max > 1u << 24)
		return NULL;
	e = calloc(head.max, sizeof(*e));
	if (e && target_read(g, pid, at + sizeof(head), e, head.max * sizeof(*e)) ==
			 head.max * sizeof(*e)) {
		*n = head.max;
		return e;
	}
	free(e);
	return NULL;
}

/* By what a dead session left: it was given back, as all memory is, once nothing was patched any more. */
bool journal_gone(struct guardian *g)
{
	const struct tl_ctl_area *a = g->ctl->areas, *end = a + ctl_areas(g);
	uint64_t at = 0;

	if (target_read(g, g->pid, g->ctl->journal, &at, sizeof(at)) != sizeof(at) || !at)
		return false;
	while (a < end && at - a->lo >= a->size)
		a++;
	return a == end;
}

bool journal_holds(struct guardian *g, pid_t pid)
{
	uint32_t n, i;
	struct tl_journal_entry *e = journal_read(g, pid, &n);
	bool any = !e && n;

	for (i = 0; e && i < n; i++)
		any |= e[i].len != 0;
	free(e);
	return any;
}

static uint64_t page_of(const struct tl_journal_entry *e)
{
	return e->addr / PAGE;
}

static int by_page(const void *a, const void *b)
{
	uint64_t x = page_of(a), y = page_of(b);

	return (x > y) - (x < y);
}

/* What is in use, by pages. How many. */
static uint32_t sort(struct tl_journal_entry *e, uint32_t n)
{
	uint32_t i, used = 0;

	for (i = 0; i < n; i++) {
		if (e[i].len && e[i].len <= sizeof(e[i].orig))
			e[used++] = e[i];
	}
	qsort(e, used, sizeof(*e), by_page);
	return used;
}

/* The first ones, which begin in one page, by one write. How many they are; *bad: it failed. */
static uint32_t restore_page(int mem, const struct tl_journal_entry *e, uint32_t n, bool *bad)
{
	uint8_t text[PAGE + TL_PATCH_MAX];
	uint64_t lo = e->addr, hi = lo;
	uint32_t i, many;

	for (many = 0; many < n && page_of(e + many) == page_of(e); many++) {
		lo = e[many].addr < lo ? e[many].addr : lo;
		hi = e[many].addr + e[many].len > hi ? e[many].addr + e[many].len : hi;
	}
	if (pread(mem, text, hi - lo, (off_t)lo) != (ssize_t)(hi - lo)) {
		*bad = true;
		return many;
	}
	for (i = 0; i < many; i++)
		memcpy(text + (e[i].addr - lo), e[i].orig, e[i].len);
	*bad |= text_write(mem, lo, text, hi - lo) != 0;
	return many;
}

/*
 * The original bytes of everything that is patched in `pid`, nobody running there: by pages, since a system call for
 * each place would make every child of a program with thousands of probes wait.
 */
int journal_restore(struct guardian *g, pid_t pid, int mem)
{
	uint32_t n, i, used;
	struct tl_journal_entry *e = journal_read(g, pid, &n);
	bool bad = !e && n;

	used = e ? sort(e, n) : 0;
	for (i = 0; i < used;)
		i += restore_page(mem, e + i, used - i, &bad);
	free(e);
	return bad ? -1 : 0;
}

/* With the helper, after maps_read(). */
void text_shut(struct guardian *g)
{
	const int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;
	const struct tl_ctl_map *now;
	struct tl_opened open;
	struct tl_mapping m;
	size_t i;

	if (target_read(g, g->pid, g->ctl->opened, &open, sizeof(open)) != sizeof(open))
		return;
	for (i = 0; i < open.n && i < TL_CTL_MAPS; i++) {
		if (target_read(g, g->pid, (uintptr_t)(open.maps + i), &m, sizeof(m)) != sizeof(m))
			return;
		now = map_at(g, m.lo);
		if (now && now->prot == rwx)
			remote_call(g, g->helper, SYS_mprotect, m.lo, m.hi - m.lo, (uint64_t)m.prot,
				0, 0, 0);
	}
}

/* --- breakpoints that must not be met for a while --------------------------------------- */

static const uint8_t int3 = 0xcc;
static uint64_t *out; /* where they were */
static size_t nout;

/* 0, or -1: some may still stand. */
int breakpoints_out(struct guardian *g)
{
	uint32_t n, i;
	struct tl_journal_entry *e = journal_read(g, g->pid, &n);
	bool bad = !e && n;
	uint8_t byte;

	out = calloc(n + 1, sizeof(*out));
	for (i = 0; e && out && i < n; i++) {
		if (e[i].len != 1 || target_read(g, g->pid, e[i].addr, &byte, 1) != 1 ||
			byte != int3)
			continue;
		out[nout++] = e[i].addr;
		bad |= text_write(g->mem, e[i].addr, e[i].orig, 1) != 0;
	}
	free(e);
	return bad || !out ? -1 : 0;
}

void breakpoints_in(struct guardian *g)
{
	while (nout)
		text_write(g->mem, out[--nout], &int3, 1);
	free(out);
	out = NULL;
}
