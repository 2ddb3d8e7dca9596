// SPDX-License-Identifier: MIT
// Return probes of functions that end with a jump to another one. With the argument `traps` without jumps.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trapless/probe.h>

#include "../../unit.h"
#include "start.h"

#define HANDLER	 __attribute__((target("general-regs-only")))
#define NOINLINE __attribute__((noinline, noclone, noipa))
#define TAIL                                                                                       \
	__attribute__((noinline, noclone, noipa, optimize("O2", "no-reorder-blocks-and-partition")))

static long entries, returns, blind, sum, last_result;
static uintptr_t last_to;
static bool traps;
static jmp_buf env;

static int HANDLER on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	entries++;
	if (c->data)
		*(long *)c->data = (long)regs->di;
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	last_to = c->tail_to;
	if (c->tail_to) {
		blind++;
		return;
	}
	returns++;
	sum += (long)regs->ax;
	last_result = (long)regs->ax;
}

#define PROBE(fn, ...)                                                                             \
	{                                                                                          \
		.entry = (void *)(fn), .on_entry = on_entry, .on_return = on_return,               \
		.data_size = 8, __VA_ARGS__                                                        \
	}

static void reset(void)
{
	entries = returns = blind = sum = last_result = 0;
	last_to = 0;
}

/* --- the functions --------------------------------------------------------- */

TAIL long callee(long n)
{
	__asm__ volatile("");
	return n * 3 + 1;
}

TAIL long tail(long n)
{
	__asm__ volatile("");
	return callee(n + 1);
}

/* Many small functions that go on as one. */
enum { MANY = 200, MANY_STEP = 16 };
long many_first(long n);
__asm__(".text; .p2align 4; .type many_first, @function; many_first:\n"
	".rept 200; .p2align 4; .cfi_startproc; add $5, %rdi; jmp callee; .cfi_endproc; .endr\n"
	".p2align 4; .size many_first, 16");

/* Each goes on as hub(), which calls the next: all of them wait at once. */
enum { DEEP = 140, ROOM = 126 };
long deep_first(long n);
__asm__(".text; .p2align 4; .type deep_first, @function; deep_first:\n"
	".rept 140; .p2align 4; .cfi_startproc; jmp hub; .cfi_endproc; .endr\n"
	".p2align 4; .size deep_first, 16");

NOINLINE long hub(long n)
{
	long r = n;

	if (n < DEEP)
		r = ((long (*)(long))((uintptr_t)deep_first + (uintptr_t)n * MANY_STEP))(n + 1);
	__asm__ volatile("" : "+r"(r));
	return r;
}

static long many(unsigned i, long n)
{
	long (*fn)(long) = (long (*)(long))((uintptr_t)many_first + i * MANY_STEP);

	return fn(n);
}

TAIL long tail_of_tail(long n)
{
	__asm__ volatile("");
	return n & 1 ? tail(n) : n;
}

TAIL long odd(long n);
TAIL long even(long n)
{
	__asm__ volatile("");
	return n == 0 ? 100 : odd(n - 1);
}

TAIL long odd(long n)
{
	__asm__ volatile("");
	return n == 0 ? 200 : even(n - 1);
}

TAIL long jumps_out(long n)
{
	__asm__ volatile("");
	if (n % 2)
		longjmp(env, 1);
	return n;
}

TAIL long tail_that_may_jump(long n)
{
	__asm__ volatile("");
	return jumps_out(n + 1);
}

/* Through the linkage table, not looked up before the first call. */
TAIL long through_plt(const char *s)
{
	__asm__ volatile("");
	return atol(s);
}

typedef long (*fn)(long);
TAIL long computed(long n, fn f)
{
	__asm__ volatile("");
	return f(n);
}

struct object {
	const fn *table;
};
static const fn table[] = {callee, tail, jumps_out};
TAIL long virtual_one(struct object *o, long n, long which)
{
	__asm__ volatile("");
	return o->table[which](n);
}

NOINLINE long other(long n)
{
	__asm__ volatile("");
	return n - 7;
}

static volatile fn target = tail;

/* Calls whatever is wanted from one place. */
NOINLINE long call(long n)
{
	long r = target(n);

	__asm__ volatile("");
	return r;
}

/* Too short for a jump each, and nothing but another function behind them. */
long whole_and_ret(void), three_and_ret(long n);
__asm__(".text\n.globl whole_and_ret, three_and_ret\n"
	".type whole_and_ret, @function\n.type three_and_ret, @function\n"
	"whole_and_ret: .cfi_startproc\n mov $5,%eax\n ret\n .cfi_endproc\n"
	"three_and_ret: .cfi_startproc\n mov %rdi,%rax\n test $1,%al\n jne 1f\n ret\n"
	"1: neg %rax\n push %rax\n pop %rax\n ret\n .cfi_endproc\n"
	".size three_and_ret, . - three_and_ret\n");

/* As memcpy's: the first jumps over the second into the third. */
long into_third(long n), second(long n), third(long n);
__asm__(".text\n.globl into_third, second, third\n"
	"into_third: .cfi_startproc\n lea 1(%rdi),%rax\n jmp third_at_3\n .cfi_endproc\n"
	"second: .cfi_startproc\n lea 2(%rdi),%rax\n ret\n .cfi_endproc\n"
	"third: .cfi_startproc\n mov %rdi,%rax\n"
	"third_at_3: add $100,%rax\n ret\n .cfi_endproc\n");

/*
 * if (hook) hook(n): the jump has four bytes, and what follows is a target. The
 * second names data, so its jump might lead inside: no window may stand there.
 */
extern long (*hook)(long);
long may_hook(long n), may_hook_with(long n);
__asm__(".text\n.globl may_hook, may_hook_with\n"
	".type may_hook, @function\n.type may_hook_with, @function\n.balign 16\n"
	"may_hook: .cfi_startproc\n mov hook(%rip),%rax\n test %rax,%rax\n je 1f\n jmp *%rax\n"
	" xchg %ax,%ax\n1: ret\n .cfi_endproc\n.size may_hook, . - may_hook\n.balign 16\n"
	"may_hook_with: .cfi_startproc\n mov hook(%rip),%rax\n test %rax,%rax\n je 1f\n"
	" lea hook(%rip),%rdx\n jmp *%rax\n"
	" xchg %ax,%ax\n1: ret\n .cfi_endproc\n.size may_hook_with, . - may_hook_with\n.balign "
	"16\n");
long (*hook)(long);

/* As __memcpy_chk: a check, and padding up to the function itself. */
long checked(long n), behind_check(long n);
__asm__(".text\n.globl checked, behind_check\n"
	".type checked, @function\n.type behind_check, @function\n.balign 16\n"
	"checked: .cfi_startproc\n cmp $100,%rdi\n jg callee\n .cfi_endproc\n"
	".size checked, . - checked\n.balign 16\n"
	"behind_check: .cfi_startproc\n lea 1(%rdi),%rax\n lea 4(%rax),%rax\n ret\n .cfi_endproc\n"
	".size behind_check, . - behind_check\n.balign 16\n");

/* As compilers split functions: the second part returns, and takes the frame down. */
long split(long n), split_cold(void);
__asm__(".text\n.globl split, split_cold\n.type split, @function\n.type split_cold, @function\n"
	"split: .cfi_startproc\n push %rbx\n .cfi_def_cfa_offset 16\n"
	" lea 0x100(%rdi),%rax\n .byte 0xe9\n .long split_cold - . - 4\n"
	" .cfi_endproc\n.size split, . - split\n"
	" .balign 16\n"
	"split_cold: .cfi_startproc\n .cfi_def_cfa_offset 16\n"
	" lea 0x100(%rax),%rax\n lea 0x100(%rax),%rax\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n"
	" .cfi_endproc\n"
	".size split_cold, . - split_cold\n");

/* Their loops lead back to their entries; 0 calls `leave`, which may longjmp. */
long down(long n), to_down(long n), down_cond(long n);
void leave(void);
__asm__(".text\n.globl down, to_down, down_cond\n.type down, @function\n.type down_cond, "
	"@function\n"
	"down: .cfi_startproc\n test %rdi,%rdi\n jle 1f\n dec %rdi\n jmp down\n"
	"1: jl 2f\n lea 7(%rdi),%rax\n ret\n"
	"2: push %rbx\n .cfi_def_cfa_offset 16\n call leave\n pop %rbx\n .cfi_def_cfa_offset 8\n"
	" xor %eax,%eax\n ret\n .cfi_endproc\n.size down, . - down\n"
	"to_down: .cfi_startproc\n inc %rdi\n jmp down\n .cfi_endproc\n"
	"down_cond: .cfi_startproc\n sub $1,%rdi\n jg down_cond\n lea 7(%rdi),%rax\n ret\n"
	" .cfi_endproc\n.size down_cond, . - down_cond\n");

void leave(void)
{
	longjmp(env, 1);
}

/* --- the tests ------------------------------------------------------------- */

static void a_hook_is_called_last(void)
{
	struct tl_retprobe rp[2] = {PROBE(may_hook), PROBE(may_hook_with)};
	fn f[2] = {may_hook, may_hook_with};
	struct tl_retprobe_info info;

	for (int i = 0; i < 2; i++) {
		hook = callee;
		reset();
		CHECK(!tl_retprobe_register(&rp[i]));
		CHECK(!tl_retprobe_describe(&rp[i], &info) && info.nexits == 2);
		CHECK(info.ntrapped == (traps ? 2u : (unsigned)i));
		CHECK(f[i](1) == 4 && entries == 1 && returns + blind == 1);
		CHECK(tl_retprobe_follow() >= 0);
		for (long n = 0; n < 10; n++) {
			hook = n & 1 ? NULL : callee;
			f[i](n);
			CHECK(returns + blind == n + 2 && (n & 1 || last_result == 3 * n + 1));
		}
		CHECK(blind == 1 && entries == 11);
		CHECK(!tl_retprobe_unregister(&rp[i]) && !rp[i].nmissed && !rp[i].nabandoned);
	}
}

static void one_runs_into_the_next(void)
{
	struct tl_retprobe rp = PROBE(checked);
	struct tl_retprobe_info info;

	reset();
	CHECK(!tl_retprobe_register(&rp));
	CHECK(!tl_retprobe_describe(&rp, &info));
	CHECK(info.nexits == 2 && info.nfollowed == 2 && !info.tail);
	for (long i = 96; i < 106; i++) {
		CHECK(checked(i) == (i > 100 ? 3 * i + 1 : i + 5));
		CHECK(returns == i - 95 && last_result == (i > 100 ? 3 * i + 1 : i + 5));
		CHECK(behind_check(i) == i + 5 && returns == i - 95);
	}
	CHECK(entries == 10 && !blind);
	CHECK(!tl_retprobe_unregister(&rp) && !rp.nmissed && !rp.nabandoned && !rp.ntails);
}

static void entry_and_exit_in_the_same_few_bytes(void)
{
	struct tl_retprobe rp[2] = {PROBE(whole_and_ret), PROBE(three_and_ret)};
	struct tl_retprobe_info info;

	reset();
	for (int i = 0; i < 2; i++) {
		CHECK(!tl_retprobe_register(&rp[i]));
		CHECK(!tl_retprobe_describe(&rp[i], &info));
		CHECK(info.ntrapped == (traps ? info.nexits : 0));
	}
	CHECK(whole_and_ret() == 5 && last_result == 5 && returns == 1);
	CHECK(three_and_ret(4) == 4 && last_result == 4 && returns == 2);
	CHECK(three_and_ret(5) == -5 && last_result == -5 && returns == 3);
	for (int i = 0; i < 2; i++)
		CHECK(!tl_retprobe_unregister(&rp[i]) && !rp[i].nmissed && !rp[i].ntails);
	CHECK(whole_and_ret() == 5 && three_and_ret(5) == -5 && returns == 3 && entries == 3);
}

static void others_jump_into_the_entry(void)
{
	struct tl_retprobe rp = PROBE(third);

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (long i = 0; i < 10; i++)
		CHECK(into_third(i) == i + 101 && third(i) == i + 100 && second(i) == i + 2);
	CHECK(entries == 10 && returns == 10);
	CHECK(!tl_retprobe_unregister(&rp));
}

static void the_result_is_that_of_the_callee(void)
{
	struct tl_retprobe rp = PROBE(tail);
	struct tl_retprobe_info info;

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (long i = 0; i < 1000; i++) {
		CHECK(tail(i) == 3 * i + 4 && last_result == 3 * i + 4 && returns == i + 1);
		CHECK(callee(i) == 3 * i + 1 && returns == i + 1);
	}
	CHECK(!tl_retprobe_describe(&rp, &info));
	CHECK(info.nfollowed == 1 && info.nexits == 1 && !info.tail);
	CHECK(!tl_retprobe_unregister(&rp));
	CHECK(entries == 1000 && !blind && !rp.ntails && !rp.nmissed && !rp.nabandoned);
	CHECK(tail(1) == 7 && entries == 1000);
}

static void jumps_are_followed_further(void)
{
	struct tl_retprobe rp = PROBE(tail_of_tail), inner = PROBE(callee);

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (long i = 0; i < 100; i++)
		CHECK(tail_of_tail(i) == (i & 1 ? 3 * i + 4 : i) &&
			last_result == (i & 1 ? 3 * i + 4 : i));
	CHECK(entries == 100 && returns == 100);
	/* both on the same exit */
	CHECK(!tl_retprobe_register(&inner));
	CHECK(tail_of_tail(1) == 7 && entries == 102 && returns == 102);
	CHECK(tail_of_tail(2) == 2 && entries == 103 && returns == 103);
	CHECK(!tl_retprobe_unregister(&rp) && !rp.ntails && !rp.nmissed && !rp.nabandoned);
	CHECK(callee(1) == 4 && entries == 104 && returns == 104);
	CHECK(!tl_retprobe_unregister(&inner) && !inner.nmissed);
}

static size_t probes(void)
{
	struct tl_usage u;

	return tl_probes_usage(&u) ? 0 : u.probes;
}

/* However many go on there, a function is watched once: a hit does not cost more for each. */
static void many_share_the_watch_of_one(void)
{
	static struct tl_retprobe rp[MANY];
	static struct tl_retprobe *all[MANY];
	static int results[MANY];
	struct tl_retprobe_info info;
	size_t before = probes(), one;

	reset();
	for (unsigned i = 0; i < MANY; i++) {
		rp[i] = (struct tl_retprobe)PROBE((uintptr_t)many_first + i * MANY_STEP);
		all[i] = &rp[i];
	}
	CHECK(!tl_retprobe_register(all[0]));
	one = probes() - before;
	CHECK(!tl_retprobes_register(all + 1, MANY - 1, results));
	CHECK(probes() - before == one + 2 * (MANY - 1));
	CHECK(!tl_retprobe_describe(&rp[7], &info) && info.nfollowed == 1 && info.nexits == 1);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(many(i, i) == 3 * (long)i + 16 && last_result == 3 * (long)i + 16 &&
			returns == (long)i + 1);
	/* it stays for those that stay */
	CHECK(!tl_retprobes_unregister(all, MANY - 1));
	CHECK(probes() - before == one);
	CHECK(many(0, 1) == 19 && returns == MANY);
	CHECK(many(MANY - 1, 1) == 19 && returns == MANY + 1 && entries == MANY + 1);
	CHECK(!tl_retprobe_unregister(all[MANY - 1]) && probes() == before && !blind);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(!rp[i].nmissed && !rp[i].nabandoned && !rp[i].ntails);
}

/* As many as may wait in a thread; those beyond are told so, and nobody else. */
static void more_wait_than_there_is_room(void)
{
	static struct tl_retprobe rp[DEEP];
	static struct tl_retprobe *all[DEEP];
	static int results[DEEP];
	uint64_t crowded = 0, tails = 0;

	reset();
	for (unsigned i = 0; i < DEEP; i++) {
		rp[i] = (struct tl_retprobe)PROBE((uintptr_t)deep_first + i * MANY_STEP);
		all[i] = &rp[i];
	}
	CHECK(!tl_retprobes_register(all, DEEP, results));
	CHECK(hub(0) == DEEP && entries == DEEP);
	CHECK(returns == ROOM && blind == DEEP - ROOM && last_result == DEEP);
	CHECK(hub(DEEP - ROOM) == DEEP && returns == 2 * ROOM && blind == DEEP - ROOM);
	CHECK(!tl_retprobes_unregister(all, DEEP));
	for (unsigned i = 0; i < DEEP; i++) {
		crowded += rp[i].ncrowded;
		tails += rp[i].ntails;
		CHECK(!rp[i].nmissed && !rp[i].nabandoned && !rp[i].nunpaired);
	}
	CHECK(crowded == DEEP - ROOM && tails == crowded);
}

static volatile int in_callee, go_on;

TAIL long waits_there(long n)
{
	in_callee = 1;
	while (!go_on)
		sched_yield();
	return n + 1;
}

TAIL long to_waits_there(long n)
{
	__asm__ volatile("");
	return waits_there(n + 1);
}

TAIL long also_to_waits_there(long n)
{
	__asm__ volatile("");
	return waits_there(n + 2);
}

static void *call_both(void *arg)
{
	long n = to_waits_there(1);

	in_callee = go_on = 0;
	return (void *)(n + also_to_waits_there((long)arg));
}

/* Unregistered while a call of it waits in a function that another one watches too. */
static void one_goes_while_its_call_waits(void)
{
	struct tl_retprobe rp[2] = {PROBE(to_waits_there), PROBE(also_to_waits_there)};
	pthread_t t;
	void *result;

	reset();
	in_callee = go_on = 0;
	CHECK(!tl_retprobe_register(&rp[0]) && !tl_retprobe_register(&rp[1]));
	CHECK(!pthread_create(&t, NULL, call_both, (void *)10));
	while (!in_callee)
		sched_yield();
	CHECK(entries == 1 && !tl_retprobe_unregister(&rp[0]));
	go_on = 1;
	while (entries < 2 || !in_callee)
		sched_yield();
	CHECK(returns == 0);
	go_on = 1;
	CHECK(!pthread_join(t, &result) && (long)result == 3 + 13);
	CHECK(returns == 1 && last_result == 13 && !rp[1].nmissed && !rp[1].nabandoned);
	CHECK(!tl_retprobe_unregister(&rp[1]));
}

static void functions_may_jump_to_each_other(void)
{
	struct tl_retprobe rp[2] = {PROBE(even), PROBE(odd)};

	reset();
	CHECK(!tl_retprobe_register(&rp[0]));
	CHECK(even(0) == 100 && even(9) == 200 && even(10) == 100);
	CHECK(entries == 1 + 5 + 6 && returns == entries && sum == 100 + 5 * 200 + 6 * 100);
	reset();
	CHECK(!tl_retprobe_register(&rp[1]));
	CHECK(odd(3) == 100 && entries == 4 && returns == 4 && sum == 400);
	for (int i = 0; i < 2; i++) {
		CHECK(!tl_retprobe_unregister(&rp[i]));
		CHECK(!rp[i].ntails && !rp[i].nmissed && !rp[i].nabandoned);
	}
}

/* What has left by a jump and then by longjmp must not be taken for a later call from the same place. */
static void a_callee_that_does_not_return(void)
{
	struct tl_retprobe rp = PROBE(tail_that_may_jump);
	volatile long left = 0;

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (volatile long i = 0; i < 1000; i++) {
		target = tail_that_may_jump;
		if (!setjmp(env))
			CHECK(call(i) == i + 1);
		else
			left++;
		target = jumps_out;
		CHECK(call(2) == 2);
		target = other;
		CHECK(call(9) == 2);
	}
	CHECK(left == 500 && entries == 1000);
	CHECK(returns == 500);
	CHECK(!tl_retprobe_unregister(&rp));
	CHECK(rp.nabandoned == 500 && !rp.nmissed && !rp.ntails);
}

static void through_the_linkage_table(void)
{
	struct tl_retprobe rp = PROBE(through_plt);
	long seen = 0;

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (int i = 0; i < 10; i++)
		CHECK(through_plt("42") == 42);
	seen = returns;
	CHECK(entries == 10 && seen + blind == 10 && sum == 42 * seen);
	CHECK(tl_retprobe_follow() >= 0);
	for (int i = 0; i < 10; i++)
		CHECK(through_plt("42") == 42);
	CHECK(entries == 20 && returns == seen + 10 && last_result == 42);
	CHECK(!tl_retprobe_unregister(&rp) && rp.ntails == (uint64_t)blind && !rp.nmissed);
}

static void computed_jumps_are_learnt(void)
{
	struct tl_retprobe rp = PROBE(computed);

	reset();
	if (tl_retprobe_register(&rp))
		SKIP("the jump can only be reached by a trap");
	CHECK(computed(1, callee) == 4);
	CHECK(entries == 1 && returns == 0 && blind == 1 && last_to == (uintptr_t)callee);
	CHECK(tl_retprobe_follow() == 1 && tl_retprobe_follow() == 0);
	CHECK(computed(1, callee) == 4 && returns == 1 && last_result == 4);
	CHECK(computed(1, tail) == 7 && returns == 1 && blind == 2);
	CHECK(tl_retprobe_follow() == 1);
	CHECK(computed(1, tail) == 7 && returns == 2 && last_result == 7);
	CHECK(!tl_retprobe_unregister(&rp) && rp.ntails == 2 && !rp.nmissed && !rp.nabandoned);
}

static void virtual_calls_are_learnt(void)
{
	struct tl_retprobe rp = PROBE(virtual_one, .flags = TL_PROBE_RESULT);
	struct object o = {table};

	reset();
	if (tl_retprobe_register(&rp))
		SKIP("the jump can only be reached by a trap");
	CHECK(virtual_one(&o, 1, 0) == 4 && virtual_one(&o, 1, 1) == 7);
	CHECK(entries == 2 && !returns && !blind &&
		rp.ntails == 2); /* needs the result: not called */
	CHECK(tl_retprobe_follow() == 2);
	CHECK(virtual_one(&o, 1, 0) == 4 && virtual_one(&o, 1, 1) == 7);
	CHECK(returns == 2 && sum == 11);
	CHECK(!tl_retprobe_unregister(&rp) && rp.ntails == 2 && !rp.nmissed && !rp.nabandoned);
}

static bool enough;

static void *call_split(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED))
		if (computed(1, split) != 0x301)
			return "a wrong result";
	return NULL;
}

/* While a thread calls: none waits for the end of a function whose second part nobody watches yet. */
static void both_parts_are_learnt_at_once(void)
{
	struct tl_retprobe rp = PROBE(computed);
	pthread_t thread;
	void *wrong;

	for (int i = 0; i < 20; i++) {
		reset();
		enough = false;
		if (tl_retprobe_register(&rp))
			SKIP("the jump can only be reached by a trap");
		CHECK(!pthread_create(&thread, NULL, call_split, NULL));
		while (!__atomic_load_n(&blind, __ATOMIC_RELAXED))
			sched_yield();
		CHECK(tl_retprobe_follow() == 2);
		__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
		CHECK(!pthread_join(thread, &wrong) && !wrong);
		CHECK(!tl_retprobe_unregister(&rp) && !rp.nmissed && !rp.nabandoned);
		CHECK(returns + blind == entries);
	}
}

static long first_data;

static void HANDLER see_first(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	first_data = *(long *)c->data;
	on_return(c, regs, self);
}

/* A turn of the loop is no call: the handlers see the call's own argument. */
static void loops_to_the_entry_are_one_call(void)
{
	long (*const fns[])(long) = {down, to_down, down_cond};

	for (int f = 0; f < 3; f++) {
		struct tl_retprobe rp = PROBE(fns[f]);

		rp.on_return = see_first;
		reset();
		CHECK(!tl_retprobe_register(&rp));
		for (long i = 1; i < 300; i++)
			CHECK(fns[f](i) == 7 && entries == i && returns == i && first_data == i);
		CHECK(!tl_retprobe_unregister(&rp));
		CHECK(!rp.nmissed && !rp.nabandoned && !rp.ntails && !blind);
	}
}

static void loops_that_are_left_by_longjmp_are_counted(void)
{
	struct tl_retprobe rp = PROBE(down);

	reset();
	CHECK(!tl_retprobe_register(&rp));
	for (volatile long i = 0; i < 100; i++) {
		CHECK(setjmp(env) || !down(-1));
		CHECK(down(3) == 7);
	}
	CHECK(entries == 200 && returns == 100);
	CHECK(!tl_retprobe_unregister(&rp) && rp.nabandoned == 100 && !rp.nmissed);
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	if (!engine_started(traps))
		return 1;
	RUN(a_hook_is_called_last);
	RUN(one_runs_into_the_next);
	RUN(entry_and_exit_in_the_same_few_bytes);
	RUN(others_jump_into_the_entry);
	RUN(the_result_is_that_of_the_callee);
	RUN(jumps_are_followed_further);
	RUN(many_share_the_watch_of_one);
	RUN(more_wait_than_there_is_room);
	RUN(one_goes_while_its_call_waits);
	RUN(functions_may_jump_to_each_other);
	RUN(a_callee_that_does_not_return);
	RUN(through_the_linkage_table);
	RUN(computed_jumps_are_learnt);
	RUN(virtual_calls_are_learnt);
	RUN(both_parts_are_learnt_at_once);
	RUN(loops_to_the_entry_are_one_call);
	RUN(loops_that_are_left_by_longjmp_are_counted);
	tl_engine_exit();
	return UNIT_RESULT();
}
