/* SPDX-License-Identifier: MIT */
/*
 * What a hit costs in the own process: TSC ticks, the lowest of REPS (at most 25)
 * repetitions, minus the bare call in the same run, on `plain` (lea; ret).
 *
 *     bench/own REPS [ROW ...]     all rows, or those whose name holds a word
 *
 * One line a row, columns separated by tabs: name, ticks over the bare call,
 * ticks with the call, rung.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trapless/probe.h>

#include "ticks.h"

#define HANDLER __attribute__((target("general-regs-only")))

enum { REPS_MAX = 25, JUMPS = 400000, TRAPS = 8000 };

__asm__(".text\n" FUNCTION(plain, LEA_RET) FUNCTION(other, LEA_RET)
		FUNCTION(trapped, "	int3\n" LEA_RET));
long plain(long a, long b), other(long a, long b), trapped(long a, long b);

/* --- handlers -------------------------------------------------------------- */

static long hits;

static int HANDLER empty(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	return 0;
}

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	++*(long *)p->data;
	return 0;
}

/* One counter a thread, as compiled scripts have them. */
static int HANDLER count_sharded(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	void **mine = tl_thread_local(self, 0);

	(void)p;
	(void)regs;
	*mine = (char *)*mine + 1;
	return 0;
}

static int HANDLER use_regs(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	*(uint64_t *)p->data += regs->bx & 0;
	regs->r12 += 0;
	return 0;
}

static void HANDLER after(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
}

static int HANDLER on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	*(uint64_t *)c->data = 1;
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	hits += *(long *)c->data;
}

static int HANDLER count_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)c;
	(void)regs;
	(void)self;
	++hits;
	return 0;
}

static void HANDLER count_return(
	struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)c;
	(void)regs;
	(void)self;
	++hits;
}

/* --- rows -------------------------------------------------------------------- */

static int words, reps;
static char **word;

static bool wanted(const char *name)
{
	for (int i = 0; i < words; i++) {
		if (strstr(name, word[i]))
			return true;
	}
	return !words;
}

/* The bare call is measured again beside every row; the lowest counts. Rows are printed at the end. */
static double bare = 1e30;
static struct row {
	const char *name, *rung;
	double ticks;
} rows[16];
static unsigned nrows;

static void row(const char *name, double lowest, const char *rung)
{
	double b = ticks(plain, JUMPS, reps);

	bare = least(bare, b);
	for (unsigned i = 0; i < nrows; i++) {
		if (rows[i].name == name) {
			rows[i].ticks = least(rows[i].ticks, lowest);
			return;
		}
	}
	rows[nrows++] = (struct row){name, rung, lowest};
}

static void print_rows(void)
{
	printf("# name\tover bare call\twith call\trung (TSC ticks, lowest of %d)\n", reps);
	printf("%-28s\t%9.2f\t%9.2f\n", "bare call", 0.0, bare);
	for (unsigned i = 0; i < nrows; i++)
		printf("%-28s\t%9.2f\t%9.2f\t%s\n", rows[i].name, rows[i].ticks - bare,
			rows[i].ticks, rows[i].rung);
}

static int note_rung(const struct tl_probe_info *info, void *arg)
{
	static const char *const names[] = {
		"none", "retarget", "whole", "pun", "evict", "window", "trap"};

	*(const char **)arg = names[info->rung];
	return 1;
}

static void probe_row(const char *name, struct tl_probe p)
{
	const char *rung = "?";
	double lowest;
	int ret;

	if (!wanted(name))
		return;
	p.addr = (void *)plain;
	p.data = &hits;
	ret = tl_probe_register(&p);
	if (ret) {
		printf("%-28s\tnot measured: %s\n", name, tl_error_text(ret));
		return;
	}
	tl_probes_list(note_rung, &rung);
	lowest = ticks(plain, p.flags & TL_PROBE_NO_JUMP ? TRAPS : JUMPS, reps);
	tl_probe_unregister(&p);
	row(name, lowest, rung);
}

static void return_row(const char *name, struct tl_retprobe r)
{
	double lowest;
	int ret;

	if (!wanted(name))
		return;
	r.entry = (void *)plain;
	ret = tl_retprobe_register(&r);
	if (ret) {
		printf("%-28s\tnot measured: %s\n", name, tl_error_text(ret));
		return;
	}
	lowest = ticks(plain, JUMPS, reps);
	tl_retprobe_unregister(&r);
	row(name, lowest, "");
}

/* A thread that calls one of the functions in laps, each begun together with the other thread's. */
struct runner {
	pthread_barrier_t *start;
	bool other;
	double lap[REPS_MAX];
};

static void *run_laps(void *arg)
{
	struct runner *r = arg;

	for (int i = 0; i < reps; i++) {
		pthread_barrier_wait(r->start);
		r->lap[i] = r->other ? ticks_once(other, JUMPS) : ticks_once(plain, JUMPS);
	}
	return NULL;
}

/* The slower of the two in their best lap. */
static double ticks_of_two(bool same)
{
	pthread_barrier_t start;
	struct runner first = {.start = &start}, second = {.start = &start, .other = !same};
	double lowest = 1e30;
	pthread_t thread;

	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&thread, NULL, run_laps, &second);
	run_laps(&first);
	pthread_join(thread, NULL);
	for (int i = 0; i < reps; i++) {
		bool later = second.lap[i] > first.lap[i];

		lowest = least(lowest, later ? second.lap[i] : first.lap[i]);
	}
	return lowest;
}

/* Two processors have to be free for them. */
static void two_threads_row(const char *name, bool same)
{
	struct tl_probe one = {.addr = (void *)plain, .pre = count_sharded};
	struct tl_probe two = {.addr = (void *)other, .pre = count_sharded};
	struct tl_probe *both[] = {&one, &two};
	double lowest;
	int ret;

	if (!wanted(name))
		return;
	ret = tl_probes_register(both, 2, NULL);
	if (ret) {
		printf("%-28s\tnot measured: %s\n", name, tl_error_text(ret));
		return;
	}
	lowest = ticks_of_two(same);
	tl_probes_unregister(both, 2);
	row(name, lowest, "");
}

static void go_on(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
}

/* What the trap path has to be compared with: nothing but the kernel's own work. */
static void bare_trap_row(const char *name)
{
	struct sigaction sa = {.sa_sigaction = go_on, .sa_flags = SA_SIGINFO}, was;

	if (!wanted(name))
		return;
	sigaction(SIGTRAP, &sa, &was);
	row(name, ticks(trapped, TRAPS, reps), "");
	sigaction(SIGTRAP, &was, NULL);
}

int main(int argc, char **argv)
{
	static const char one_probe[] = "two threads, one probe";
	static const char probe_each[] = "two threads, a probe each";
	static const char trap[] = "trap path, counting", bare_trap[] = "bare int3 and SIGTRAP";

	reps = argc > 1 ? atoi(argv[1]) : 0;
	if (reps < 1 || reps > REPS_MAX) {
		fprintf(stderr, "own: how many repetitions, 1 to %d?\n", REPS_MAX);
		return 2;
	}
	words = argc - 2;
	word = argv + 2;
	probe_row("empty", (struct tl_probe){.pre = empty});
	probe_row("counting", (struct tl_probe){.pre = count});
	probe_row("counting, one a thread", (struct tl_probe){.pre = count_sharded});
	probe_row("full registers", (struct tl_probe){.pre = use_regs, .flags = TL_PROBE_REGS});
	probe_row("pre and post", (struct tl_probe){.pre = empty, .post = after});
	probe_row("private stack", (struct tl_probe){.pre = empty, .flags = TL_PROBE_BIG_STACK});
	return_row("return pair, counting",
		(struct tl_retprobe){.on_entry = count_entry, .on_return = count_return});
	return_row("return pair, with data",
		(struct tl_retprobe){.on_entry = on_entry, .on_return = on_return, .data_size = 8});
	for (int i = 0; i < 3; i++) {
		two_threads_row(one_probe, true);
		two_threads_row(probe_each, false);
	}
	for (int i = 0; i < 3; i++) {
		probe_row(trap, (struct tl_probe){.pre = count, .flags = TL_PROBE_NO_JUMP});
		bare_trap_row(bare_trap);
	}
	print_rows();
	tl_engine_exit();
	return 0;
}
