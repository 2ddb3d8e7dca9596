/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../kmod/device.h"
#include "../kernel/device.h"

bool cov_kernel_is(struct cov_kernel *k, const char *what)
{
	int end = 0;

	*k = (struct cov_kernel){.module = ""};
	if (!strcmp(what, "kernel"))
		return true;
	return sscanf(what, "module(\"%63[A-Za-z0-9_]\")%n", k->module, &end) == 1 && end &&
	       !what[end];
}

static int fail(struct cov_kernel *k, const char *what)
{
	snprintf(k->why, sizeof(k->why), "%s", what);
	return -1;
}

/* --- where functions begin ------------------------------------------------------------ */

struct begins {
	uint64_t *at;
	size_t n, max;
	uint64_t lo, hi; /* the kernel's own text */
};

static int add(struct begins *b, uint64_t addr)
{
	if (b->n == b->max) {
		b->max = b->max ? 2 * b->max : 1024;
		b->at = realloc(b->at, b->max * sizeof(*b->at));
		if (!b->at)
			return -1;
	}
	b->at[b->n++] = addr;
	return 0;
}

/* Only room in front of a function, for the kernel to write a check there, bears such a name. */
static bool is_function(char type, const char *name)
{
	return strchr("tTwW", type) && strncmp(name, "__pfx_", 6);
}

static int take(struct cov_kernel *k, struct begins *b, const char *line)
{
	char name[512], module[70] = "", type;
	unsigned long long addr;

	if (sscanf(line, "%llx %c %511s [%65[^]]", &addr, &type, name, module) < 3)
		return 0;
	if (!strcmp(name, "_stext"))
		b->lo = addr;
	else if (!strcmp(name, "_etext"))
		b->hi = addr;
	if (strcmp(module, k->module) || !is_function(type, name))
		return 0;
	return add(b, addr) ? fail(k, "out of memory") : 0;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* In order, each once; what is not there any more since the start is left out. */
static void tidy(const struct cov_kernel *k, struct begins *b)
{
	size_t n = 0;

	qsort(b->at, b->n, sizeof(*b->at), by_address);
	for (size_t i = 0; i < b->n; i++) {
		if (n && b->at[n - 1] == b->at[i])
			continue;
		if (k->module[0] || (b->at[i] >= b->lo && b->at[i] < b->hi))
			b->at[n++] = b->at[i];
	}
	b->n = n;
}

static int read_names(struct cov_kernel *k, struct begins *b)
{
	FILE *in = fopen("/proc/kallsyms", "re");
	char line[700];
	int ret = 0;

	if (!in)
		return fail(k, "/proc/kallsyms cannot be read, which names the kernel's functions");
	while (!ret && fgets(line, sizeof(line), in))
		ret = take(k, b, line);
	fclose(in);
	if (ret)
		return ret;
	if (!b->hi)
		return fail(k, "/proc/kallsyms shows no addresses: write 0 to "
			       "/proc/sys/kernel/kptr_restrict, as root");
	if (b->n)
		tidy(k, b);
	return b->n ? 0 : fail(k, "no such module is loaded, or it has no functions: modprobe it");
}

/* --- asking --------------------------------------------------------------------------- */

struct asked {
	const struct cov_job *job;
	struct cov_counts *counts;
	struct tl_device_foresee of;
	struct tl_device_place *places; /* TL_DEVICE_PLACES of them */
};

static void count_fate(struct cov_figure *f, const struct tl_device_fate *fate, bool entry)
{
	cov_add(&f->insns, fate->rung, fate->why);
	if (entry)
		cov_add(&f->entries, fate->rung, fate->why);
}

/* As a live session would have it: where nothing better fits, a breakpoint. */
static void tell(const struct asked *a, const struct tl_device_place *p)
{
	const bool trap = p->alone.rung == TL_RUNG_NONE && p->together.rung == TL_RUNG_TRAP;
	const struct cov_site site = {.addr = p->addr,
		.rung = trap ? TL_RUNG_TRAP : p->alone.rung,
		.why = p->alone.why,
		.function = {a->of.start, a->of.size}};

	a->job->site(a->job->arg, &site);
}

static void count_function(struct cov_kernel *k, const struct asked *a)
{
	k->functions++;
	k->bytes += a->of.size;
	for (uint32_t i = 0; i < a->of.count; i++) {
		const struct tl_device_place *p = &a->places[i];
		const bool entry = p->addr == a->of.start;

		count_fate(&a->counts->alone, &p->alone, entry);
		count_fate(&a->counts->once, &p->together, entry);
		if (a->job->site)
			tell(a, p);
	}
}

static int ask(struct cov_kernel *k, struct asked *a, int device, uint64_t addr)
{
	a->of = (struct tl_device_foresee){
		.addr = addr, .to = (uintptr_t)a->places, .room = TL_DEVICE_PLACES};
	if (ioctl(device, TL_DEVICE_FORESEE, &a->of) || a->of.error <= -TL_E_COUNT)
		return fail(k, errno == EBUSY ? "probes stand in this kernel: end what put them "
						"there (trapless-run --sessions)"
					      : strerror(errno));
	if (!a->of.error)
		count_function(k, a);
	else
		k->unread[-a->of.error]++;
	return 0;
}

static int ask_all(struct cov_kernel *k, struct asked *a, int device, const struct begins *b)
{
	int ret = 0;

	a->places = calloc(TL_DEVICE_PLACES, sizeof(*a->places));
	if (!a->places)
		return fail(k, "out of memory");
	for (size_t i = 0; i < b->n && !ret; i++) {
		ret = ask(k, a, device, b->at[i]);
		a->job->progress(a->job->arg, (double)i / (double)b->n);
	}
	free(a->places);
	return ret;
}

int cov_kernel_count(struct cov_kernel *k, const struct cov_job *job, struct cov_counts *counts)
{
	struct asked a = {.job = job, .counts = counts};
	struct begins b = {.at = NULL};
	int device = kernel_device(k->why, sizeof(k->why)), ret = -1;

	memset(counts, 0, sizeof(*counts));
	if (device < 0)
		return -1;
	if (!read_names(k, &b))
		ret = ask_all(k, &a, device, &b);
	free(b.at);
	close(device);
	return ret;
}
