/* SPDX-License-Identifier: MIT */
/*
 * The engine finds the ways into a function without decoding the rest of the
 * file. Here everything is decoded, and every jump from one function into
 * another must be among the ways in that the engine knows, in whatever order
 * functions are asked for. Of jumps by tables nearly all must: where a table
 * ends is a guess, and what lies behind it leads to nowhere.
 *
 * usage: entries [FILE]    default: this process's libc
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "../../../engine/core/image/ehframe.h"
#include "../../../engine/core/image/entries.h"
#include "../../../engine/core/image/func.h"
#include "../../../engine/core/probe/probe.h"
#include "../../../engine/insn/x86/insn.h"
#include "../../../engine/os/os.h"
#include "../../../runner/coverage/file.h"
#include "../../unit.h"

enum { PADS = 4096 };

static const char *path;
static struct cov_file file;
static struct tl_image img;
static struct tl_eh_entry *parts;
static size_t nparts;
struct jump {
	uintptr_t to;
	size_t from; /* part */
	bool direct;
};
static struct jump *jumps; /* that lead into another part, sorted */
static size_t njumps, nbytable, leaving;

static bool in_part(const struct tl_eh_entry *e, uintptr_t addr)
{
	return addr - e->part.start < e->part.size;
}

static void add_jump(uintptr_t to, bool direct)
{
	if (to < img.lo || to >= img.hi || in_part(&parts[leaving], to))
		return;
	if (!(njumps & (njumps - 1)))
		jumps = realloc(jumps, (njumps ? 2 * njumps : 1) * sizeof(*jumps));
	jumps[njumps++] = (struct jump){to, leaving, direct};
	nbytable += !direct;
}

static bool is_direct(uintptr_t to)
{
	for (size_t i = njumps; i > 0 && jumps[i - 1].from == leaving; i--)
		if (jumps[i - 1].to == to)
			return true;
	return false;
}

/* Direct ones are noted by then. */
static void note_table(void *arg, uintptr_t to)
{
	(void)arg;
	if (!is_direct(to))
		add_jump(to, false);
}

static void note_direct(const struct tl_code *code)
{
	struct tl_insn insn;

	for (size_t at = 0; at < code->size; at++)
		if ((code->boundary[at / 8] >> at % 8 & 1) &&
			tl_insn_decode(&insn, code->text + at, code->size - at, TL_INSN_64) &&
			tl_insn_is_direct_branch(&insn) && insn.flow != TL_FLOW_CALL)
			add_jump(tl_insn_target(&insn, code->start + at), true);
}

static int by_target(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

static void read_jumps(void)
{
	const struct tl_code *code;

	struct tl_eh_table table;

	tl_eh_load(&table, &img);
	nparts = table.n;
	parts = calloc(nparts, sizeof(*parts));
	for (size_t i = 0; i < nparts; i++)
		tl_eh_entry(&table, i, &parts[i]);
	tl_eh_unload(&table);
	for (leaving = 0; leaving < nparts; leaving++) {
		if (tl_func_walk(parts[leaving].part.start, parts[leaving].part.size, 0, &code) ||
			!code->complete)
			continue;
		note_direct(code);
		tl_arch_code_leaves(code, note_table, NULL);
	}
	qsort(jumps, njumps, sizeof(*jumps), by_target);
	tl_funcs_deinit();
}

static size_t first_into(const struct tl_eh_entry *e)
{
	size_t lo = 0, hi = njumps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (jumps[mid].to < e->part.start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t unknown_by_table;

static bool contains(const uintptr_t *pads, size_t n, uintptr_t addr)
{
	while (n--)
		if (pads[n] == addr)
			return true;
	return false;
}

/* Direct jumps into this part that the engine does not know; those by tables are counted. */
static size_t unknown(const struct tl_eh_entry *e)
{
	static uintptr_t pads[PADS];
	size_t npads = 0, bad = 0;
	uintptr_t hi = e->part.start + e->part.size;

	if (tl_image_entries(tl_image_find(img.lo), e->part.start, hi, pads, PADS, &npads))
		return 0; /* the engine knows that it does not know all */
	for (size_t i = first_into(e); i < njumps && jumps[i].to < hi; i++)
		if (!contains(pads, npads, jumps[i].to)) {
			unknown_by_table += !jumps[i].direct;
			if (jumps[i].direct && !bad++)
				printf("# a jump from the function at %#lx to %#lx is not known\n",
					parts[jumps[i].from].part.start - img.bias,
					jumps[i].to - img.bias);
		}
	return bad;
}

static void upwards(void)
{
	size_t bad = 0;

	unknown_by_table = 0;
	tl_image_renew(img.lo);
	for (size_t i = 0; i < nparts; i++)
		bad += unknown(&parts[i]);
	CHECK(bad == 0);
	CHECK(unknown_by_table <= 10 + nbytable / 50);
}

static void downwards(void)
{
	size_t bad = 0;

	unknown_by_table = 0;
	tl_image_renew(img.lo);
	for (size_t i = nparts; i--;)
		bad += unknown(&parts[i]);
	CHECK(bad == 0);
	CHECK(unknown_by_table <= 10 + nbytable / 50);
}

static void there_are_jumps(void)
{
	printf("# %s: %zu jumps, %zu of them by tables, between %zu functions and parts\n", path,
		njumps, nbytable, nparts);
	CHECK(nparts > 100);
	CHECK(njumps > 100);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (strstr(info->dlpi_name, "libc.so"))
		path = strdup(info->dlpi_name);
	return path != NULL;
}

int main(int argc, char **argv)
{
	dl_iterate_phdr(find_libc, NULL);
	if (argc > 1)
		path = argv[1];
	if (!path || cov_file_open(&file, path)) {
		printf("not ok entries: %s\n", path ? file.why : "no libc");
		return 1;
	}
	img = (struct tl_image){.bias = file.bias,
		.lo = file.text[0].start,
		.hi = file.text[0].end,
		.eh_frame_hdr = file.eh_frame_hdr,
		.eh_frame_hdr_size = file.eh_frame_hdr_size,
		.flags = file.image_flags,
		.name = "file"};
	tl_os_lock();
	if (tl_engine_init_locked() || tl_image_add(&img)) {
		printf("not ok entries: the engine does not start\n");
		return 1;
	}
	read_jumps();
	RUN(there_are_jumps);
	RUN(upwards);
	RUN(downwards);
	tl_os_unlock();
	return UNIT_RESULT();
}
