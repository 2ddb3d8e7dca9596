/* SPDX-License-Identifier: MIT */
/* The engine's journal, as it lies in a process: what is patched there, and taking it out. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../engine/core/text/journal.h"
#include "../../../engine/os/process/process.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../trace/maps.h"
#include "../trace/remote.h"
#include "journal.h"
#include "moved.h"

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

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct tl_journal_entry *)a)->addr;
	uint64_t y = ((const struct tl_journal_entry *)b)->addr;

	return (x > y) - (x < y);
}

/* What is in use, by address. How many. */
static uint32_t sort(struct tl_journal_entry *e, uint32_t n)
{
	uint32_t i, used = 0;

	for (i = 0; i < n; i++) {
		if (e[i].len && e[i].len <= sizeof(e[i].orig))
			e[used++] = e[i];
	}
	qsort(e, used, sizeof(*e), by_address);
	return used;
}

struct journal {
	const struct tl_journal_entry *e;
	uint32_t n;
	bool lacks; /* some stand no more where they were */
};

/* Could we have written this byte by that entry? Also while it was written: a breakpoint, or a jump to itself. */
static bool may_be_of(const struct tl_journal_entry *e, uint64_t addr, uint8_t byte)
{
	uint64_t i = addr - e->addr;

	if (i >= e->len)
		return false;
	return byte == e->orig[i] || byte == e->ours[i] ||
	       (i < machine.spin.size && byte == machine.spin.bytes[i]) ||
	       (i < machine.breakpoint.size && byte == machine.breakpoint.bytes[i]);
}

/* By any entry: while places are planned anew, their old patches are in the journal with the new ones. */
static bool may_be_ours(const struct journal *j, uint32_t near, uint64_t addr, uint8_t byte)
{
	uint32_t i = near;

	while (i && j->e[i - 1].addr + TL_PATCH_MAX > addr)
		i--;
	for (; i < j->n && j->e[i].addr <= addr; i++) {
		if (may_be_of(&j->e[i], addr, byte))
			return true;
	}
	return false;
}

/* Does all of an entry stand there, whatever of it is in? What the program has written since is its own. */
static bool stands(const struct journal *j, uint32_t number, const uint8_t *text)
{
	const struct tl_journal_entry *e = &j->e[number];
	uint32_t i;

	for (i = 0; i < e->len && may_be_ours(j, number, e->addr + i, text[i]); i++)
		;
	return i == e->len;
}

/*
 * Entries from `first` on that begin in one page, by one write. How many they are; *bad: it failed. What cannot be read
 * is not mapped any more.
 */
static uint32_t restore_page(int mem, struct journal *j, uint32_t first, bool *bad)
{
	uint8_t text[PAGE + TL_PATCH_MAX];
	const struct tl_journal_entry *e = j->e + first;
	uint64_t lo = e->addr, hi = lo;
	uint32_t i, many, changed = 0;
	ssize_t n;

	for (many = 0; first + many < j->n && e[many].addr / PAGE == lo / PAGE; many++)
		hi = e[many].addr + e[many].len > hi ? e[many].addr + e[many].len : hi;
	n = pread(mem, text, hi - lo, (off_t)lo);
	for (i = 0; i < many; i++) {
		uint64_t at = e[i].addr - lo;

		if ((ssize_t)(at + e[i].len) > n || !stands(j, first + i, text + at)) {
			j->lacks = true;
			continue;
		}
		memcpy(text + at, e[i].orig, e[i].len);
		changed++;
	}
	*bad |= changed && text_write(mem, lo, text, (size_t)n) != 0;
	return many;
}

int journal_restore_moved(
	struct guardian *g, int mem, uint64_t lo, uint64_t hi, uint64_t shift, bool *any)
{
	uint8_t now[sizeof(((struct tl_journal_entry *)0)->ours)];
	uint32_t n, i;
	struct tl_journal_entry *e = journal_read(g, g->pid, &n);
	bool bad = !e && n;

	for (i = 0; e && i < n; i++) {
		uint64_t at = e[i].addr + shift;

		if (!e[i].len || e[i].len > sizeof(now) || e[i].addr < lo || e[i].addr >= hi ||
			pread(mem < 0 ? g->mem : mem, now, e[i].len, (off_t)at) !=
				(ssize_t)e[i].len ||
			memcmp(now, e[i].ours, e[i].len))
			continue;
		*any = true;
		bad |= mem >= 0 && text_write(mem, at, e[i].orig, e[i].len);
	}
	free(e);
	return bad ? -1 : 0;
}

/*
 * The original bytes of everything that is patched in `pid`, nobody running there: by pages, since a system call for
 * each place would make every child of a program with thousands of probes wait.
 */
int journal_restore(struct guardian *g, pid_t pid, int mem)
{
	struct journal j;
	uint32_t n, i;
	struct tl_journal_entry *e = journal_read(g, pid, &n);
	bool bad = !e && n;

	j = (struct journal){e, e ? sort(e, n) : 0, false};
	for (i = 0; i < j.n;)
		i += restore_page(mem, &j, i, &bad);
	free(e);
	if (j.lacks)
		bad |= moved_restore(g, pid, mem) != 0;
	return bad ? -1 : 0;
}

/* What was read from `lo` on as it is without patches. */
void journal_undo(struct guardian *g, uint64_t lo, uint8_t *text, size_t size)
{
	uint32_t n, i, k;
	struct tl_journal_entry *e = journal_read(g, g->pid, &n);

	n = e ? sort(e, n) : 0;
	for (i = 0; i < n; i++) {
		for (k = 0; k < e[i].len; k++) {
			if (e[i].addr + k - lo < size)
				text[e[i].addr + k - lo] = e[i].orig[k];
		}
	}
	free(e);
}

/* With the helper, after maps_read(). */
void text_shut(struct guardian *g)
{
	const uint32_t rwx = PROT_READ | PROT_WRITE | PROT_EXEC;
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

static uint64_t *out; /* where they were */
static size_t nout;

/* 0, or -1: some may still stand. */
int breakpoints_out(struct guardian *g)
{
	uint32_t n, i;
	struct tl_journal_entry *e = journal_read(g, g->pid, &n);
	const struct machine_insn *b = &machine.breakpoint;
	uint8_t code[INSN_BYTES];
	bool bad = !e && n;

	out = calloc(n + 1, sizeof(*out));
	for (i = 0; e && out && i < n; i++) {
		if (e[i].len != b->size ||
			target_read(g, g->pid, e[i].addr, code, b->size) != b->size ||
			memcmp(code, b->bytes, b->size))
			continue;
		out[nout++] = e[i].addr;
		bad |= text_write(g->mem, e[i].addr, e[i].orig, b->size) != 0;
	}
	free(e);
	return bad || !out ? -1 : 0;
}

void breakpoints_in(struct guardian *g)
{
	while (nout)
		text_write(g->mem, out[--nout], machine.breakpoint.bytes, machine.breakpoint.size);
	free(out);
	out = NULL;
}
