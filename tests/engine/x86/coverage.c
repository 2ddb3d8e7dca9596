/* SPDX-License-Identifier: MIT */
/*
 * How much of a real binary can be probed without a trap: every instruction of
 * every function that .eh_frame knows, each planned alone.
 *
 * usage: coverage [FILE [least % of instructions, least % of entries]]
 * Default: this process's libc, 43 and 83: what the rules of Linux's kprobes
 * reach there.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../unit.h"
#include "../../../engine/arch/arch.h"
#include "../../../engine/insn/x86/insn.h"

static const uint8_t *file;
static size_t file_size;
static const char *path;
static double least_insns = 43, least_entries = 83;

struct func {
	uintptr_t start, end, next;
	uint32_t first_pad, npads;
};
static struct func *funcs;
static size_t nfuncs;
static uintptr_t *pads; /* of all functions, each one's sorted */
static size_t npads;
static uintptr_t *jumps; /* direct jumps from one function into another */
static size_t njumps;

/* --- ELF ------------------------------------------------------------------------ */

static const uint8_t *at(uintptr_t vaddr)
{
	const Elf64_Ehdr *e = (const void *)file;
	const Elf64_Phdr *p = (const void *)(file + e->e_phoff);

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && vaddr - p[i].p_vaddr < p[i].p_filesz)
			return file + p[i].p_offset + (vaddr - p[i].p_vaddr);
	return NULL;
}

static int32_t s32(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;

	do
		v |= (uint64_t)(**p & 0x7f) << shift, shift += 7;
	while (*(*p)++ & 0x80);
	return v;
}

static void add_pad(uintptr_t pad)
{
	if (!(npads & (npads - 1)))
		pads = realloc(pads, (npads ? npads * 2 : 1) * sizeof(*pads));
	pads[npads++] = pad;
}

static int by_value(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

/* Landing pads out of the call site table (uleb128 coded, as all compilers do). */
static bool read_lsda(uintptr_t lsda, uintptr_t func)
{
	const uint8_t *p = at(lsda), *end;
	uint64_t pad;

	if (!p || *p++ != 0xff) /* landing pads are relative to the function */
		return false;
	if (*p++ != 0xff)
		uleb(&p);
	if (*p++ != 1)
		return false;
	end = p;
	pad = uleb(&end);
	for (p = end, end += pad; p < end;) {
		uleb(&p), uleb(&p);
		pad = uleb(&p);
		uleb(&p);
		if (pad)
			add_pad(func + pad);
	}
	return true;
}

/* Augmentation data of an FDE whose CIE says zPLR or a part of it. */
static void read_fde(uintptr_t fde, struct func *f)
{
	const uint8_t *p = at(fde);
	uintptr_t cie = fde + 4 - (uint32_t)s32(p + 4);
	const uint8_t *aug = at(cie) + 9, *q = p + 16;

	f->end = f->start + (uint32_t)s32(p + 12);
	f->first_pad = (uint32_t)npads;
	if (strchr((const char *)aug, 'L') && uleb(&q) >= 4 && s32(q))
		if (!read_lsda(fde + (uintptr_t)(q - p) + (uintptr_t)(intptr_t)s32(q), f->start))
			f->end = f->start; /* not understood: leave out */
	f->npads = (uint32_t)npads - f->first_pad;
	qsort(pads + f->first_pad, f->npads, sizeof(*pads), by_value);
}

static bool read_functions(void)
{
	const Elf64_Ehdr *e = (const void *)file;
	const Elf64_Phdr *p = (const void *)(file + e->e_phoff);
	const uint8_t *h = NULL;
	uintptr_t hv = 0;

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			h = at(hv = p[i].p_vaddr);
	if (!h || h[1] != 0x1b || h[2] != 3 || h[3] != 0x3b)
		return false;
	nfuncs = (uint32_t)s32(h + 8);
	funcs = calloc(nfuncs, sizeof(*funcs));
	for (size_t i = 0; i < nfuncs; i++) {
		funcs[i].start = hv + (uintptr_t)(intptr_t)s32(h + 12 + 8 * i);
		read_fde(hv + (uintptr_t)(intptr_t)s32(h + 16 + 8 * i), &funcs[i]);
		if (i)
			funcs[i - 1].next = funcs[i].start;
	}
	return true;
}

/* --- walking ---------------------------------------------------------------------- */

static size_t padding(const struct func *f)
{
	const uint8_t *p = at(f->end);
	size_t n = 0, max = f->next > f->end ? f->next - f->end : 0;
	struct tl_insn i;

	while (p && n < max && tl_insn_decode(&i, p + n, max - n, TL_INSN_64) &&
		tl_insn_is_padding(&i))
		n += i.len;
	return n == max ? n : 0; /* up to the next function, or unknown code follows */
}

static size_t read_data(uintptr_t addr, void *buf, size_t len)
{
	const uint8_t *p = at(addr);

	if (!p || p + len > file + file_size)
		return 0;
	memcpy(buf, p, len);
	return len;
}

static uint8_t boundary[1 << 18], target[1 << 18];

static bool walk(const struct func *f, struct tl_code *c, uintptr_t *into, size_t ninto)
{
	*c = (struct tl_code){.start = f->start,
		.size = f->end - f->start,
		.text = at(f->start),
		.after = padding(f),
		.pads = into,
		.npads = ninto,
		.boundary = boundary,
		.target = target,
		.read = read_data};
	if (!c->size || !c->text || c->size + c->after > sizeof(boundary) * 8)
		return false;
	tl_arch_code_walk(c);
	return true;
}

static void note_jump(void *arg, uintptr_t to)
{
	(void)arg;
	if (!(njumps & (njumps - 1)))
		jumps = realloc(jumps, (njumps ? njumps * 2 : 1) * sizeof(*jumps));
	jumps[njumps++] = to;
}

static uintptr_t into[65536];

/* Landing pads and jumps from elsewhere. */
static size_t ways_in(const struct func *f)
{
	size_t n = 0, lo = 0, hi = njumps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (jumps[mid] < f->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < njumps && jumps[lo] < f->end && n < 30000; lo++)
		into[n++] = jumps[lo];
	for (size_t i = 0; i < f->npads; i++)
		into[n++] = pads[f->first_pad + i];
	qsort(into, n, sizeof(*into), by_value);
	return n;
}

static bool nobody(void *arg, uintptr_t lo, uintptr_t hi)
{
	(void)arg, (void)lo, (void)hi;
	return false;
}

static unsigned long insns, entries, placed, placed_entries, by_rung[TL_RUNG_TRAP + 1];
static unsigned long entry_rung[TL_RUNG_TRAP + 1], reasons[TL_E_COUNT], entry_reasons[TL_E_COUNT],
	aligned;

static void tally(const struct tl_code *c, uintptr_t addr)
{
	struct tl_plan plan = {.npoints = 1};
	bool entry = addr == c->start;
	int ret;

	insns++;
	entries += entry;
	plan.points[0].addr = addr;
	ret = tl_arch_plan(&plan, c, tl_arch_rungs & ~(1u << TL_RUNG_TRAP), nobody, NULL);
	if (ret) {
		reasons[-ret]++;
		entry_reasons[-ret] += entry;
		return;
	}
	placed++;
	by_rung[plan.rung]++;
	placed_entries += entry;
	entry_rung[plan.rung] += entry;
	aligned += (plan.start & 7) + plan.changed <= 8;
}

static unsigned long parts, exits_known;

/* Could all ways out of this part be probed? */
static void tally_exits(const struct tl_code *c)
{
	struct tl_func_part part = {c->start, c->size};

	parts++;
	exits_known += tl_arch_exits(c, &part, 1, NULL, 0) >= 0;
}

/* --- the quick scan against decoding everything ------------------------------------ */

static uintptr_t *quick, *bases; /* what the engine's scan without decoding finds */
static size_t nquick, nbases;
static const struct func *leaving;
static unsigned long missed_jumps, far_jumps;

static size_t read_file(uintptr_t addr, void *buf, size_t len)
{
	size_t n = 0;
	const uint8_t *p;

	for (; n < len && (p = at(addr + n)); n++)
		((uint8_t *)buf)[n] = *p;
	return n;
}

static void append(uintptr_t **list, size_t *n, uintptr_t v)
{
	if (!(*n & (*n - 1)))
		*list = realloc(*list, (*n ? *n * 2 : 1) * sizeof(v));
	(*list)[(*n)++] = v;
}

static void quick_jump(void *arg, uintptr_t to)
{
	(void)arg;
	append(&quick, &nquick, to);
}

static void quick_base(void *arg, uintptr_t base)
{
	(void)arg;
	if (at(base))
		append(&bases, &nbases, base);
}

static void scan_quickly(void)
{
	const Elf64_Ehdr *e = (const void *)file;
	const Elf64_Phdr *p = (const void *)(file + e->e_phoff);

	for (int i = 0; i < e->e_phnum; i++) {
		uintptr_t lo = p[i].p_vaddr, hi = lo + p[i].p_filesz;
		uint8_t *text;

		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X))
			continue;
		nbases = 0;
		text = calloc(1, p[i].p_filesz + 64);
		memcpy(text, file + p[i].p_offset, p[i].p_filesz);
		tl_arch_wide_jumps(text, p[i].p_filesz, lo, quick_jump, quick_base, NULL);
		free(text);
		qsort(bases, nbases, sizeof(*bases), by_value);
		for (size_t k = 0; k < nbases; k++)
			tl_arch_table_targets(bases[k], 65536, lo, hi, read_file, quick_jump, NULL);
	}
	qsort(quick, nquick, sizeof(*quick), by_value);
}

/* Short jumps reach neighbours only, and the engine decodes those. */
static void must_be_known(void *arg, uintptr_t to)
{
	(void)arg;
	if (to + 256 > leaving->start && to < leaving->end + 256)
		return;
	far_jumps++;
	missed_jumps += !bsearch(&to, quick, nquick, sizeof(to), by_value);
}

static void the_quick_scan_misses_no_jump(void)
{
	struct tl_code c;

	scan_quickly();
	for (size_t i = 0; i < nfuncs; i++) {
		leaving = &funcs[i];
		if (walk(&funcs[i], &c, NULL, 0))
			tl_arch_code_leaves(&c, must_be_known, NULL);
	}
	printf("# %lu jumps out of parts, direct or by tables; %zu found by the quick scan\n",
		far_jumps, nquick);
	CHECK(far_jumps > 100);
	CHECK(missed_jumps == 0);
}

static void count_all(void)
{
	struct tl_code c;

	for (size_t i = 0; i < nfuncs; i++)
		if (walk(&funcs[i], &c, NULL, 0))
			tl_arch_code_leaves(&c, note_jump, NULL);
	qsort(jumps, njumps, sizeof(*jumps), by_value);
	for (size_t i = 0; i < nfuncs; i++) {
		if (!walk(&funcs[i], &c, into, ways_in(&funcs[i])))
			continue;
		tally_exits(&c);
		for (uintptr_t a = funcs[i].start; a < funcs[i].end; a++)
			if (boundary[(a - c.start) / 8] >> ((a - c.start) % 8) & 1)
				tally(&c, a);
	}
}

static const char *const reason_names[] = {
	"OK",
#define TL_ERROR(name, text, next) #name,
#include <trapless/error.def>
#undef TL_ERROR
};

static double share(unsigned long n, unsigned long of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

static void coverage(void)
{
	CHECK(read_functions());
	count_all();
	printf("# %s: placeable %.1f %% of %lu instructions, %.1f %% of %lu entries; one aligned "
	       "store: %.1f %%\n",
		path, share(placed, insns), insns, share(placed_entries, entries), entries,
		share(aligned, placed));
	printf("# retarget %.1f %%, whole %.1f %%, window %.1f %%; at entries %.1f, %.1f, %.1f\n",
		share(by_rung[TL_RUNG_RETARGET], insns), share(by_rung[TL_RUNG_WHOLE], insns),
		share(by_rung[TL_RUNG_WINDOW], insns), share(entry_rung[TL_RUNG_RETARGET], entries),
		share(entry_rung[TL_RUNG_WHOLE], entries),
		share(entry_rung[TL_RUNG_WINDOW], entries));
	printf("# every exit known: %.1f %% of %lu parts\n", share(exits_known, parts), parts);
	for (int i = 1; i < TL_E_COUNT; i++)
		if (reasons[i])
			printf("# not: %-14s %5.1f %% of instructions, %5.1f %% of entries\n",
				reason_names[i], share(reasons[i], insns),
				share(entry_reasons[i], entries));
	CHECK(insns > 1000);
	CHECK(share(placed, insns) >= least_insns);
	CHECK(share(placed_entries, entries) >= least_entries);
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
	struct stat st;
	int fd;

	dl_iterate_phdr(find_libc, NULL);
	if (argc > 1)
		path = argv[1];
	if (argc > 3)
		least_insns = atof(argv[2]), least_entries = atof(argv[3]);
	fd = path ? open(path, O_RDONLY) : -1;
	if (fd < 0 || fstat(fd, &st)) {
		printf("not ok coverage: cannot open %s\n", path ? path : "libc");
		return 1;
	}
	file_size = (size_t)st.st_size;
	file = mmap(NULL, file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	RUN(coverage);
	RUN(the_quick_scan_misses_no_jump);
	return UNIT_RESULT();
}
