/* SPDX-License-Identifier: MIT */
/*
 * Borrowing a thread of the program for one system call, so that it notices
 * nothing: the helper thread that it clones does everything else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../family/sharing.h"
#include "../family/traceme.h"
#include "../leave/moved.h"
#include "../mend/masks.h"
#include "../mend/owntraps.h"
#include "../session/loader.h"
#include "../trace/images.h"
#include "../trace/loop.h"
#include "../trace/maps.h"
#include "../trace/quiet.h"
#include "../trace/remote.h"
#include "../trace/restart.h"
#include "../trace/say.h"
#include "../trace/seccomp.h"
#include "../trace/stop.h"
#include "../trace/threads.h"
#include "../trace/traps.h"
#include "foothold.h"
#include "helper.h"
#include "room.h"

/* Of 50 ms each: a thread that works may have to wait for a processor. */
enum { PATIENCE = 4, ANEW_MS = 100 };

/* How well it suits: lower is better, negative never. */
static int suits(struct guardian *g, struct thread *t)
{
	struct proc_sleep where;
	char state;

	if (t->tgid != g->pid || !thread_is_theirs(t) || t->held || t->own_trap || t->over)
		return -1;
	state = proc_state(t->tid);
	if (!state || !strchr("RSt", state) || (g->barred && is_filtered(t->tid)))
		return -1;
	if (may_share(g, t)) /* the agent is to find the lender's id in its thread block */
		return 5;
	if (state == 'R')
		return 1;
	if (!proc_sleeps(t->tid, &where) || !call_is_fragile(where.call) ||
		where.call == SYS_futex || where.call == SYS_read)
		return 0;
	return call_has_limit(where.call) ? 4 : 3;
}

static struct thread *choose(struct guardian *g, int round)
{
	struct thread *t, *best = NULL;
	int best_score = 99;

	for (t = g->threads; t; t = t->next) {
		int score = suits(g, t);

		if (score < 0)
			continue;
		if (round >= PATIENCE && score == 0)
			score = round % 3; /* the favourite does not stop: try others too */
		if (score < best_score) {
			best_score = score;
			best = t;
		}
		if (best_score == 0)
			break;
	}
	return best;
}

/* Stop a thread where it can make a system call for us. `slept`: how long it had slept. */
static struct thread *borrow(struct guardian *g, uint64_t *slept)
{
	int round;

	for (round = 0; round < 200 && !target_ended(g); round++) {
		struct thread *t;

		own_traps_deliver(g);
		traceme_serve(g); /* their parents may be all that there is */
		traceme_settle(g);
		t = choose(g, round);
		if (!t && calls_barred(g)) {
			guardian_fail(g,
				"process %d has a seccomp filter, which may kill it for a system "
				"call of ours: run trapless as root%s",
				g->pid, g->launched ? "" : ", or start the program with -c");
			return NULL;
		}
		if (!t) {
			while (loop_event(g, false))
				;
			usleep(2000);
			continue;
		}
		*slept = sleep_so_far(g, t);
		if (!thread_interrupt(g, t, 50 + round))
			continue;
		*slept = sleep_confirmed(t, *slept);
		if (!t->own_trap && !signals_waiting(t) && calls_begin(g, t))
			return t;
		thread_release(g, t); /* let it have its signal first: */
		loop_for(g, 1); /* a stop that is asked for at once would come before that */
	}
	guardian_fail(g, "no thread of process %d could be stopped (%s): try again later", g->pid,
		proc_is_frozen(g->pid) ? "its control group is frozen"
				       : "all in vfork or uninterruptible sleep");
	return NULL;
}

/* What the kernel says no to by the limit of its user's processes is tried once more without: root's has none, others' is as far as it may be. */
static long clone_beyond(struct guardian *g, struct thread *from, uint64_t flags)
{
	struct rlimit was, more = {RLIM_INFINITY, RLIM_INFINITY};
	long tid;

	if (prlimit(g->pid, RLIMIT_NPROC, NULL, &was))
		return -EAGAIN;
	if (prlimit(g->pid, RLIMIT_NPROC, &more, NULL)) {
		more.rlim_cur = more.rlim_max = was.rlim_max;
		if (prlimit(g->pid, RLIMIT_NPROC, &more, NULL))
			return -EAGAIN;
	}
	tid = remote_call(g, from, SYS_clone, flags, g->helper_sp, 0, 0, 0, 0);
	prlimit(g->pid, RLIMIT_NPROC, &was, NULL);
	return tid;
}

static void tell_no_thread(struct guardian *g, long error)
{
	if (error == -EAGAIN)
		guardian_fail(g,
			"process %d may make no more threads, and needs one for a moment: raise "
			"its limit of processes (prlimit --nproc) or its control group's "
			"(pids.max)",
			g->pid);
	else if (error == -EINVAL)
		guardian_fail(g,
			"process %d may make no threads any more, since it has left its pid or "
			"time namespace (unshare, setns): attach before it does, or start it with "
			"-c or --preload",
			g->pid);
	else
		guardian_fail(g, "process %d could not start the helper thread: %s", g->pid,
			strerror((int)-error));
}

static struct thread *clone_helper(
	struct guardian *g, struct thread *from, const struct foothold *f)
{
	const uint64_t flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	struct thread *t;
	long tid;

	/*
	 * The kernel registers a process with one thread at once; with two, the
	 * helper's own registration waits for a grace period of 10 ms or more.
	 */
	if (!g->threads->next)
		remote_call(g, from, SYS_membarrier,
			MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
	g->expecting = true;
	g->helper_sp = f->at ? f->helper_sp : HELPER_SP;
	tid = remote_call(g, from, SYS_clone, flags, g->helper_sp, 0, 0, 0, 0);
	if (tid == -EAGAIN)
		tid = clone_beyond(g, from, flags);
	if (tid < 0) {
		g->expecting = false;
		tell_no_thread(g, tid);
		return NULL;
	}
	for (;;) {
		for (t = g->threads; t; t = t->next) {
			struct machine_regs regs;

			if (t->tgid == g->pid && t->held && t->stopped && t != from && !t->helper &&
				!regs_get(t->tid, &regs) && regs_sp(&regs) == g->helper_sp) {
				t->helper = true;
				t->calls_sp = f->at ? f->helper_sp : 0;
				helper_park(g, t);
				g->ctl->helper = (uint32_t)t->tid;
				g->expecting = false;
				return t;
			}
		}
		if (g->gone || !loop_event(g, true))
			return NULL;
	}
}

static bool is_probed_by(const struct client *c, uint64_t addr)
{
	uint32_t i;

	for (i = 0; c->ctl && i < c->tell.nslots; i++) {
		if (tl_ctl_probe(c->ctl, i)->armed && tl_ctl_probe(c->ctl, i)->addr == addr)
			return true;
	}
	return false;
}

static bool is_probed(const struct guardian *g, uint64_t addr)
{
	const struct client *c;

	for (c = g->clients; c && !is_probed_by(c, addr); c = c->next)
		;
	return c;
}

/* The call that is to go on by restart_syscall(2), which follows where the code does not. */
static long call_begun(struct guardian *g, const struct machine_regs *before)
{
	struct target_memory m = target_memory(g, g->pid);
	long nr;

	if (regs_call(before) != SYS_restart_syscall)
		return regs_call(before);
	nr = call_before(&m.memory, regs_pc(before));
	return nr < 0 ? SYS_restart_syscall : nr;
}

/* As it goes on where we are gone: the kernel neither makes its call again then, nor knows what time was left of it. */
static struct machine_regs without_us(
	struct guardian *g, const struct machine_regs *before, const struct machine_regs *saved)
{
	struct machine_regs r = *before;

	if (regs_call(before) < 0 || regs_result(before) > RESTART_SYS ||
		regs_result(before) < RESTART_BLOCK)
		return *saved;
	if (regs_pc(saved) != regs_pc(before) && regs_call_coming(saved) != SYS_restart_syscall)
		return *saved;
	regs_call_again(&r, call_begun(g, before));
	return r;
}

/*
 * Its call begins anew: before a probe can stand there, which would count a hit of our making. One that does not get a
 * processor is waited for; one that has no need to sleep again, not for long.
 */
static void await_call(pid_t tid)
{
	double end = now_ms() + ANEW_MS;

	while (proc_state(tid) == 'R' && now_ms() < end)
		usleep(50);
}

/* By a stopped thread, which is lent for as long as the helper has no stack of its own. */
static struct thread *make_helper(
	struct guardian *g, struct thread *t, const struct foothold *f, bool arrives)
{
	mask_set(t->tid, ~0ull);
	g->lender = proc_own_number(t->tid);
	g->helper = clone_helper(g, t, f);
	if (g->helper && arrives && agent_room(g))
		helper_end(g);
	else if (g->helper && !arrives)
		g->helper->calls_sp = 0;
	return g->helper;
}

static struct thread *start(struct guardian *g, struct thread *from, bool arrives)
{
	struct machine_regs saved, before, home;
	struct foothold f;
	struct thread *t, *helper = NULL;
	uint64_t mask, slept = 0;
	bool anew = false;
	pid_t tid;

	eye_of(g);
	if (!from)
		from = g->at_dlopen;
	if (from && !calls_begin(g, from))
		from = NULL;
	t = from ? from : borrow(g, &slept);
	if (!t)
		return NULL;
	traceme_settle(g); /* the engine is to find its breakpoints */
	tid = t->tid;
	regs_pc_set(&saved, 0);
	if (regs_get(tid, &saved) || mask_get(tid, &mask)) {
		calls_end(t);
		goto out;
	}
	before = saved;
	if (!from)
		call_restart(g, t, &saved, slept);
	anew = regs_pc(&saved) != regs_pc(&before);
	home = without_us(g, &before, &saved);
	foothold_lay(g, t, &home, mask, &f);
	helper = make_helper(g, t, &f, arrives);
	calls_end(t);
	if (!t->dead) {
		if (f.at) /* its registers it finds by itself */
			mask_set(t->tid, mask);
		regs_set(t->tid, &saved);
		if (!f.at)
			mask_set(t->tid, mask);
		foothold_lift(g, t, &f);
	}
out:
	if (!from && (g->leaving || g->parting) && is_probed(g, regs_pc(&saved)))
		g->main_held = t;
	else if (!from)
		thread_release(g, t);
	if (anew && !g->main_held)
		await_call(tid);
	g->helper = helper;
	return helper;
}

/* from: a thread that is stopped and held already (the best one, but for a seccomp filter), or NULL. Leaves the helper stopped. */
struct thread *helper_start(struct guardian *g, struct thread *from)
{
	return start(g, from, false);
}

struct thread *helper_arrive(struct guardian *g, struct thread *from)
{
	return start(g, from, true);
}

/* The text is restored: whoever was to make a probed system call again makes it there. */
void lender_release(struct guardian *g)
{
	struct thread *t = g->main_held;

	g->main_held = NULL;
	if (t)
		thread_release(g, t);
}

void helper_end(struct guardian *g)
{
	struct thread *t = g->helper;

	if (!t)
		return;
	helper_park(g, t);
	thread_unhold(t, false);
	thread_resume(g, t, 0);
	while (g->helper && loop_event(g, true))
		;
}

/* A few bytes of the target's, whatever the protection. How many, 0: nothing is mapped there, or -TL_E_TEXT_RO. */
static int copy_past(struct guardian *g, uint64_t to, uint64_t from, uint64_t size)
{
	uint8_t bytes[256];
	ssize_t n;

	if (size > sizeof(bytes))
		return -TL_E_TEXT_RO;
	n = pread(g->mem, bytes, size, (off_t)from);
	if (n <= 0)
		return maps_look(g) || maps_have(from) ? -TL_E_TEXT_RO : 0;
	return text_write(g->mem, to, bytes, (size_t)n) ? -TL_E_TEXT_RO : (int)n;
}

static void serve(struct guardian *g)
{
	struct tl_ctl *c = g->ctl;

	switch (c->svc) {
	case TL_SVC_MAPS:
		c->svc_ret = images_read(g) ? -1 : 0;
		break;
	case TL_SVC_STOP:
		c->svc_ret = stop_all(g);
		break;
	case TL_SVC_RESUME:
		resume_all(g, c->svc_arg[0] != 0);
		c->svc_ret = 0;
		break;
	case TL_SVC_QUIET:
		c->svc_ret = quiet_in(g, c->svc_arg[0], c->svc_arg[1], NULL);
		break;
	case TL_SVC_SEEN:
		c->svc_ret = quiet_seen(g, c->svc_arg[0], c->svc_arg[1]);
		break;
	case TL_SVC_COPY:
		c->svc_ret = copy_past(g, c->svc_arg[0], c->svc_arg[1], c->svc_arg[2]);
		break;
	case TL_SVC_STACKS:
		stacks_tell(g);
		c->svc_ret = 0;
		break;
	case TL_SVC_STACKS_END:
		stacks_check(g);
		c->svc_ret = 0;
		break;
	case TL_SVC_BROKEN: {
		char text[128] = "";

		target_read(g, g->pid, c->svc_arg[0], text, sizeof(text) - 1);
		note_all(g, "the engine broke a promise: %s", text);
		c->svc_ret = 0;
		break;
	}
	case 0: /* somebody else's signal, which nobody waits for */
		break;
	default:
		c->svc_ret = -1;
	}
}

/* By which the helper asks for us: where we are gone by then, the program must not notice. */
static int ignored_signal(struct guardian *g)
{
	static const int candidates[] = {SIGURG, SIGWINCH, SIGCHLD};
	char status[PROC_TEXT];
	size_t i;

	if (proc_read_of(eye_of(g), "status", status, sizeof(status)) <= 0)
		return machine.spare_signal;
	for (i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
		if (proc_ignored(status) >> (candidates[i] - 1) & 1)
			return candidates[i];
	}
	return machine.spare_signal;
}

/* Until it asks or is done. The runner may lose patience with a long arming. */
static void helper_await(struct guardian *g, struct thread *t)
{
	while (g->helper && !t->stopped && !target_ended(g)) {
		if (g->arming)
			g->concerns->while_arming(g);
		else
			loop_event(g, true);
		own_traps_deliver(g);
	}
}

static bool changes_text(int command)
{
	return command == TL_CMD_WATCH || command == TL_CMD_ARM || command == TL_CMD_FOLLOW ||
	       command == TL_CMD_DISARM;
}

/* Run one command of the agent in the helper, serving its requests. Its result, or -1. */
int helper_command(struct guardian *g, int command)
{
	struct machine_regs regs;
	struct thread *t = g->helper;

	if (!t || regs_get(t->tid, &regs))
		return guardian_fail(g, "process %d has ended", g->pid);
	loader_rests(g);
	if (command != TL_CMD_INIT) /* all images have just been read for it */
		maps_read(g);
	if (changes_text(command))
		moved_mend(g);
	g->helper_signal = ignored_signal(g);
	g->ctl->svc_signal = (uint32_t)g->helper_signal;
	g->ctl->arming.nthreads = g->nthreads;
	g->ctl->command = (uint32_t)command;
	g->ctl->svc = 0;
	regs_function(&regs, g->agent_entry, g->stack_top, g->ctl->self);
	regs_set(t->tid, &regs);
	mask_set(
		t->tid, ~(signal_bit(g->helper_signal) | signal_bit(SIGSEGV) | signal_bit(SIGBUS)));
	thread_hold(t);
	for (;;) {
		thread_resume(g, t, 0);
		helper_await(g, t);
		if (!g->helper || target_ended(g))
			return guardian_fail(g, "process %d has ended", g->pid);
		if (t->status >> 8 != g->helper_signal) {
			g->crashed = true;
			regs_get(t->tid, &regs);
			return guardian_fail(g,
				"the agent in process %d failed (signal %d at agent+0x%llx, "
				"command %d): "
				"please report this",
				g->pid, t->status >> 8 & 0xff,
				(unsigned long long)(regs_pc(&regs) - g->ctl->agent), command);
		}
		if (g->ctl->svc == TL_SVC_DONE)
			return (int)g->ctl->result;
		serve(g);
		g->ctl->svc = 0;
	}
}
