/* SPDX-License-Identifier: MIT */
/* Which returns of system calls are told: those of calls that have left a note, each once to each probe. */
#include "home.h"

#if defined(__x86_64__)
enum { SIZE = 2 };
#else
enum { SIZE = 0 };
#endif
enum { READ = 0, PAUSE = 34, CLONE = 56, RESTART = 219, STACK = 0x7000, TEXT = 0x1000 };

static struct tl_env env;
static uint32_t told; /* the number of the latest return */

static void begin(void)
{
	home_open(64, 64, 4096);
	env = home_env;
	env.number = 0;
	env.hits_at = tl_hits_at(&home, 0);
}

static void call(uint32_t sp, uint32_t at, uint32_t number)
{
	struct tl_regs regs = {.sp = STACK + sp, .ip = TEXT + at};

	tl_syscall_note(&env, tl_view_self(&home), &regs, number);
}

static bool returns(uint32_t sp, uint32_t at, uint32_t probe, uint32_t result)
{
	struct tl_regs regs = {.sp = STACK + sp, .ip = TEXT + at + SIZE};

#if defined(__x86_64__)
	regs.ax = result;
#endif
	(void)result;
	return tl_syscall_noted(&env, tl_view_self(&home), &regs, probe, &told);
}

/* Of the call that was noted, or has returned, last. */
static uint64_t serial(void)
{
	const struct tl_run run = {.block = home.own};

	return tl_syscall_serial(&run);
}

static void each_probe_is_told_once(void)
{
	begin();
	CHECK(!returns(0, 0, 0, 1)); /* jumped to */
	call(0, 0, PAUSE);
	CHECK(!returns(8, 0, 0, 1) && !returns(0, 8, 0, 1));
	CHECK(returns(0, 0, 0, 1) && told == PAUSE);
	CHECK(!returns(0, 0, 0, 1));
	CHECK(returns(0, 0, 5, 1) && told == PAUSE);
	CHECK(!returns(0, 0, 5, 1));
}

static void a_handlers_call_hides_nothing(void)
{
	begin();
	call(64, 0, READ);
	call(0, 0, PAUSE);
	CHECK(returns(0, 0, 0, 1) && told == PAUSE);
	CHECK(returns(64, 0, 0, 1) && told == READ);
	/* the same place and stack, called anew without a return: the latest counts */
	call(64, 0, READ);
	call(64, 0, PAUSE);
	CHECK(returns(64, 0, 0, 1) && told == PAUSE);
	CHECK(!returns(64, 0, 0, 1));
}

static void calls_that_were_left_are_forgotten(void)
{
	begin();
	call(64, 0, READ);
	call(0, 0, PAUSE); /* in a handler that jumps out of it */
	CHECK(returns(64, 0, 0, 1) && told == READ);
	CHECK(!returns(0, 0, 0, 1));
}

static void an_interrupted_call_keeps_its_number(void)
{
	begin();
	call(0, 0, PAUSE);
	call(0, 0, RESTART);
	CHECK(returns(0, 0, 0, 1));
#if defined(__x86_64__)
	CHECK(told == PAUSE);
#endif
	/* one that nobody has seen begin is told as what it is */
	call(8, 0, RESTART);
	CHECK(returns(8, 0, 0, 1) && told == RESTART);
}

static void each_call_has_a_number_of_its_own(void)
{
	uint64_t outer, inner;

	begin();
	call(64, 0, READ);
	outer = serial();
	call(0, 0, PAUSE); /* in a handler */
	inner = serial();
	CHECK(inner != outer);
	CHECK(returns(0, 0, 0, 1) && serial() == inner);
	CHECK(returns(64, 0, 0, 1) && serial() == outer);
	CHECK(returns(64, 0, 1, 1) && serial() == outer);
	/* from the same place, after a return and without one */
	call(64, 0, READ);
	CHECK(serial() != outer && serial() != inner);
	outer = serial();
	call(64, 0, READ);
	CHECK(serial() != outer);
#if defined(__x86_64__)
	outer = serial();
	call(0, 0, READ);
	CHECK(returns(0, 0, 0, 1));
	call(64, 0, RESTART); /* goes on */
	CHECK(serial() == outer);
#endif
}

static void a_child_takes_nothing(void)
{
	begin();
	call(0, 0, CLONE);
#if defined(__x86_64__)
	CHECK(!returns(0, 0, 0, 0));
#endif
	CHECK(returns(0, 0, 0, 4711) && told == CLONE);
	call(0, 0, READ);
	CHECK(returns(0, 0, 0, 0) && told == READ);
}

static void of_too_many_the_earliest_is_given_up(void)
{
	uint32_t i;

	begin();
	for (i = 0; i <= TL_SYSCALLS; i++)
		call(i * 8, 0, 100 + i);
	for (i = TL_SYSCALLS; i > 0; i--)
		CHECK(returns(i * 8, 0, 0, 1) && told == 100 + i);
	CHECK(!returns(0, 0, 0, 1));
}

static void hits_are_the_calls(void)
{
	begin();
	call(0, 0, READ);
	call(8, 0, READ);
	CHECK(returns(8, 0, 0, 1));
	CHECK(tl_session_hits(&home, 0) == 2);
}

int main(void)
{
	RUN(each_probe_is_told_once);
	RUN(a_handlers_call_hides_nothing);
	RUN(calls_that_were_left_are_forgotten);
	RUN(an_interrupted_call_keeps_its_number);
	RUN(each_call_has_a_number_of_its_own);
	RUN(a_child_takes_nothing);
	RUN(of_too_many_the_earliest_is_given_up);
	RUN(hits_are_the_calls);
	free(home_memory);
	return UNIT_RESULT();
}
