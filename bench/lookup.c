/* SPDX-License-Identifier: MIT */
/*
 * Does a cache in front of the trap path's hash table pay? What a look-up takes with 10 to 100,000 probes, without and
 * with a 4-way cache of 4,096 sets: TSC ticks, the lowest of some repetitions. Hot: 32 of the probes are hit by turns;
 * random: all of them are. One line a number of probes, columns separated by tabs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include "../engine/os/traptab.c"

enum { SETS = 4096, WAYS = 4, HOT = 32, HITS = 1 << 16, REPS = 15, MOST = 100000 };

void *tl_os_alloc(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void tl_os_free(void *p, size_t size)
{
	munmap(p, size);
}

/* --- the cache: one thread's, as each processor would have one ------------------- */

static struct set {
	struct tl_traptab_entry way[WAYS];
} * sets;
static unsigned turn;

static uintptr_t find_cached(uintptr_t addr)
{
	struct set *s = &sets[tl_traptab_hash(addr) % SETS];

	for (unsigned i = 0; i < WAYS; i++)
		if (s->way[i].addr == addr)
			return s->way[i].detour;
	s->way[turn % WAYS] = (struct tl_traptab_entry){addr, tl_traptab_find(addr)};
	return s->way[turn++ % WAYS].detour;
}

/* --- measuring ------------------------------------------------------------------- */

static uintptr_t addrs[MOST], hits[HITS];

static inline __attribute__((always_inline)) double ticks(uintptr_t (*find)(uintptr_t))
{
	double lowest = 1e30;

	for (int n = 0; n < REPS; n++) {
		uint64_t begin = __rdtsc();
		uintptr_t found = 0;
		double now;

		for (int i = 0; i < HITS; i++) /* the next address depends on the last answer */
			found = find(hits[i] + (found & 1));
		now = (double)(__rdtsc() - begin) / HITS;
		lowest = now < lowest ? now : lowest;
		if (found & 1)
			exit(1);
	}
	return lowest;
}

static void choose_hits(size_t among)
{
	for (int i = 0; i < HITS; i++)
		hits[i] = addrs[(size_t)rand() % among];
}

int main(void)
{
	sets = tl_os_alloc(SETS * sizeof(*sets));
	if (!sets)
		return 1;
	for (int i = 0; i < MOST; i++)
		addrs[i] = 0x400000 + (uintptr_t)i * 48 + (unsigned)rand() % 32;
	printf("# probes\thot\thot, cached\trandom\trandom, cached\n");
	for (size_t n = 10; n <= MOST; n *= 10) {
		for (size_t i = 0; i < n; i++)
			if (tl_traptab_set(addrs[i], 2 * addrs[i]))
				return 1;
		printf("%zu", n);
		for (int all = 0; all < 2; all++) {
			choose_hits(all || n < HOT ? n : HOT);
			printf("\t%.1f", ticks(tl_traptab_find));
			printf("\t%.1f", ticks(find_cached));
		}
		printf("\n");
	}
	return 0;
}
