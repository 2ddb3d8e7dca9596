/* SPDX-License-Identifier: MIT */
/* Return probes: pairing by stack pointer, recursion, throw and longjmp, tail calls, cold parts. */
#define _GNU_SOURCE
#include "machine.h"
#include <sys/mman.h>

static struct cpu cpu;
static unsigned entries, returns;
static uint64_t last_data;
static struct tl_func_part parts[2];

static bool clean(void)
{
	fake.threads[0].used = false;
	tl_engine_exit();
	return !fake.live && !fake.code_used;
}

static int on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	entries++;
	if (*(uint64_t *)c->data)
		entries += 1000; /* must be zero */
	*(uint64_t *)c->data = entries;
	return c->rp->data != NULL && entries == 2; /* skip the second where asked to */
}

static void on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	returns++;
	last_data = *(uint64_t *)c->data;
}

static struct tl_retprobe probe(size_t start, size_t end)
{
	parts[0] = (struct tl_func_part){TEXT(start), end - start};
	entries = returns = 0;
	return (struct tl_retprobe){.entry = (void *)TEXT(start),
		.on_entry = on_entry,
		.on_return = on_return,
		.data_size = 8,
		.parts = parts,
		.nparts = 1};
}

/*
 * 0 call 6 | 5 ret
 * 6 dec r0 | 8 jnz 11 | 10 ret | 11 call 6 | 16 inc r1 | 18 ret     recursion, two returns
 */
static void recursive(void)
{
	world();
	emit_rel32(TOY_CALL, 6);
	E(TOY_RET, TOY_DEC, 0, TOY_JNZ, 1, TOY_RET);
	emit_rel32(TOY_CALL, 6);
	E(TOY_INC, 1, TOY_RET);
}

static bool go(uint32_t depth)
{
	cpu_init(&cpu, 0, 0);
	cpu.r[0] = depth;
	return run(&cpu);
}

/* Static programs of some machines have theirs in the first MiB. */
static void stacks_may_lie_low(void)
{
	struct cpu *low = mmap((void *)0x40000, sizeof(*low), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct tl_retprobe rp;

	if (low == MAP_FAILED)
		return; /* not here */
	recursive();
	rp = probe(6, 19);
	CHECK(tl_retprobe_register(&rp) == 0);
	cpu_init(low, 0, 0);
	low->r[0] = 10;
	CHECK(run(low) && entries == 10 && returns == 10 && last_data == 1);
	CHECK(tl_retprobe_unregister(&rp) == 0 && rp.nabandoned == 0);
	CHECK(clean());
	munmap(low, sizeof(*low));
}

static void recursion_pairs_every_call(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(10) && entries == 10 && returns == 10 && last_data == 1 && cpu.r[1] == 9);
	CHECK(go(1) && entries == 11 && returns == 11 && last_data == 11);
	CHECK(rp.nmissed == 0 && rp.nabandoned == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0 && rp.nmissed == 0);
	CHECK(tl_retprobe_unregister(&rp) == -TL_E_STATE);
	CHECK(clean());
}

static void an_entry_may_skip_its_return(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	rp.data = &rp;
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(3) && entries == 3 && returns == 2);
	CHECK(rp.nmissed == 0 && rp.nabandoned == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

static void too_many_calls_are_counted_once(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	rp.maxactive = 3;
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(5) && entries == 3 && returns == 3 && rp.nmissed == 2);
	CHECK(go(3) && returns == 6 && rp.nmissed == 2); /* nothing has leaked */
	CHECK(tl_retprobe_unregister(&rp) == 0 && rp.nmissed == 2);
	CHECK(clean());
}

static void an_exit_without_entry_is_missed(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	cpu_init(&cpu, 0, 0);
	cpu.r[0] = 1;
	step(&cpu); /* inside the function already */
	step(&cpu);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(run(&cpu) && returns == 0 && rp.nmissed == 1 && rp.nunpaired == 1);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

/* Goes in `depth` deep, then longjmp back to the caller at the top. */
static bool jump_out(uint32_t depth)
{
	cpu_init(&cpu, 0, 0);
	cpu.r[0] = depth;
	for (unsigned i = 0; i < 1000 && cpu.r[0] > 1; i++)
		step(&cpu);
	cpu.sp = STACK - 1;
	cpu.thread->pc = TEXT(5);
	return run(&cpu);
}

static void longjmp_leaves_abandoned_calls(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	rp.maxactive = 64;
	CHECK(tl_retprobe_register(&rp) == 0);
	for (unsigned i = 0; i < 100000; i++)
		CHECK(jump_out(5));
	CHECK(returns == 0 && rp.nmissed == 0);
	CHECK(go(5) && returns == 5);
	CHECK(rp.nabandoned == entries - 5);
	CHECK(tl_retprobe_unregister(&rp) == 0 && rp.nmissed == 0);
	CHECK(clean());
}

/* Goes in five deep, and stands at `sp` of its stack when the probe is taken away: so many calls have been left. */
static bool left_at(size_t sp, bool overwritten, bool moved, uint64_t left)
{
	struct tl_os_stack at = {100, (uintptr_t)&cpu.stack[sp], (uintptr_t)cpu.stack,
		(uintptr_t)(cpu.stack + STACK)};
	struct tl_retprobe rp = probe(6, 19);

	if (tl_retprobe_register(&rp))
		return false;
	cpu_init(&cpu, 0, 0);
	cpu.r[0] = 6;
	for (unsigned i = 0; i < 1000 && entries < 5; i++)
		step(&cpu);
	if (overwritten)
		memset(cpu.stack, 0, sizeof(cpu.stack));
	cpu.thread->stack = at;
	fake.threads[1] = (struct fake_thread){.used = moved, .stack = {.tid = 100, .hi = 1}};
	return entries == 5 && !tl_retprobe_unregister(&rp) && fake_count(FAKE_STACKS) &&
	       !rp.nmissed && rp.nabandoned == left;
}

static void at_the_end_stacks_tell_who_was_left(void)
{
	recursive();
	CHECK(left_at(STACK - 1, false, false, 5));
	CHECK(left_at(STACK - 4, false, false, 2));
	CHECK(left_at(0, false, false, 0));
	CHECK(left_at(0, true, false, 5)); /* it went down again, other calls lie there now */
	CHECK(left_at(STACK - 1, true, true, 0));
	CHECK(clean());
}

static void comes_by(enum fake_event what)
{
	if (what != FAKE_STACKS)
		return;
	fake.on_event = NULL;
	CHECK(jump_out(2) && entries == 6);
}

static void who_comes_by_behind_the_look_is_counted_once(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(jump_out(6) && entries == 5);
	cpu.thread->stack = (struct tl_os_stack){100, (uintptr_t)(cpu.stack + STACK),
		(uintptr_t)cpu.stack, (uintptr_t)(cpu.stack + STACK)};
	fake.on_event = comes_by;
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(rp.nabandoned == 5); /* the one that came behind it stays unseen */
	CHECK(clean());
}

/* Leaves only the inner calls: the outer one returns as usual. */
static void a_throw_caught_half_way(void)
{
	struct tl_retprobe rp;
	struct cpu outer;

	recursive();
	rp = probe(6, 19);
	CHECK(tl_retprobe_register(&rp) == 0);
	cpu_init(&cpu, 0, 0);
	cpu.r[0] = 6;
	while (cpu.thread->pc != TEXT(16) && entries < 3)
		step(&cpu);
	outer = cpu; /* in the third call */
	while (entries < 6)
		step(&cpu);
	outer.r[0] = 0;
	cpu = outer;
	cpu.thread->pc = TEXT(16); /* as if its own call had just come back */
	CHECK(run(&cpu) && returns == 3);
	CHECK(rp.nabandoned == 3 && rp.nmissed == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

/* 0 call 6 | 5 ret | 6 dec r0 | 8 jnz 20 (tail call) | 10 short 20 | ... | 20 inc r1 | 22 ret */
static void tail_calls_are_returns(void)
{
	struct tl_retprobe rp;

	world();
	emit_rel32(TOY_CALL, 6);
	E(TOY_RET, TOY_DEC, 0, TOY_JNZ, 10, TOY_SHORT, 8);
	text_end = 20;
	E(TOY_INC, 1, TOY_RET);
	rp = probe(6, 12);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(1) && entries == 1 && returns == 1);
	CHECK(go(2) && entries == 2 && returns == 2);
	CHECK(rp.nmissed == 0 && rp.nabandoned == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

/* 0 call 6 | 5 ret | 6 dec r0 | 8 jnz 6 | 10 ret     and the same with jnz 13 | ... 13 short 6 */
static void a_jump_to_its_own_entry_is_a_turn(void)
{
	for (unsigned far = 0; far < 2; far++) {
		struct tl_retprobe rp;

		world();
		emit_rel32(TOY_CALL, 6);
		E(TOY_RET, TOY_DEC, 0, TOY_JNZ, far ? 1 : (uint8_t)-4, TOY_RET);
		if (far)
			E(TOY_SHORT, (uint8_t)-7);
		rp = probe(6, far ? 13 : 11);
		CHECK(tl_retprobe_register(&rp) == 0);
		for (unsigned i = 1; i < 50; i++)
			CHECK(go(1 + i % 9) && entries == i && returns == i && last_data == i);
		CHECK(rp.nmissed == 0 && rp.nabandoned == 0 && rp.ntails == 0);
		CHECK(tl_retprobe_unregister(&rp) == 0);
		CHECK(clean());
	}
}

/* 0 call 6 | 5 ret | 6 dec r0 | 8 jnz 30 (cold) | 10 ret | ... | 30 inc r1 | 32 jmp 10 or ret */
static void cold_parts_belong_to_the_function(void)
{
	struct tl_retprobe rp;

	world();
	emit_rel32(TOY_CALL, 6);
	E(TOY_RET, TOY_DEC, 0, TOY_JNZ, 20, TOY_RET);
	text_end = 30;
	E(TOY_DEC, 0, TOY_JNZ, 1, TOY_RET, TOY_SHORT, (uint8_t)(10 - 37));
	rp = probe(6, 11);
	parts[1] = (struct tl_func_part){TEXT(30), 7};
	rp.nparts = 2;
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(1) && returns == 1);
	CHECK(go(2) && returns == 2); /* leaves from the cold part */
	CHECK(go(3) && returns == 3); /* comes back to the hot one */
	CHECK(rp.nmissed == 0 && rp.nabandoned == 0 && entries == 3);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

static void an_exit_that_cannot_be_known_is_refused(void)
{
	struct tl_retprobe rp;

	world();
	emit_rel32(TOY_CALL, 6);
	E(TOY_RET, TOY_DEC, 0, TOY_JMPI, 0, TOY_RET);
	rp = probe(6, 11);
	CHECK(tl_retprobe_register(&rp) == -TL_E_NO_EXIT && !rp.state);
	CHECK(rp.bad_exit == TEXT(8));
	rp.parts = NULL;
	rp.nparts = 0;
	CHECK(tl_retprobe_register(&rp) == -TL_E_NOT_PROVEN);
	rp.on_return = NULL;
	CHECK(tl_retprobe_register(&rp) == -TL_E_INVAL);
	CHECK(clean());
}

static void a_function_of_one_instruction(void)
{
	struct tl_retprobe rp;

	world();
	emit_rel32(TOY_CALL, 6);
	E(TOY_RET, TOY_RET);
	rp = probe(6, 7);
	CHECK(tl_retprobe_register(&rp) == 0);
	CHECK(go(0) && entries == 1 && returns == 1 && rp.nmissed == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

static void calls_of_dead_threads_are_given_back(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	rp.maxactive = 4;
	CHECK(tl_retprobe_register(&rp) == 0);
	for (unsigned i = 0; i < 50; i++) {
		struct tl_probe p = probe_at(0, 19, count_hit);

		cpu_init(&cpu, 0, 0);
		cpu.thread->tid = 500 + i;
		cpu.key = 0x9000 + 64 * i;
		cpu.r[0] = 5;
		while (entries < 4 * (i + 1))
			step(&cpu);
		fake.threads[0].used = false; /* dies in there */
		CHECK(tl_probe_register(&p) == 0 && tl_probe_unregister(&p) == 0);
	}
	CHECK(rp.nmissed == 0 && rp.nabandoned == 200);
	CHECK(tl_retprobe_unregister(&rp) == 0);
	CHECK(clean());
}

/* What threads keep for their next calls is never more than half of what there is. */
static void what_threads_keep_leaves_enough_for_others(void)
{
	struct tl_retprobe rp;

	recursive();
	rp = probe(6, 19);
	rp.maxactive = 64;
	CHECK(tl_retprobe_register(&rp) == 0);
	for (unsigned i = 0; i < 7; i++) {
		cpu_init(&cpu, i, 0);
		cpu.r[0] = 8;
		CHECK(run(&cpu) && returns == 8 * (i + 1));
	}
	cpu_init(&cpu, 7, 0);
	cpu.r[0] = 32;
	CHECK(run(&cpu) && returns == 56 + 32 && rp.nmissed == 0);
	CHECK(tl_retprobe_unregister(&rp) == 0 && rp.nmissed == 0 && rp.nabandoned == 0);
	for (unsigned i = 0; i < 8; i++)
		fake.threads[i].used = false;
	CHECK(clean());
}

/* 0 call 16 | 5 call 24 | 10 ret; 16 and 24: functions. One probe, the middle one, is inside an instruction. */
static void one_refused_in_a_batch_leaves_the_rest(void)
{
	struct tl_func_part two[2];
	struct tl_retprobe a, bad, b, *all[3] = {&a, &bad, &b}, *kept[2] = {&a, &b};
	struct tl_retprobe_info info;
	int results[3] = {1, 1, 1};

	world();
	emit_rel32(TOY_CALL, 16);
	emit_rel32(TOY_CALL, 24);
	E(TOY_RET, TOY_NOP, TOY_NOP, TOY_NOP, TOY_NOP, TOY_NOP);
	E(TOY_INC, 1, TOY_INC, 1, TOY_INC, 1, TOY_RET, TOY_NOP);
	E(TOY_INC, 2, TOY_INC, 2, TOY_INC, 2, TOY_RET);
	a = probe(16, 23);
	two[0] = parts[0];
	b = bad = probe(24, 31);
	two[1] = parts[0];
	a.parts = &two[0];
	b.parts = &two[1];
	bad.entry = (void *)TEXT(25); /* inside an instruction */
	bad.parts = &two[1];
	CHECK(tl_retprobes_register(all, 3, results) == results[1]);
	CHECK(results[0] == 0 && results[1] < 0 && results[2] == 0 && !bad.state);
	CHECK(go(1) && entries == 2 && returns == 2 && cpu.r[1] == 3);
	CHECK(tl_retprobe_describe(&a, &info) == 0 && info.nexits == 1);
	CHECK(tl_retprobes_register(all, 3, results) < 0 && results[0] == -TL_E_STATE);
	CHECK(tl_retprobes_unregister(all, 3) == -TL_E_STATE && a.state && b.state);
	CHECK(tl_retprobes_unregister(kept, 2) == 0 && !a.state && !b.state);
	CHECK(go(1) && entries == 2 && returns == 2);
	CHECK(a.nmissed == 0 && b.nmissed == 0);
	CHECK(clean());
}

/* Its jumps may have to stay for a while. */
static void taking_away_without_memory_calls_nobody(void)
{
	unsigned failed = 0;

	for (unsigned n = 1; n <= 6; n++) {
		struct tl_retprobe rp;
		int ret;

		recursive();
		rp = probe(6, 19);
		CHECK(tl_retprobe_register(&rp) == 0);
		fake.fail_alloc = (unsigned)fake.nallocs + n;
		ret = tl_retprobe_unregister(&rp);
		fake.fail_alloc = 0;
		CHECK(ret == 0 || ret == -TL_E_NOMEM);
		failed += ret != 0;
		CHECK(!rp.state && go(2) && !entries && !returns);
		CHECK(clean());
	}
	CHECK(failed);
}

int main(void)
{
	RUN(recursion_pairs_every_call);
	RUN(stacks_may_lie_low);
	RUN(an_entry_may_skip_its_return);
	RUN(too_many_calls_are_counted_once);
	RUN(an_exit_without_entry_is_missed);
	RUN(longjmp_leaves_abandoned_calls);
	RUN(at_the_end_stacks_tell_who_was_left);
	RUN(who_comes_by_behind_the_look_is_counted_once);
	RUN(a_throw_caught_half_way);
	RUN(tail_calls_are_returns);
	RUN(a_jump_to_its_own_entry_is_a_turn);
	RUN(cold_parts_belong_to_the_function);
	RUN(an_exit_that_cannot_be_known_is_refused);
	RUN(a_function_of_one_instruction);
	RUN(calls_of_dead_threads_are_given_back);
	RUN(what_threads_keep_leaves_enough_for_others);
	RUN(one_refused_in_a_batch_leaves_the_rest);
	RUN(taking_away_without_memory_calls_nobody);
	return UNIT_RESULT();
}
