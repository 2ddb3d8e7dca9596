/* SPDX-License-Identifier: MIT */
/*
 * Return probes and shadow stacks, on processors without one: a child runs
 * probed functions step by step, and a shadow stack kept here sees every call
 * and every return. What does not match would end the program on a processor
 * that has one.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trapless/probe.h>

#include "../../../engine/arch/x86/x86.h"
#include "../../../engine/os/process/process.h"
#include "../../unit.h"

#define HANDLER __attribute__((target("general-regs-only")))

long plain(long a, long b), shorts(long a), keeper(long a), caller(long a), fact(long n),
	loop(long n);
extern char caller_call[];

enum { DEEP = 1024, STEPS = 200000, NO_PTRACE = 40, CALL_SIZE = 5 };

struct shadow {
	uint64_t at[DEEP];
	unsigned n;
	long steps, calls, returns, popped;
	uint64_t wrong; /* where a return did not match, 0: nowhere */
};

/* --- the child --------------------------------------------------------------------- */

static int HANDLER on_entry(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	++*(volatile long *)c->rp->data;
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	++*(volatile long *)c->rp->data;
}

static int HANDLER on_call(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	++*(volatile long *)p->data;
	return 0;
}

__attribute__((noinline)) static void begin(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void end(void)
{
	__asm__ volatile("");
}

/* Function pointers that the compiler cannot see through. */
static long (*volatile calls[])(long) = {shorts, keeper, caller, fact};

static int HANDLER elsewhere(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)self;
	regs->ip = (uintptr_t)p->data;
	return 1;
}

static int HANDLER behind_the_call(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	regs->ip += CALL_SIZE;
	regs->ax = 24;
	return 1;
}

/* Handlers lead from `plain` to `shorts`, from there to `keeper`; in `caller`, no call is made. */
static int diverted(void)
{
	static struct tl_probe p[] = {
		{.addr = (void *)plain, .pre = elsewhere, .flags = TL_PROBE_REGS},
		{.addr = (void *)shorts, .pre = elsewhere},
		{.addr = caller_call, .pre = behind_the_call}};
	void *const to[] = {(void *)shorts, (void *)keeper, NULL};
	struct tl_probe first = {.addr = (void *)loop, .pre = on_call};
	long sum = 0;

	if (tl_probe_register(&first))
		return 9;
	tl_shadow_stack = true; /* the engine looked just now */
	for (int i = 0; i < 3; i++) {
		p[i].data = to[i];
		p[i].flags |= TL_PROBE_NO_TRAP;
		if (tl_probe_register(&p[i]))
			return 10 + i;
	}
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		return NO_PTRACE;
	raise(SIGSTOP);
	begin();
	for (long n = 3; n <= 5; n++)
		sum += plain(n, 0) - keeper(n) + shorts(n) - keeper(n);
	sum += caller(4);
	end();
	return sum == 24 ? 0 : 30;
}

/* As the function's own return does. */
static int HANDLER return_24(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)self;
	regs->ip = *(uintptr_t *)regs->sp;
	regs->sp += sizeof(uintptr_t);
	regs->ax = 24;
	return 1;
}

static int left_by_handler(void)
{
	struct tl_probe first = {.addr = (void *)loop, .pre = on_call};
	struct tl_probe p = {
		.addr = (void *)plain, .pre = return_24, .flags = TL_PROBE_REGS | TL_PROBE_NO_TRAP};

	if (tl_probe_register(&first))
		return 9;
	tl_shadow_stack = true;
	if (tl_probe_register(&p))
		return 10;
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		return NO_PTRACE;
	raise(SIGSTOP);
	begin();
	for (long n = 0; n < 5; n++)
		if (plain(n, n) != 24)
			return 30;
	end();
	return 0;
}

/* Exit status: 0, or what went wrong. */
static int probed(bool with_probes)
{
	static volatile long hits, at_call;
	void *const entry[] = {
		(void *)plain, (void *)shorts, (void *)keeper, (void *)caller, (void *)fact};
	static struct tl_retprobe r[5];
	struct tl_probe p = {.addr = caller_call,
		.pre = on_call,
		.data = (void *)&at_call,
		.flags = TL_PROBE_NO_TRAP};
	long sum = 0;

	for (int i = 0; with_probes && i < 5; i++) {
		r[i] = (struct tl_retprobe){.entry = entry[i],
			.on_entry = on_entry,
			.on_return = on_return,
			.data = (void *)&hits,
			.flags = TL_PROBE_NO_TRAP};
		if (tl_retprobe_register(&r[i]))
			return 10 + i;
	}
	if (with_probes && tl_probe_register(&p))
		return 20;
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		return NO_PTRACE;
	raise(SIGSTOP);
	begin();
	for (long n = 1; n <= 3; n++)
		for (int i = 0; i < 4; i++)
			sum += calls[i](n + 3);
	end();
	if (sum != 11 + 13 + 15 + 105 + 106 + 107 + 12 + 13 + 14 + 24 + 120 + 720)
		return 30;
	/* entries and exits: 3 x (shorts, keeper, caller, plain), 4 + 5 + 6 of fact */
	if (with_probes && (hits != 2 * (12 + 15) || at_call != 3))
		return 31;
	return 0;
}

static int without(void)
{
	return probed(false);
}

static int returns(void)
{
	return probed(true);
}

/* --- the shadow stack ---------------------------------------------------------------- */

static bool instruction_at(pid_t pid, uint64_t ip, struct tl_insn *i)
{
	uint8_t bytes[16];

	for (unsigned n = 0; n < sizeof(bytes); n += 8) {
		long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)(ip + n), 0);

		memcpy(bytes + n, &word, 8);
	}
	return tl_insn_decode(i, bytes, sizeof(bytes), TL_INSN_64);
}

static bool step(pid_t pid, uint64_t *ip)
{
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) || waitpid(pid, &status, 0) != pid ||
		!WIFSTOPPED(status))
		return false;
	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return false;
	*ip = regs.rip;
	return true;
}

static bool is(const struct tl_insn *i, const char bytes[5])
{
	return i->len == 5 && !memcmp(i->bytes, bytes, 5);
}

static volatile uint64_t newest; /* of the shadow stack, in the child */

/* What this processor may not have. false: it is an ordinary instruction, or (rdssp) runs as a nop. */
static bool shadow_insn(pid_t pid, struct shadow *s, const struct tl_insn *i, uint64_t *ip)
{
	struct user_regs_struct regs;
	bool pops = is(i, "\xf3\x48\x0f\xae\xe8"); /* incsspq %rax */

	if (!pops && !is(i, "\xf3\x48\x0f\x1e\xc8")) /* rdsspq %rax */
		return false;
	if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return false;
	if (pops)
		s->n -= (unsigned)regs.rax;
	else if (!ptrace(PTRACE_POKEDATA, pid, &newest, (void *)s->at[s->n - 1]))
		regs.rax = (uintptr_t)&newest;
	s->popped += pops;
	*ip = regs.rip += i->len;
	return !ptrace(PTRACE_SETREGS, pid, 0, &regs);
}

static void look(struct shadow *s, const struct tl_insn *i, uint64_t from, uint64_t to)
{
	bool call = i->flow == TL_FLOW_CALL || i->flow == TL_FLOW_CALL_IND;

	s->steps++;
	if (call && s->n < DEEP) {
		s->at[s->n++] = from + i->len;
		s->calls++;
	} else if (i->flow == TL_FLOW_RET) {
		s->returns++;
		if (!s->n || s->at[--s->n] != to)
			s->wrong = s->wrong ? s->wrong : from;
	}
}

/* From begin() to end(), both without their own return. */
static bool watch(pid_t pid, struct shadow *s)
{
	uint64_t ip = 0, next;
	struct tl_insn i;

	for (long n = 0; ip != (uintptr_t)begin; n++)
		if (n == STEPS || !step(pid, &ip))
			return false;
	while (ip != (uintptr_t)end && s->steps < STEPS) {
		if (!instruction_at(pid, ip, &i))
			return false;
		if (shadow_insn(pid, s, &i, &ip))
			continue;
		if (!step(pid, &next))
			return false;
		if (ip != (uintptr_t)begin || i.flow != TL_FLOW_RET)
			look(s, &i, ip, next);
		ip = next;
	}
	return ip == (uintptr_t)end;
}

/* The child's exit status, -1: it could not be watched. */
static int run(int (*child)(void), struct shadow *s)
{
	pid_t pid = fork();
	int status;
	bool ok;

	memset(s, 0, sizeof(*s));
	if (!pid)
		_exit(child());
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	if (!WIFSTOPPED(status))
		return WEXITSTATUS(status);
	ok = watch(pid, s);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return ok ? WEXITSTATUS(status) : -1;
}

static int run_and_tell(int (*child)(void), struct shadow *s)
{
	int ret = run(child, s);

	if (ret && ret != NO_PTRACE)
		printf("# the child said %d\n", ret);
	printf("# %ld instructions, %ld calls, %ld returns; wrong: %#lx\n", s->steps, s->calls,
		s->returns, (unsigned long)s->wrong);
	return ret;
}

static void the_shadow_stack_matches_without_probes(void)
{
	struct shadow s;
	int ret = run_and_tell(without, &s);

	if (ret == NO_PTRACE)
		SKIP("ptrace is forbidden here");
	CHECK(ret == 0);
	CHECK(s.calls > 20 && !s.wrong);
}

static void return_probes_leave_it_alone(void)
{
	struct shadow s;
	int ret = run_and_tell(returns, &s);

	if (ret == NO_PTRACE)
		SKIP("ptrace is forbidden here");
	CHECK(ret == 0);
	CHECK(s.calls > 20 + 54 && !s.wrong);
}

static void handlers_that_go_on_elsewhere_leave_it_alone(void)
{
	struct shadow s;
	int ret = run_and_tell(diverted, &s);

	if (ret == NO_PTRACE)
		SKIP("ptrace is forbidden here");
	CHECK(ret == 0);
	CHECK(s.calls > 13 && s.popped == 1 && !s.wrong);
}

static void a_function_left_by_its_handler_is_left_there_too(void)
{
	struct shadow s;
	int ret = run_and_tell(left_by_handler, &s);

	if (ret == NO_PTRACE)
		SKIP("ptrace is forbidden here");
	CHECK(ret == 0);
	CHECK(s.popped == 5 && !s.wrong);
	CHECK(s.n == 1); /* end()'s own */
}

/* The last one serves all that are too many. */
static void each_place_has_one_way(void)
{
	enum { MANY = 600, SIZE = 16 };
	uintptr_t first = x86_way(1), last = 0, way;

	for (uintptr_t to = 2; to < MANY; to++) {
		way = x86_way(to);
		CHECK(way == last || way == first + (to - 1) * SIZE);
		last = way;
	}
	CHECK(x86_way(1) == first && x86_way(3) == first + 2 * SIZE);
	CHECK(x86_way(MANY) == last);
}

int main(void)
{
	RUN(the_shadow_stack_matches_without_probes);
	RUN(return_probes_leave_it_alone);
	RUN(handlers_that_go_on_elsewhere_leave_it_alone);
	RUN(a_function_left_by_its_handler_is_left_there_too);
	RUN(each_place_has_one_way);
	return UNIT_RESULT();
}
