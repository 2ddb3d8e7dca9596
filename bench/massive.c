/* SPDX-License-Identifier: MIT */
/*
 * Many probes in the own process: 40,000 are registered and half of them
 * enabled, all in one call or one after the other, and taken away again.
 * Each round is a process of its own that has seen no probe before.
 *
 *     bench/massive [ROUNDS]
 *
 * One line a figure, columns separated by tabs: name, lowest and highest of all rounds, unit.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <trapless/probe.h>

#include "ticks.h"

#define HANDLER __attribute__((target("general-regs-only")))

enum { SITES = 40000, ON = SITES / 2, STEP = 16, ROUNDS = 7, CALLS = 200000, REPS = 15 };

/* Small functions, 16 bytes apart, with the beginnings that compilers write. Each gives back its argument. */
#define MANY(code) ".cfi_startproc\n" code "	ret\n.cfi_endproc\n.p2align 4\n"
__asm__(".text\n.p2align 4\nmany:\n.rept 10000\n" /* times four */
	MANY("	endbr64\n	lea (%rdi),%rax\n")
		MANY("	push %rbp\n	mov %rsp,%rbp\n	mov %rdi,%rax\n	pop %rbp\n")
			MANY("	sub $8,%rsp\n	mov %rdi,%rax\n	add $8,%rsp\n")
				MANY("	mov $0,%eax\n	lea (%rax,%rdi),%rax\n") ".endr\n" FUNCTION(
					hot, LEA_RET));
extern char many[] __attribute__((visibility("hidden")));
long hot(long a, long b);

static struct tl_probe probes[SITES], *all[SITES], *half[ON];
static uint64_t hits;

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits++;
	return 0;
}

/* --- what is measured ---------------------------------------------------------- */

enum figure {
	RAW,
	INIT,
	AT_ONCE,
	AWAY_AT_ONCE,
	REGISTER,
	ENABLE,
	DISABLE,
	UNREGISTER,
	MEMORY,
	HIT_1,
	HIT_1000,
	HIT_ALL,
	HELD,
	FIGURES
};
static const struct {
	const char *name, *unit;
} figures[FIGURES] = {
	[RAW] = {"20,000 bare stores", "ms"},
	[INIT] = {"engine begins", "ms"},
	[AT_ONCE] = {"40,000 registered, 20,000 on", "ms"},
	[AWAY_AT_ONCE] = {"all of them unregistered", "ms"},
	[REGISTER] = {"40,000 registered, off", "ms"},
	[ENABLE] = {"20,000 enabled", "ms"},
	[DISABLE] = {"20,000 disabled", "ms"},
	[UNREGISTER] = {"40,000 unregistered", "ms"},
	[MEMORY] = {"memory a probe, half on", "bytes"},
	[HIT_1] = {"a hit, 1 probe", "ticks"},
	[HIT_1000] = {"a hit, 1,000 probes", "ticks"},
	[HIT_ALL] = {"a hit, 20,000 probes", "ticks"},
	[HELD] = {"a thread held, at most", "ms"},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void must(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "bench/massive: %s: %s\n", what, tl_error_text(ret));
	_exit(1);
}

#define TIMED(figure, call)                                                                        \
	do {                                                                                       \
		double begin = now();                                                              \
		must(call, #call);                                                                 \
		out[figure] = now() - begin;                                                       \
	} while (0)

/* The least that changing so many places takes: the text opened, a word stored in each, everyone synced. */
static int store_bare(void)
{
	size_t size = (size_t)SITES * STEP + 8192;
	char *page = (char *)((uintptr_t)many & ~4095ul);
	int ret =
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);

	ret |= mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (int i = 0; i < SITES && !ret; i += 2) {
		volatile uint64_t *word = (uint64_t *)(many + (long)i * STEP);

		*word = *word;
	}
	ret |= mprotect(page, size, PROT_READ | PROT_EXEC);
	return ret | (int)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static void fill(uint32_t off)
{
	for (int i = 0; i < SITES; i++) {
		probes[i] = (struct tl_probe){.addr = many + (long)i * STEP,
			.pre = count,
			.flags = i & 1 ? TL_PROBE_DISABLED : off};
		all[i] = &probes[i];
		if (!(i & 1))
			half[i / 2] = &probes[i];
	}
}

/* Half of the functions count, and all of them work. */
static int call_all(void)
{
	uint64_t before = hits;
	long wrong = 0;

	for (long i = 0; i < SITES; i++)
		wrong += ((long (*)(long))(uintptr_t)(many + i * STEP))(i) != i;
	return wrong || hits - before != ON ? -TL_E_STATE : 0;
}

static double resident(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	double kib = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Private_Dirty: %lf", &kib);
	if (f)
		fclose(f);
	return kib * 1024;
}

static void at_once(double *out)
{
	TIMED(RAW, store_bare());
	TIMED(INIT, tl_engine_init());
	fill(0);
	out[MEMORY] = resident();
	TIMED(AT_ONCE, tl_probes_register(all, SITES, NULL));
	out[MEMORY] = (resident() - out[MEMORY]) / SITES;
	must(call_all(), "calls");
	TIMED(AWAY_AT_ONCE, tl_probes_unregister(all, SITES));
}

static void one_after_the_other(double *out)
{
	must(tl_engine_init(), "init");
	fill(TL_PROBE_DISABLED);
	TIMED(REGISTER, tl_probes_register(all, SITES, NULL));
	TIMED(ENABLE, tl_probes_enable(half, ON, NULL));
	must(call_all(), "calls");
	TIMED(DISABLE, tl_probes_disable(half, ON));
	TIMED(UNREGISTER, tl_probes_unregister(all, SITES));
}

static double hit_beside(size_t others)
{
	struct tl_probe p = {.addr = (void *)hot, .pre = count};
	double bare = ticks(hot, CALLS, REPS), with;

	fill(0);
	if (others)
		must(tl_probes_register(half, others, NULL), "register");
	must(tl_probe_register(&p), "register");
	with = ticks(hot, CALLS, REPS);
	must(tl_probe_unregister(&p), "unregister");
	if (others)
		must(tl_probes_unregister(half, others), "unregister");
	return with - bare;
}

static void hit(double *out)
{
	out[HIT_1] = hit_beside(0);
	out[HIT_1000] = hit_beside(999);
	out[HIT_ALL] = hit_beside(ON - 1);
}

static volatile int run_on = 1;

static void *run(void *arg)
{
	while (run_on)
		hot(1, 2);
	return arg;
}

static int longest(const struct tl_held *held, void *arg)
{
	double ms = (double)held->longest_ns / 1e6, *most = arg;

	*most = ms > *most ? ms : *most;
	return 0;
}

/* On and off, while another thread runs. */
static void hold(double *out)
{
	pthread_t t;

	must(pthread_create(&t, NULL, run, NULL), "thread");
	fill(0);
	must(tl_probes_register(all, SITES, NULL), "register");
	must(tl_probes_unregister(all, SITES), "unregister");
	run_on = 0;
	pthread_join(t, NULL);
	tl_threads_held(longest, &out[HELD]);
}

/* --- rounds ---------------------------------------------------------------------- */

static double (*columns)[FIGURES]; /* shared with the children */

static void in_a_child(void (*part)(double *out), double *out)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		part(out);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

static void print(int rounds)
{
	printf("# name\tlowest\thighest of %d rounds\n", rounds);
	for (int n = 0; n < FIGURES; n++) {
		double low = columns[0][n], high = low;

		for (int i = 1; i < rounds; i++) {
			low = columns[i][n] < low ? columns[i][n] : low;
			high = columns[i][n] > high ? columns[i][n] : high;
		}
		printf("%-30s\t%9.2f\t%9.2f\t%s\n", figures[n].name, low, high, figures[n].unit);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

	if (rounds < 1)
		return 1;
	columns = mmap(NULL, (size_t)rounds * sizeof(*columns), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (columns == MAP_FAILED)
		return 1;
	for (int i = 0; i < rounds; i++) {
		in_a_child(at_once, columns[i]);
		in_a_child(one_after_the_other, columns[i]);
		in_a_child(hit, columns[i]);
		in_a_child(hold, columns[i]);
	}
	print(rounds);
	return 0;
}
