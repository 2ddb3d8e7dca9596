/* SPDX-License-Identifier: MIT */
/* A program that has all the mappings that the kernel allows it: probes are refused with that reason. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

#include "../../unit.h"
#include "start.h"

enum { PAGE = 4096, SPARE = 1024, LARGEST = 1 << 20 };

__attribute__((noinline)) static int probed(int a, int b)
{
	__asm__ volatile("" : "+r"(a));
	return a * 3 + b;
}

static long hits;

static int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits++;
	return 0;
}

static size_t allowed(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	size_t n = 0;

	if (f && fscanf(f, "%zu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Two mappings for every other page that is made readable; as many as the kernel gives, but a few. */
static char *fill(size_t n, size_t *size)
{
	*size = n * PAGE;
	return mmap(NULL, *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void the_limit_of_mappings_is_told(void)
{
	struct tl_probe p = {.addr = (void *)probed, .pre = count};
	size_t max = allowed(), size;
	struct tl_usage u;
	char *all;

	if (!max || max > LARGEST)
		SKIP("vm.max_map_count is not known, or too large to be used up");
	CHECK(!tl_probes_usage(&u) && u.mappings_max == max / 4);
	all = fill(max, &size);
	CHECK(all != MAP_FAILED);
	for (size_t i = 0; i < max - SPARE; i += 2)
		if (mprotect(all + i * PAGE, PAGE, PROT_READ))
			break;
	CHECK(tl_probe_register(&p) == -TL_E_MAPPINGS);
	CHECK(p.state == TL_PROBE_NEW && probed(2, 1) == 7 && hits == 0);
	munmap(all, size);
	CHECK(!tl_probe_register(&p));
	CHECK(probed(2, 1) == 7 && hits == 1);
	CHECK(!tl_probes_usage(&u) && u.mappings && u.mappings <= u.mappings_max);
	CHECK(u.probes == 1 && u.detours && u.text_pages);
	CHECK(!tl_probe_unregister(&p));
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!engine_started(has_argument(argv, "traps")))
		return 1;
	RUN(the_limit_of_mappings_is_told);
	tl_engine_exit();
	return UNIT_RESULT();
}
