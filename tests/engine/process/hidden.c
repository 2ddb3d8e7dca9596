/* SPDX-License-Identifier: MIT */
/*
 * A program that protects its own text while it has probes there: it is what it was once they are gone, whatever the
 * protection. With the argument `traps` without jump optimization.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../unit.h"
#include "start.h"

enum { PAGE = 4096, RX = PROT_READ | PROT_EXEC };

/* A page of its own, in front of all else. */
int hidden(int a), beside(int a);

__attribute__((noinline, aligned(4096))) int hidden(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a * 3 + 1;
}

__attribute__((noinline, aligned(4096))) int beside(int a)
{
	__asm__ volatile("" : "+r"(a));
	return a * 5 + 1;
}

static bool traps;
static long hits;
static unsigned char was[PAGE];

static int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits++;
	return 0;
}

static struct tl_probe probes[2] = {
	{.addr = (void *)hidden, .pre = count}, {.addr = (void *)beside, .pre = count}};
static struct tl_probe *const both[2] = {&probes[0], &probes[1]};

static void probe_both(void)
{
	hits = 0;
	CHECK(!tl_probes_register((struct tl_probe **)both, 2, NULL));
	CHECK(hidden(2) == 7 && beside(2) == 11 && hits == 2);
}

static void protect(int prot)
{
	CHECK(!mprotect((void *)hidden, PAGE, prot));
}

static bool as_it_was(void)
{
	long before = hits;

	return hidden(2) == 7 && beside(2) == 11 && hits == before &&
	       !memcmp((void *)hidden, was, PAGE);
}

static const int prots[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};

static void probes_can_be_taken_away(void)
{
	for (size_t i = 0; i < sizeof(prots) / sizeof(*prots); i++) {
		probe_both();
		protect(prots[i]);
		CHECK(!tl_probes_unregister((struct tl_probe **)both, 2));
		CHECK(beside(2) == 11 && hits == 2);
		protect(RX);
		CHECK(as_it_was());
	}
}

static void the_engine_can_end(void)
{
	for (size_t i = 0; i < sizeof(prots) / sizeof(*prots); i++) {
		CHECK(engine_started(traps));
		probe_both();
		protect(prots[i]);
		CHECK(tl_engine_exit());
		protect(RX);
		CHECK(as_it_was());
	}
	CHECK(engine_started(traps));
}

static void one_is_switched(void)
{
	probe_both();
	protect(PROT_NONE);
	CHECK(!tl_probe_disable(&probes[0]));
	CHECK(beside(2) == 11 && hits == 3);
	CHECK(tl_probe_enable(&probes[0]) < 0 && probes[0].state == TL_PROBE_OFF);
	protect(RX);
	CHECK(hidden(2) == 7 && hits == 3);
	CHECK(!tl_probe_enable(&probes[0]));
	CHECK(hidden(2) == 7 && hits == 4);
	CHECK(!tl_probes_unregister((struct tl_probe **)both, 2) && as_it_was());
}

static void it_comes_back(void)
{
	probe_both();
	protect(PROT_NONE);
	CHECK(!tl_probe_disable(&probes[1]) && !tl_probe_enable(&probes[1]));
	protect(RX);
	CHECK(probes[0].state == TL_PROBE_ARMED && hidden(2) == 7 && hits == 3);
	CHECK(!tl_probes_unregister((struct tl_probe **)both, 2) && as_it_was());
}

/* The file of its memory cannot be opened: what the text leads to stays, and runs nothing. */
static void who_cannot_look_keeps_it(void)
{
	struct rlimit files, none;

	CHECK(!getrlimit(RLIMIT_NOFILE, &files));
	none = (struct rlimit){0, files.rlim_max};
	probe_both();
	protect(PROT_NONE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(!tl_engine_exit());
	CHECK(!setrlimit(RLIMIT_NOFILE, &files));
	protect(RX);
	CHECK(hidden(2) == 7 && beside(2) == 11 && hits == 2);
	CHECK(tl_engine_exit() && as_it_was());
	CHECK(engine_started(traps));
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	memcpy(was, (void *)hidden, PAGE);
	if (!engine_started(traps))
		return 1;
	RUN(probes_can_be_taken_away);
	RUN(the_engine_can_end);
	RUN(one_is_switched);
	RUN(it_comes_back);
	RUN(who_cannot_look_keeps_it);
	tl_engine_exit();
	return UNIT_RESULT();
}
