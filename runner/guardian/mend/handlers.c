/* SPDX-License-Identifier: MIT */
/*
 * What handlers in the target need of us, since they make no system calls of
 * their own: who they run in, and to be led on where they read what is not
 * there. agent/handler.c is the other side.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../../../agent/handler.h"
#include "../../../engine/core/detour/thread.h"
#include "../../base/facts.h"
#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/vforked.h"
#include "../trace/concern.h"
#include "../trace/maps.h"
#include "../trace/ours.h"
#include "../trace/publish.h"
#include "../trace/remote.h"
#include "../trace/seccomp.h"
#include "../trace/stack.h"
#include "../trace/traps.h"
#include "handlers.h"
#include "resent.h"
#include "trapmend.h"

enum { COMM = 16 };

/* From now on the kernel tells handlers when we are gone. */
void be_watched(struct guardian *g)
{
	static struct robust_list entry;
	static struct robust_list_head list;

	list.list.next = &entry;
	entry.next = &list.list;
	list.futex_offset = (long)((uintptr_t)&g->ctl->watcher - (uintptr_t)&entry);
	syscall(SYS_set_robust_list, &list, sizeof(list));
	g->ctl->watcher = (uint32_t)syscall(SYS_gettid);
}

static bool ask_stack(struct guardian *g, struct thread *t, uint64_t at, void *arg)
{
	stack_t *s = arg;

	return !remote_call(g, t, SYS_sigaltstack, 0, at, 0, 0, 0, 0) &&
	       target_read(g, t->tgid, at, s, sizeof(*s)) == sizeof(*s);
}

struct frames_of {
	struct guardian *g;
	struct thread *t;
	uint64_t sp;
	bool alternate;
};

/* Each signal's frame tells where the alternate stack is. */
static void look_for_alternate(void *arg, uint64_t at, const uint64_t *words, size_t n)
{
	struct frames_of *o = arg;
	struct target_memory m = target_memory(o->g, o->t->tgid);
	stack_t s;
	size_t i;

	for (i = 0; i < n; i++) {
		if (frame_pc_is(words + i, words + n) &&
			frame_alternate(&m.memory, at + i * sizeof(*words) - machine.frame.pc, &s))
			o->alternate |= o->sp - (uint64_t)(uintptr_t)s.ss_sp < s.ss_size;
	}
}

/* Where it may not be made to call: nobody is on the alternate stack whose frames do not say so. */
static bool is_plain_by_frames(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	struct frames_of f = {.g = g, .t = t};
	struct stacks s;

	if (regs_get(t->tid, &regs) || maps_read(g) || !stacks_begin(g, &s, t, regs_sp(&regs)))
		return false;
	f.sp = regs_sp(&regs);
	stacks_words(g, &s, 0, t, look_for_alternate, &f);
	return !f.alternate;
}

/* For a thread that must not ask the kernel by itself. */
static uint64_t about_stack(struct guardian *g, struct thread *t)
{
	stack_t s;
	bool plain;

	if (!is_filtered(t->tid))
		return TL_ANSWER_ASK_KERNEL;
	if (calls_aside(g, t, ask_stack, &s))
		plain = !(s.ss_flags & SS_ONSTACK);
	else
		plain = !t->dead && is_plain_by_frames(g, t);
	return plain ? TL_ANSWER_PLAIN_STACK : 0;
}

/* What is asked of is a process as the target numbers them. */
static uint64_t about_process(
	struct guardian *g, struct thread *t, uint32_t what, uint64_t of, uint64_t value[2])
{
	bool own = !of || of == own_number(g, t->tgid);

	if ((!own && g->nested) ||
		!proc_fact(own ? t->tgid : (pid_t)of, own && !of ? t->tid : 0, what, value))
		return TL_ANSWER_NONE;
	if (what == TL_FACT_PPID && g->nested)
		value[0] = proc_own_number((pid_t)value[0]);
	return 0;
}

/* It comes to the thread as one from elsewhere: behind our code, where the program catches it. */
static uint64_t about_signal(const struct thread *t, uint64_t sig)
{
	if (sig && sig <= (uint64_t)SIGRTMAX && !syscall(SYS_tgkill, t->tgid, t->tid, (int)sig))
		return 0;
	return TL_ANSWER_NONE;
}

static void about_name(struct thread *t, uint64_t name[2])
{
	char comm[2 * COMM] = "";

	proc_name(t->tid, comm, sizeof(comm));
	memcpy(name, comm, COMM);
}

/* true: t stood at the agent's question, and has its answer. */
bool handler_asks(struct guardian *g, struct thread *t, uint64_t pc)
{
	struct handler_answer a = {0};
	struct handler_question q;
	struct machine_regs regs;

	if (!g->ask.ask || breakpoint_before(pc) != g->ask.ask || !trap_is_breakpoint(t))
		return false;
	signal_mend(g, t, FORCED_TRAP);
	if (t->dead || regs_get(t->tid, &regs))
		return true;
	a.ids = thread_ids(g, record_owner(g, t));
	q = regs_question(&regs);
	if (q.what == TL_ASK_STACK && !t->dead)
		a.about = about_stack(g, t);
	if (t->dead)
		return true;
	if (q.what >= TL_ASK_FACT)
		a.about = about_process(g, t, (uint32_t)q.what - TL_ASK_FACT, q.of, a.value);
	else if (q.what == TL_ASK_RAISE)
		a.about = about_signal(t, q.of);
	else
		about_name(t, a.value);
	a.about |= TL_ANSWERED;
	regs_answer(&regs, &a);
	regs_set(t->tid, &regs);
	g->stops++;
	return true;
}

static bool is_peek(const struct guardian *g, uint64_t pc)
{
	return pc - g->ask.peek < g->ask.peek_end - g->ask.peek;
}

static bool stands_at(
	struct guardian *g, struct thread *t, uint64_t pc, const uint8_t *code, size_t size)
{
	uint8_t there[2 * INSN_BYTES];

	return size && target_read(g, t->tgid, pc, there, size) == size &&
	       !memcmp(there, code, size);
}

/* The time stamp counter is forbidden too, in strict mode or by prctl(PR_SET_TSC). */
static bool is_clock(struct guardian *g, struct thread *t, uint64_t pc)
{
	return in_handler(g, pc) && stands_at(g, t, pc, machine.clock.bytes, machine.clock.size);
}

/* In a detour, which looks for the thread's record: the program has led its thread pointer elsewhere. */
static bool is_key(struct guardian *g, struct thread *t, uint64_t pc)
{
	const struct machine_insn *load = &machine.load_key;

	return in_our_memory(g, pc) && !in_handler(g, pc) &&
	       stands_at(g, t, pc, load->bytes, load->size) &&
	       stands_at(g, t, pc + load->size, machine.load_key_next, machine.load_key_more);
}

static void give_time(struct thread *t)
{
	struct machine_regs regs;

	if (regs_get(t->tid, &regs))
		return;
	regs_give_clock(&regs);
	regs_set(t->tid, &regs);
}

/* No record is found by this one: the detour calls no handler, and counts that. */
static void give_no_key(struct thread *t)
{
	struct machine_regs regs;

	if (regs_get(t->tid, &regs))
		return;
	regs_give_key(&regs, (uint64_t)TL_THREAD_NO_KEY);
	regs_set(t->tid, &regs);
}

enum faulting { NOT_OURS, PEEK, CLOCK, KEY };

static enum faulting faulting_at(struct guardian *g, struct thread *t, uint64_t pc, int sig)
{
	if (is_peek(g, pc))
		return PEEK;
	if (is_key(g, t, pc))
		return KEY;
	return sig == SIGSEGV && is_clock(g, t, pc) ? CLOCK : NOT_OURS;
}

/* true: code of ours read what is not there, or what it may not, and t goes on behind that. */
static bool faults(struct guardian *g, struct thread *t, int sig)
{
	enum faulting what;
	uint64_t pc;

	if (!g->ask.peek || !thread_pc(t, &pc))
		return false;
	what = faulting_at(g, t, pc, sig);
	if (what == NOT_OURS || signal_code(t) <= 0)
		return false;
	signal_mend(g, t, sig == SIGBUS ? FORCED_BUS : FORCED_SEGV);
	g->stops++;
	g->faulted |= !t->helper;
	if (t->dead)
		return true;
	if (what == PEEK)
		thread_pc_set(t, g->ask.peek_fault);
	else if (what == KEY)
		give_no_key(t);
	else
		give_time(t);
	return true;
}

enum verdict handler_at_signal(struct guardian *g, struct thread *t, int sig)
{
	return (sig == SIGSEGV || sig == SIGBUS) && faults(g, t, sig) ? GOES : PASS;
}

/*
 * The agent reads and writes text that the program may protect or unmap meanwhile. What somebody has sent is another
 * thread's.
 */
enum verdict helper_at_signal(struct guardian *g, struct thread *t, int sig)
{
	struct thread *o;

	if (sig != SIGSEGV && sig != SIGBUS)
		return PASS;
	if (signal_code(t) > 0)
		return handler_at_signal(g, t, sig);
	for (o = g->threads; o && !(thread_is_theirs(o) && o->tgid == g->pid); o = o->next)
		;
	if (o)
		signal_pass_on(t, o, sig);
	return GOES;
}
