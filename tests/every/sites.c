/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into a program: arms random instructions of one file in this very
 * process, and compares the rung that each takes with what the engine foretells
 * here (they must be the same, the reasons too, and the places of detours when
 * all are armed) and with what `trapless --coverage FILE -v` foretold by the
 * same code. Then all of them stay armed while the program runs. Prints lines
 * as tests/unit.h does, to standard error.
 *
 * A pun's detour must lie where the bytes behind the jump lead, and what lies
 * there differs from process to process (heap, other files, detours of before).
 * So against the file's listing pun, evict and window may stand in for each
 * other, and one of them may be out of reach; both are counted, each for itself,
 * and must be few.
 *
 * SITES_FILE   the file, by its real path; a library is loaded for it
 * SITES_LIST   the listing
 * SITES_COUNT  how many, SITES_SEED  which
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../engine/core/detour/detour.h"
#include "../../engine/core/detour/site.h"
#include "../../engine/core/detour/thread.h"
#include "../../engine/core/probe/batch.h"
#include "../../engine/core/probe/probe.h"
#include "../../engine/os/os.h"

/* Of a thousand sites: a heap at another place alone, behind a program, makes a hundred. */
enum { FEW = 30, FEW_BESIDE_HEAP = 150, FEW_UNPLACED = 1 };
enum { NEAR = 192 }; /* bytes within which one site's patch may change what another gets */

struct site {
	uintptr_t addr;
	uint8_t rung;
	int why;
	uintptr_t func_start; /* where only a symbol tells, else 0 */
	uint32_t func_size;
	uint8_t here_rung; /* foretold in this process */
	int here_why;
	uintptr_t here_at; /* its detour */
};

static const char *path;
static uintptr_t bias, lo, hi;
static uint8_t *before; /* the text as it was */
static struct site *sites;
static size_t nsites;
static struct tl_probe *probes, **armed;
static size_t narmed, rungs[TL_RUNG_TRAP + 1];
static unsigned long hits;

static const char *const names[] = {
	"refused", "retarget", "whole", "pun", "evict", "window", "trap"};

static int result(const char *name, const char *why)
{
	if (why)
		fprintf(stderr, "not ok %s: %s\n", name, why);
	else
		fprintf(stderr, "ok %s\n", name);
	return why != NULL;
}

static int count_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	return 0;
}

/* --- the file in this process ---------------------------------------------------- */

static int find_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	char real[PATH_MAX];
	const char *name = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";

	(void)size, (void)arg;
	if (!realpath(name, real) || strcmp(real, path))
		return 0;
	bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			lo = bias + p->p_vaddr;
			hi = lo + p->p_memsz;
		}
	}
	return 1;
}

static bool load(void)
{
	if (!dl_iterate_phdr(find_file, NULL)) {
		if (!dlopen(path, RTLD_LAZY | RTLD_LOCAL))
			fprintf(stderr, "# %s\n", dlerror());
		dl_iterate_phdr(find_file, NULL);
	}
	before = hi > lo ? malloc(hi - lo) : NULL;
	if (before)
		memcpy(before, (void *)lo, hi - lo);
	return before;
}

static bool text_is_as_before(void)
{
	return !memcmp(before, (void *)lo, hi - lo);
}

/* The program itself: its heap begins somewhere behind it. */
static bool beside_heap(void)
{
	return (uintptr_t)sbrk(0) - lo < 1ul << 31;
}

/* --- the list ------------------------------------------------------------------------ */

static int by_name(const char *name, int (*nth)(int i, const char *name))
{
	for (int i = 0; i < TL_E_COUNT; i++)
		if (nth(i, name))
			return i;
	return -1;
}

static int is_rung(int i, const char *name)
{
	return i <= TL_RUNG_TRAP && !strcmp(names[i], name);
}

static int is_error(int i, const char *name)
{
	return !strcmp(tl_error_name(i), name);
}

static void read_list(const char *list)
{
	FILE *f = fopen(list, "r");
	char line[200], rung[40], why[40];
	size_t max = 0;
	uintptr_t addr;

	while (f && fgets(line, sizeof(line), f)) {
		const char *in = strstr(line, " in 0x");
		int n = sscanf(line, "0x%lx %39s %39[A-Z_]", &addr, rung, why), r;
		uintptr_t start = 0;
		unsigned size = 0;

		if (n < 2)
			continue;
		if (in && sscanf(in, " in 0x%lx+0x%x", &start, &size) == 2)
			start += bias;
		if (nsites == max)
			sites = realloc(sites, (max = max ? 2 * max : 4096) * sizeof(*sites));
		r = by_name(rung, is_rung);
		sites[nsites++] = (struct site){.addr = addr + bias,
			.rung = (uint8_t)r,
			.why = n > 2 ? -by_name(why, is_error) : 0,
			.func_start = start,
			.func_size = size};
	}
	if (f)
		fclose(f);
}

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static int by_addr(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Keeps n of them, in order. */
static void choose(size_t n)
{
	n = n < nsites ? n : nsites;
	for (size_t i = 0; i < n; i++) {
		size_t k = i + rnd() % (nsites - i);
		struct site t = sites[i];

		sites[i] = sites[k];
		sites[k] = t;
	}
	nsites = n;
	qsort(sites, nsites, sizeof(*sites), by_addr);
}

/* --- foretold here ----------------------------------------------------------------------- */

static size_t changes; /* of what was foretold before, and of the room reserved */
static size_t reserved;

static void note_here(void *arg, const struct tl_site *s, const struct tl_plan *plan, int why)
{
	struct site key = {.addr = s->addr}, *found;
	uint8_t rung = plan ? plan->rung : TL_RUNG_NONE;
	uintptr_t at = plan ? s->planned->detour->at : 0;

	(void)arg;
	found = bsearch(&key, sites, nsites, sizeof(*sites), by_addr);
	changes += found->here_rung != rung || found->here_why != why || found->here_at != at;
	found->here_rung = rung;
	found->here_why = why;
	found->here_at = at;
}

static void note_room(void)
{
	struct tl_usage now = {0};

	tl_detmem_usage(&now);
	changes += now.detours_reserved != reserved;
	reserved = now.detours_reserved;
}

static int add_wanted(struct tl_batch *b, const struct site *s, uint32_t flags)
{
	struct tl_site *wanted = tl_site_get(s->addr);

	if (!wanted)
		return -TL_E_NOMEM;
	wanted->want = true;
	wanted->flags = flags;
	wanted->func_start = s->func_start;
	wanted->func_size = s->func_size;
	return tl_batch_add(b, wanted);
}

/* One of the sites, or all those together that were not foretold to be refused. */
static int foretell_once(const struct site *s, size_t n, uint32_t flags)
{
	struct tl_batch b;
	int ret;

	tl_os_lock();
	ret = tl_engine_init_locked();
	if (!ret)
		ret = tl_batch_init(&b, n);
	for (size_t i = 0; i < n && !ret; i++)
		ret = n > 1 && s[i].here_why ? 0 : add_wanted(&b, &s[i], flags);
	if (!ret)
		tl_batch_foresee(&b, note_here, NULL);
	for (size_t i = 0; i < b.nsites; i++)
		b.sites[i]->want = false;
	tl_batch_deinit(&b);
	note_room();
	tl_os_unlock();
	return ret;
}

enum { FORETELL_TRIES = 10 };

/* Until nothing changes: where detours find room depends on what was reserved before. */
static int foretell(const struct site *s, size_t n, uint32_t flags)
{
	int ret = 0;

	for (unsigned i = 0; i < FORETELL_TRIES && !ret; i++) {
		changes = 0;
		ret = foretell_once(s, n, flags);
		if (!changes)
			break;
	}
	return ret;
}

/* --- each alone ------------------------------------------------------------------------ */

static struct tl_probe probe_at(const struct site *s, uint32_t flags)
{
	return (struct tl_probe){.addr = (void *)s->addr,
		.pre = count_hit,
		.flags = flags,
		.func_start = s->func_start,
		.func_size = s->func_size};
}

static int rung_now;

static int take_rung(const struct tl_probe_info *info, void *arg)
{
	if (info->probe == arg)
		rung_now = (int)info->rung;
	return 0;
}

static size_t by_address,
	unplaced; /* sites, and of those the ones that have a jump there or here alone */

static bool depends_on_address(unsigned rung)
{
	return rung == TL_RUNG_PUN || rung == TL_RUNG_EVICT || rung == TL_RUNG_WINDOW;
}

/* Was another rung, or none, due to where things lie in this process? */
static bool address_told(unsigned foretold, unsigned took, int foretold_why, int why)
{
	bool reach = why == -TL_E_OUT_OF_REACH || foretold_why == -TL_E_OUT_OF_REACH;
	bool due = (depends_on_address(foretold) || foretold_why == -TL_E_OUT_OF_REACH) &&
		   (depends_on_address(took) || reach);

	by_address += due;
	unplaced += due && reach;
	return due;
}

/* As foretold? */
static bool alone(const struct site *s)
{
	struct tl_probe p = probe_at(s, TL_PROBE_NO_TRAP);
	int ret = foretell(s, 1, TL_PROBE_NO_TRAP);

	if (!ret)
		ret = tl_probe_register(&p);
	rung_now = TL_RUNG_NONE;
	if (!ret) {
		tl_probes_list(take_rung, &p);
		if (tl_probe_unregister(&p))
			fprintf(stderr, "# cannot unregister\n");
	}
	if (ret != s->here_why || rung_now != s->here_rung) {
		fprintf(stderr, "# 0x%lx: foretold %s %s here, took %s %s\n", s->addr - bias,
			names[s->here_rung], tl_error_name(-s->here_why), names[rung_now],
			tl_error_name(-ret));
		return false;
	}
	if (ret == s->why && rung_now == (s->why ? TL_RUNG_NONE : s->rung))
		return true;
	if (address_told(s->rung, (unsigned)rung_now, s->why, ret))
		return true;
	fprintf(stderr, "# 0x%lx: foretold %s %s, took %s %s\n", s->addr - bias, names[s->rung],
		tl_error_name(-s->why), names[rung_now], tl_error_name(-ret));
	return false;
}

static bool too_many(size_t n, size_t of_a_thousand)
{
	return n > nsites * of_a_thousand / 1000 + 1;
}

static int each_alone(void)
{
	size_t wrong = 0;

	for (size_t i = 0; i < nsites && wrong < 20; i++)
		wrong += !alone(&sites[i]);
	if (wrong)
		return result("each_alone", "sites took another rung than foretold");
	fprintf(stderr,
		"# %zu of %zu stand otherwise because of addresses, %zu with a jump or none\n",
		by_address, nsites, unplaced);
	if (too_many(by_address, beside_heap() ? FEW_BESIDE_HEAP : FEW))
		return result("each_alone", "too many sites stand otherwise because of addresses");
	if (too_many(unplaced, FEW_UNPLACED))
		return result(
			"each_alone", "too many sites are in reach in the file or here alone");
	return result("each_alone", text_is_as_before() ? NULL : "the text was not restored");
}

/* --- all at once --------------------------------------------------------------------------- */

static size_t wrong_rungs, wrong_here, nlisted;

static bool has_neighbour(const struct site *s)
{
	return (s > sites && s->addr - s[-1].addr < NEAR) ||
	       (s + 1 < sites + nsites && s[1].addr - s->addr < NEAR);
}

static int check_rung(const struct tl_probe_info *info, void *arg)
{
	struct site key = {.addr = info->addr}, *s;

	(void)arg;
	s = bsearch(&key, sites, nsites, sizeof(*sites), by_addr);
	if (!s)
		return 0;
	nlisted++;
	rungs[info->rung]++;
	if (info->rung != s->here_rung || info->detour != s->here_at) {
		wrong_here++;
		fprintf(stderr,
			"# 0x%lx: foretold %s at 0x%lx here, took %s at 0x%lx among others\n",
			s->addr - bias, names[s->here_rung], s->here_at, names[info->rung],
			info->detour);
	}
	if (info->rung != s->rung && !has_neighbour(s) &&
		!address_told(s->rung, info->rung, s->why, info->why[s->rung])) {
		wrong_rungs++;
		fprintf(stderr, "# 0x%lx: foretold %s, took %s among others\n", s->addr - bias,
			names[s->rung], names[info->rung]);
	}
	return 0;
}

/* Who is foretold to be refused is left out. */
static int foretell_together(void)
{
	tl_os_lock();
	tl_detour_poll(true);
	tl_os_unlock();
	for (size_t i = 0; i < nsites; i++)
		sites[i].here_why = sites[i].rung == TL_RUNG_NONE ? sites[i].why : 0;
	return foretell(sites, nsites, 0);
}

static int all_at_once(void)
{
	size_t bad;
	int ret = foretell_together();

	for (size_t i = 0; i < nsites; i++) {
		probes[i] = probe_at(&sites[i], 0);
		if (!sites[i].here_why)
			armed[narmed++] = &probes[i];
	}
	if (!ret)
		ret = tl_probes_register(armed, narmed, &bad);
	if (!ret)
		tl_probes_list(check_rung, NULL);
	if (ret)
		return result("all_at_once", tl_error_text(-ret));
	if (nlisted != narmed || narmed < nsites * 9 / 10)
		return result("all_at_once", "not all of them were armed");
	if (wrong_here)
		return result("all_at_once", "sites took another rung or place than foretold here");
	return result("all_at_once", wrong_rungs ? "sites took another rung than foretold" : NULL);
}

/* The program has run with them. */
__attribute__((destructor)) static void take_away(void)
{
	if (!narmed)
		return;
	if (tl_probes_unregister(armed, narmed))
		result("taken_away", "cannot unregister");
	else
		result("taken_away", text_is_as_before() ? NULL : "the text was not restored");
	fprintf(stderr, "# %zu sites, %lu hits;", narmed, hits);
	for (int i = 1; i <= TL_RUNG_TRAP; i++)
		fprintf(stderr, " %s %zu", names[i], rungs[i]);
	fprintf(stderr, "\n");
}

__attribute__((constructor)) static void arm(void)
{
	path = getenv("SITES_FILE");
	if (!path)
		return;
	unsetenv("LD_PRELOAD");
	if (!load()) {
		result("load", "the file is not in this process");
		return;
	}
	seed = strtoull(getenv("SITES_SEED"), NULL, 0) * 2 + 1;
	read_list(getenv("SITES_LIST"));
	choose(strtoul(getenv("SITES_COUNT"), NULL, 0));
	probes = calloc(nsites, sizeof(*probes));
	armed = calloc(nsites, sizeof(*armed));
	if (!each_alone())
		all_at_once();
}
