/* SPDX-License-Identifier: MIT */
/* `trapless-run --coverage FILE`: the figures, for people and in one last line for machines. */
#define _GNU_SOURCE
#include "coverage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/clock.h"
#include "../base/progress.h"
#include "count.h"
#include "kernel.h"

static const char *const rung_names[] = {
	"refused", "retarget", "whole", "pun", "evict", "window", "trap"};

/* --- functions from the host -------------------------------------------------------- */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "trapless-run: %s: %s\n", what, why);
	return 1;
}

static int read_functions(struct cov_job *job, const char *path)
{
	FILE *in = fopen(path, "re");
	unsigned long addr, size;
	size_t max = 0;
	int fields;

	if (!in)
		return complain(path, strerror(errno));
	while ((fields = fscanf(in, "%lx %lx", &addr, &size)) == 2) {
		if (job->nsymbols == max) {
			max = max ? 2 * max : 1024;
			job->symbols = realloc(job->symbols, max * sizeof(*job->symbols));
			if (!job->symbols)
				break;
		}
		job->symbols[job->nsymbols++] = (struct cov_symbol){addr, size};
	}
	fclose(in);
	if (!job->symbols && job->nsymbols)
		return complain(path, "out of memory");
	return fields == EOF ? 0 : complain(path, "not lines of an address and a size");
}

/* --- while it runs ------------------------------------------------------------------------ */

struct shown {
	double start, last; /* ms */
	int listing;
};

/* From the second second on. */
static void progress(void *arg, double done)
{
	struct shown *s = arg;
	double now = now_ms();

	if (now - s->start < PROGRESS_FROM_MS || now - s->last < PROGRESS_MS)
		return;
	s->last = now;
	progress_show("planning", 100 * done);
}

static void list_site(void *arg, const struct cov_site *s)
{
	(void)arg;
	printf("0x%lx %s%s%s", (unsigned long)s->addr, rung_names[s->rung], s->why ? " " : "",
		s->why ? tl_error_name(-s->why) : "");
	if (s->function.size)
		printf(" in 0x%lx+0x%lx", (unsigned long)s->function.addr,
			(unsigned long)s->function.size);
	printf("\n");
}

/* --- printing ------------------------------------------------------------------------------- */

enum { MOST = 50 }; /* percent */

static double share(unsigned long n, unsigned long of)
{
	return of ? 100.0 * (double)n / (double)of : 0;
}

/* Never 100.00 when it is not all. */
static double share_down(unsigned long n, unsigned long of)
{
	return of ? (double)((uint64_t)n * 10000 / of) / 100 : 0;
}

static unsigned long all_bytes(const struct cov_counts *c)
{
	unsigned long all = 0;

	for (int i = 0; i < COV_CLASSES; i++)
		all += c->bytes[i];
	return all;
}

static void print_bytes(const char *path, const struct cov_counts *c)
{
	unsigned long all = all_bytes(c);

	printf("%s: %lu executable bytes: function %.2f %%, PLT %.2f %%, padding %.2f %%, "
	       "unproved %.2f %% (%lu)\n",
		path, all, share(c->bytes[COV_FUNCTION], all), share(c->bytes[COV_PLT], all),
		share(c->bytes[COV_PADDING], all), share(c->bytes[COV_UNPROVED], all),
		c->bytes[COV_UNPROVED]);
	printf("functions: %lu by .eh_frame, %lu more by symbols\n", c->by_unwind, c->by_symbol);
}

static void print_row(const char *name, unsigned long n, const struct cov_tally *insns,
	unsigned long m, const struct cov_tally *entries)
{
	if (n || m)
		printf("  %-24s %7.2f %% %9lu    %7.2f %% %7lu\n", name, share(n, insns->n), n,
			share(m, entries->n), m);
}

static void print_figure(const char *title, const struct cov_figure *f)
{
	printf("\n%-30s instructions          entries\n", title);
	for (unsigned r = TL_RUNG_RETARGET; r <= TL_RUNG_TRAP; r++)
		print_row(rung_names[r], f->insns.rung[r], &f->insns, f->entries.rung[r],
			&f->entries);
	for (int i = 1; i < TL_E_COUNT; i++) {
		char name[40];

		snprintf(name, sizeof(name), "not: %s", tl_error_name(i));
		print_row(name, f->insns.why[i], &f->insns, f->entries.why[i], &f->entries);
	}
	printf("  %-24s %7.2f %% %9lu    %7.2f %% %7lu\n", "without a trap",
		share_down(f->insns.placed, f->insns.n), f->insns.placed,
		share_down(f->entries.placed, f->entries.n), f->entries.placed);
}

static void print_sum(const struct cov_figure *f)
{
	printf("\nplaceable %.2f %% of %lu instructions, %.2f %% of %lu entries",
		share_down(f->insns.placed, f->insns.n), f->insns.n,
		share_down(f->entries.placed, f->entries.n), f->entries.n);
}

static void print_all(const char *path, const struct cov_counts *c)
{
	const double unproved = share(c->bytes[COV_UNPROVED], all_bytes(c));
	char title[64] = "all sites at once";

	print_bytes(path, c);
	print_figure("each site alone", &c->alone);
	if (c->group < c->once.insns.n)
		snprintf(title, sizeof(title), "%lu sites at once", c->group);
	print_figure(title, &c->once);
	print_sum(&c->alone);
	if (unproved > MOST)
		printf("; %.2f %% of the executable bytes are unproved, and not among them",
			unproved);
	printf("\n");
}

static int of_kernel(struct cov_kernel *k, const char *what, const struct cov_job *job)
{
	struct cov_counts counts;
	int ret = cov_kernel_count(k, job, &counts);

	progress_clear();
	if (ret)
		return complain(what, k->why);
	printf("%s: %lu bytes in %lu functions by kallsyms\n", what, k->bytes, k->functions);
	for (int i = 1; i < TL_E_COUNT; i++)
		if (k->unread[i])
			printf("not read: %lu functions: %s\n", k->unread[i], tl_error_name(i));
	print_figure("each site alone", &counts.alone);
	print_figure("all sites of a function", &counts.once);
	print_sum(&counts.alone);
	printf("\n");
	return 0;
}

int coverage_main(const char *path, const char *functions, int listing)
{
	struct shown shown = {.start = now_ms()};
	struct cov_job job = {.progress = progress, .arg = &shown};
	struct cov_counts counts;
	struct cov_kernel kernel;
	struct cov_file file;
	int ret;

	if (listing)
		job.site = list_site;
	if (cov_kernel_is(&kernel, path))
		return of_kernel(&kernel, path, &job);
	if (!strncmp(path, "module(", 7))
		return complain(path, "a module of the kernel is told as in module(\"loop\")");
	if (cov_file_open(&file, path)) {
		fprintf(stderr, "trapless-run: %s\n", file.why);
		return 1;
	}
	job.file = &file;
	if (functions && read_functions(&job, functions))
		return 1;
	ret = cov_count(&job, &counts);
	free(job.symbols);
	progress_clear();
	if (ret)
		return complain(path, tl_error_text(-ret));
	if (!counts.alone.insns.n)
		return complain(path,
			"no function is known: it has no .eh_frame, and no symbols were given");
	print_all(path, &counts);
	return 0;
}
