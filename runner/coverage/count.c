/* SPDX-License-Identifier: MIT */
/*
 * The engine itself is asked: for every instruction it plans a probe as it
 * would in a live process, down to finding room for the detour, and takes the
 * plan back. Nothing is known here about rungs.
 *
 * A byte of text has one mark: its class, whether a function or an instruction
 * begins there, and whether it belongs to an instruction.
 */
#include "../../engine/core/detour/site.h"
#include "../../engine/core/image/func.h"
#include "../../engine/core/probe/foresee.h"
#include "../../engine/core/probe/probe.h"
#include "../../engine/os/os.h"
#include "count.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../engine/core/image/ehframe.h"
#include "../../engine/insn/x86/insn.h"

enum { CLASS = 3, ENTRY = 4, INSN = 8, SEEN = 16, PROVED = 32 };
enum { GROUP = 400000 }; /* sites at once; each takes 1.5 KB of the engine's memory */

struct text {
	struct tl_image img;
	uint8_t *mark; /* of img.lo and on */
};

struct function {
	struct text *text;
	uintptr_t start, end;
	bool given; /* by a symbol: the engine does not find it by itself */
};

struct count {
	const struct cov_job *job;
	struct cov_counts *out;
	struct text *texts;
	struct function *functions;
	size_t nfunctions;
	/* of the sites being planned */
	struct tl_batch batch;
	struct cov_figure *figure;
	bool alone;
	size_t done, total; /* bytes of functions, for both figures */
};

static uint8_t *mark_of(const struct text *t, uintptr_t addr)
{
	return &t->mark[addr - t->img.lo];
}

static struct text *text_of(const struct count *c, uintptr_t addr)
{
	for (size_t i = 0; i < c->job->file->ntext; i++)
		if (addr >= c->texts[i].img.lo && addr < c->texts[i].img.hi)
			return &c->texts[i];
	return NULL;
}

/* --- what every byte is ----------------------------------------------------------- */

static int add_texts(struct count *c)
{
	const struct cov_file *f = c->job->file;
	int ret = 0;

	c->texts = calloc(f->ntext, sizeof(*c->texts));
	for (size_t i = 0; c->texts && !ret && i < f->ntext; i++) {
		struct text *t = &c->texts[i];

		t->img = (struct tl_image){.bias = f->bias,
			.lo = f->text[i].start,
			.hi = f->text[i].end,
			.eh_frame_hdr = f->eh_frame_hdr,
			.eh_frame_hdr_size = f->eh_frame_hdr_size,
			.flags = f->image_flags,
			.name = "coverage"};
		t->mark = calloc(1, t->img.hi - t->img.lo);
		ret = t->mark ? tl_image_add(&t->img) : -TL_E_NOMEM;
	}
	return c->texts ? ret : -TL_E_NOMEM;
}

/* Marks what nobody has marked; returns how many bytes that were. */
static size_t mark(struct text *t, uintptr_t start, uintptr_t end, enum cov_class class)
{
	size_t n = 0;

	for (uintptr_t a = start; a < end; a++)
		if (!(*mark_of(t, a) & CLASS)) {
			*mark_of(t, a) |= (uint8_t) class;
			n++;
		}
	return n;
}

static void mark_plt(struct count *c)
{
	const struct cov_file *f = c->job->file;

	for (size_t i = 0; i < f->nplt; i++) {
		struct text *t = text_of(c, f->plt[i].start);

		if (t && f->plt[i].end <= t->img.hi)
			mark(t, f->plt[i].start, f->plt[i].end, COV_PLT);
	}
}

static int add_function(struct count *c, uintptr_t start, uintptr_t end, bool given)
{
	struct text *t = text_of(c, start);
	struct function *grown = c->functions;
	size_t fresh;

	if (!t || end > t->img.hi || end <= start)
		return 0;
	fresh = mark(t, start, end, COV_FUNCTION);
	if (!(c->nfunctions & (c->nfunctions - 1)))
		grown = realloc(grown, (c->nfunctions ? 2 * c->nfunctions : 1) * sizeof(*grown));
	if (!grown)
		return -TL_E_NOMEM;
	c->functions = grown;
	if ((*mark_of(t, start) & CLASS) != COV_PLT)
		*mark_of(t, start) |= ENTRY;
	if (!fresh)
		return 0;
	grown[c->nfunctions++] = (struct function){t, start, end, given};
	*(given ? &c->out->by_symbol : &c->out->by_unwind) += 1;
	return 0;
}

static int add_unwound(struct count *c)
{
	struct tl_eh_table table;
	struct tl_eh_entry e;
	int ret = tl_eh_load(&table, &c->texts[0].img); /* one table serves all segments */

	for (size_t i = 0; i < table.n && !ret; i++)
		if (!tl_eh_entry(&table, i, &e))
			ret = add_function(c, e.part.start, e.part.start + e.part.size, false);
	tl_eh_unload(&table);
	return ret;
}

/* By address; of those that begin at one place the longest first. */
static int by_place(const void *a, const void *b)
{
	const struct cov_symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->size < y->size ? 1 : x->size > y->size ? -1 : 0;
}

static int add_symbols(struct count *c)
{
	struct cov_symbol *s = c->job->symbols;
	uintptr_t bias = c->job->file->bias;
	int ret = 0;

	if (c->job->nsymbols)
		qsort(s, c->job->nsymbols, sizeof(*s), by_place);
	for (size_t i = 0; i < c->job->nsymbols && !ret; i++) {
		struct text *t = text_of(c, s[i].addr + bias);

		if (t && s[i].size)
			ret = add_function(c, s[i].addr + bias, s[i].addr + bias + s[i].size, true);
		else if (t && (*mark_of(t, s[i].addr + bias) & CLASS) == COV_FUNCTION)
			*mark_of(t, s[i].addr + bias) |= ENTRY;
	}
	return ret;
}

/* The filling that begins a gap between functions; all of it if the rest is zero. */
static size_t filling(const uint8_t *p, size_t max)
{
	struct tl_insn insn;
	size_t n = 0, zeros;

	while (n < max && tl_insn_decode(&insn, p + n, max - n, TL_INSN_64) &&
		tl_insn_is_padding(&insn))
		n += insn.len;
	for (zeros = n; zeros < max && !p[zeros]; zeros++)
		;
	return zeros == max ? max : n;
}

static void mark_padding(struct text *t)
{
	uintptr_t a, end;

	for (a = t->img.lo; a < t->img.hi; a = end) {
		bool gap = !(*mark_of(t, a) & CLASS);

		for (end = a; end < t->img.hi && !(*mark_of(t, end) & CLASS) == gap; end++)
			;
		if (gap)
			mark(t, a, a + filling((const void *)a, end - a), COV_PADDING);
	}
}

static int classify(struct count *c)
{
	int ret;

	mark_plt(c);
	ret = add_unwound(c);
	if (!ret)
		ret = add_symbols(c);
	for (size_t i = 0; !ret && i < c->job->file->ntext; i++)
		mark_padding(&c->texts[i]);
	return ret;
}

/* After the functions were walked: what did not decode is not proved. */
static void count_bytes(struct count *c)
{
	for (size_t i = 0; i < c->job->file->ntext; i++) {
		const struct text *t = &c->texts[i];

		for (uintptr_t a = t->img.lo; a < t->img.hi; a++) {
			enum cov_class class = *mark_of(t, a) & CLASS;
			bool proved = class != COV_FUNCTION || (*mark_of(t, a) & PROVED);

			c->out->bytes[proved ? class : COV_UNPROVED]++;
		}
	}
}

/* --- planning --------------------------------------------------------------------------- */

void cov_add(struct cov_tally *t, unsigned rung, int why)
{
	t->n++;
	t->placed += rung != TL_RUNG_NONE && rung != TL_RUNG_TRAP;
	t->rung[rung]++;
	if (rung == TL_RUNG_NONE && why < 0 && why > -TL_E_COUNT)
		t->why[-why]++;
}

/* As a live session would have it: where nothing better fits, a breakpoint. */
static void tell_site(const struct count *c, struct tl_site *s, unsigned rung, int why)
{
	uintptr_t bias = c->job->file->bias;
	struct cov_site site = {s->addr - bias, rung, why, {s->func_start - bias, s->func_size}};

	if (rung == TL_RUNG_NONE && !tl_site_check(s))
		site.rung = TL_RUNG_TRAP;
	c->job->site(c->job->arg, &site);
}

static void tell(void *arg, uintptr_t addr, unsigned rung, int why)
{
	struct count *c = arg;

	cov_add(&c->figure->insns, rung, why);
	if (*mark_of(text_of(c, addr), addr) & ENTRY)
		cov_add(&c->figure->entries, rung, why);
	if (c->alone && c->job->site)
		tell_site(c, tl_site_find(addr), rung, why);
}

static void prove(struct text *t, uintptr_t addr)
{
	struct tl_insn insn;
	int len = tl_insn_decode(&insn, (const void *)addr, t->img.hi - addr, TL_INSN_64);

	*mark_of(t, addr) |= INSN;
	while (len--)
		*mark_of(t, addr++) |= PROVED;
}

/* The next instruction of the function at or behind addr that was not met before; its end: none. */
static uintptr_t next_insn(struct count *c, const struct function *f, uintptr_t addr)
{
	for (; addr < f->end; addr++) {
		uint8_t *m = mark_of(f->text, addr);

		if ((*m & CLASS) != COV_FUNCTION || (*m & SEEN))
			continue;
		if (!tl_func_has_insn(&tl_func_now, addr))
			continue;
		if (c->alone)
			prove(f->text, addr);
		*m |= SEEN;
		return addr;
	}
	return addr;
}

static int plan_function(struct count *c, const struct function *f)
{
	int ret = tl_func_get(
		&tl_func_now, f->start, f->given ? f->start : 0, f->given ? f->end - f->start : 0);
	size_t room = c->alone ? 1 : GROUP;
	uintptr_t a;

	if (ret)
		return ret == -TL_E_NOMEM ? ret : 0;
	ret = 0;
	for (a = next_insn(c, f, f->start); a < f->end && !ret; a = next_insn(c, f, a + 1)) {
		ret = tl_foresee_add(&c->batch, a, f->start,
			f->given ? (uint32_t)(f->end - f->start) : 0, c->alone);
		if (c->batch.nsites >= room) {
			tl_foresee(&c->batch, tell, c);
			/* A long batch leaves another function there. */
			tl_func_get(&tl_func_now, f->start, f->given ? f->start : 0,
				f->given ? f->end - f->start : 0);
		}
	}
	return ret;
}

static int plan_all(struct count *c, struct cov_figure *figure, bool alone)
{
	int ret = tl_batch_init(&c->batch, alone ? 0 : GROUP);

	c->figure = figure;
	c->alone = alone;
	for (size_t i = 0; i < c->nfunctions && !ret; i++) {
		const struct function *f = &c->functions[i];

		ret = plan_function(c, f);
		c->done += f->end - f->start;
		if (c->job->progress)
			c->job->progress(c->job->arg, (double)c->done / (double)c->total);
	}
	tl_foresee(&c->batch, tell, c);
	tl_batch_deinit(&c->batch);
	return ret;
}

/* Entries that no function's code has shown to be instructions. */
static unsigned long lost_entries(const struct count *c)
{
	unsigned long n = 0;

	for (size_t i = 0; i < c->job->file->ntext; i++) {
		const struct text *t = &c->texts[i];

		for (uintptr_t a = t->img.lo; a < t->img.hi; a++)
			n += (*mark_of(t, a) & (ENTRY | INSN)) == ENTRY;
	}
	return n;
}

static int count_locked(struct count *c, struct cov_figure *figure, bool alone)
{
	int ret = tl_engine_init_locked();

	if (!ret)
		ret = add_texts(c);
	if (!ret)
		ret = classify(c);
	for (size_t i = 0; i < c->nfunctions; i++)
		c->total += c->functions[i].end - c->functions[i].start;
	if (!ret)
		ret = plan_all(c, figure, alone);
	if (ret)
		return ret;
	count_bytes(c);
	c->out->lost = lost_entries(c);
	return 0;
}

/* One of the two figures. */
static int count(const struct cov_job *job, struct cov_counts *counts, bool alone)
{
	struct count c = {.job = job, .out = counts};
	int ret;

	tl_os_lock();
	ret = count_locked(&c, alone ? &counts->alone : &counts->once, alone);
	tl_os_unlock();
	for (size_t i = 0; c.texts && i < job->file->ntext; i++)
		free(c.texts[i].mark);
	free(c.texts);
	free(c.functions);
	return ret;
}

/* In a process of its own: the figures share nothing, and take as long as each other. */
static pid_t count_once(const struct cov_job *job, struct cov_counts *counts)
{
	struct cov_job quiet = *job;
	pid_t pid = fork();

	if (pid)
		return pid;
	quiet.site = NULL;
	quiet.progress = NULL;
	_exit(count(&quiet, counts, false) ? 1 : 0);
}

static void add_lost(struct cov_tally *entries, unsigned long n)
{
	while (n--)
		cov_add(entries, TL_RUNG_NONE, -TL_E_NOT_BOUNDARY);
}

int cov_count(const struct cov_job *job, struct cov_counts *counts)
{
	struct cov_counts *other = mmap(
		NULL, sizeof(*other), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ret, status;
	pid_t pid;

	memset(counts, 0, sizeof(*counts));
	if (other == MAP_FAILED)
		return -TL_E_NOMEM;
	pid = count_once(job, other);
	ret = count(job, counts, true);
	if (!ret && (pid < 0 || waitpid(pid, &status, 0) != pid || status))
		ret = -TL_E_NOMEM;
	counts->once = other->once;
	munmap(other, sizeof(*other));
	counts->group = counts->once.insns.n < GROUP ? counts->once.insns.n : GROUP;
	add_lost(&counts->alone.entries, counts->lost);
	add_lost(&counts->once.entries, counts->lost);
	return ret;
}
