/* SPDX-License-Identifier: MIT */
/*
 * What the target gives birth to. Threads join the session. A fork child is
 * left clean before its first instruction: text restored, our memory gone,
 * nobody traces it, or another guardian does from there (parking.c). A child
 * that shares the memory (vfork, clone) is followed until it becomes another
 * program or ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "../leave/journal.h"
#include "../leave/listeners.h"
#include "../mend/masks.h"
#include "../session/events.h"
#include "../session/watchpoints.h"
#include "../trace/areas.h"
#include "../trace/births.h"
#include "../trace/concern.h"
#include "../trace/loop.h"
#include "../trace/ours.h"
#include "../trace/remote.h"
#include "../trace/seccomp.h"
#include "../trace/stack.h"
#include "../trace/threads.h"
#include "children.h"
#include "launch.h"
#include "parking.h"
#include "sharing.h"
#include "traceme.h"
#include "vforked.h"

enum { STEPS_MAX = 1000, FIXED = 2, MANY = 16 };

/* By the call that its parent is in: who waits for it cannot use the memory of clone3()'s flags anew. */
static bool made_to_share(struct guardian *g, pid_t pid)
{
	struct machine_regs r;
	uint64_t flags = 0;

	if (regs_get(pid, &r))
		return false;
	if (regs_call(&r) == SYS_clone)
		flags = regs_call_arg(&r, 0);
	else if (regs_call(&r) == SYS_clone3)
		target_read(g, pid, regs_call_arg(&r, 0), &flags, sizeof(flags));
	return regs_call(&r) == SYS_vfork || flags & CLONE_VM;
}

/* A word that only private copies change tells whether the child has its own memory. */
static bool shares_memory(struct guardian *g, pid_t pid)
{
	static uint64_t tick;
	uint64_t word = ++tick, theirs = 0;

	if (!g->injected)
		return made_to_share(g, pid);
	if (target_write(g, g->pid, g->ctl->marker, &word, sizeof(word)))
		return false;
	return target_read(g, pid, g->ctl->marker, &theirs, sizeof(theirs)) == sizeof(theirs) &&
	       theirs == word;
}

/* A signal of our own may come meanwhile. */
static bool step(pid_t tid)
{
	int status;
	pid_t ret;

	if (step_begin(tid, 0))
		return false;
	do
		ret = waitpid(tid, &status, __WALL);
	while (ret < 0 && errno == EINTR);
	step_end(tid);
	return ret == tid && WIFSTOPPED(status);
}

/* Out of a detour, instruction by instruction; nobody else runs there. */
static bool step_out(struct guardian *g, struct thread *t, struct machine_regs *regs)
{
	int i;

	for (i = 0; i < STEPS_MAX; i++) {
		if (regs_get(t->tid, regs))
			return false;
		if (!in_our_memory(g, regs_pc(regs)))
			return true;
		if (!step(t->tid))
			return false;
	}
	return false;
}

/*
 * By address; how many. The child was born at some moment of our coming or
 * going, and the parent's lists change meanwhile: what is not there yet, or not
 * any more, is 0, and what is torn is left.
 */
static size_t list_ours(struct guardian *g, struct tl_ctl_area *ours)
{
	const struct tl_ctl *c = g->ctl;
	const struct tl_ctl_area fixed[FIXED] = {
		{c->self, g->ctl_size, false}, {c->agent, c->agent_size, false}};
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < ctl_areas(g) + FIXED; i++) {
		const struct tl_ctl_area *a = i < FIXED ? &fixed[i] : &c->areas[i - FIXED];
		uint64_t size = __atomic_load_n(&a->size, __ATOMIC_ACQUIRE);
		uint64_t lo = __atomic_load_n(&a->lo, __ATOMIC_ACQUIRE);

		if (lo && size && size == __atomic_load_n(&a->size, __ATOMIC_ACQUIRE))
			ours[n++] = (struct tl_ctl_area){lo, size, false};
	}
	areas_sort(ours, n);
	return n;
}

/* Other children may be cleaned meanwhile. A call is two stops: where there are many pieces, what lies between them is looked at. */
static void unmap_ours(struct guardian *g, struct thread *t)
{
	struct tl_ctl_area *ours = calloc(TL_CTL_AREAS + FIXED, sizeof(*ours));
	size_t n = ours ? list_ours(g, ours) : 0, i, end;

	if (n > MANY)
		areas_join(t->tid, ours, n);
	for (i = 0; i < n; i = end) {
		end = areas_run(ours, n, i);
		remote_call(g, t, SYS_munmap, ours[i].lo,
			ours[end - 1].lo + ours[end - 1].size - ours[i].lo, 0, 0, 0, 0);
	}
	free(ours);
}

static bool clean_text(struct guardian *g, struct thread *t)
{
	char path[64];
	int mem, ret;

	snprintf(path, sizeof(path), "/proc/%d/mem", t->tid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return false;
	ret = journal_restore(g, t->tgid, mem);
	listeners_of_child(g, mem);
	close(mem);
	return !ret;
}

/* A filter could kill for the call that it would sleep in; and a debugger's children are its own. */
static bool may_park(struct guardian *g, const struct thread *t)
{
	return children_followed(g) && !is_debugger(g) && !t->suspended && !t->dispatch.mode &&
	       !t->late_stop;
}

/* `at`: where it waits for a guardian of its own; 0: nowhere. */
static bool clean_child(struct guardian *g, struct thread *t, bool copy, uint64_t *at)
{
	struct machine_regs regs;
	uint64_t mask;

	if ((copy && !clean_text(g, t)) || !step_out(g, t, &regs) || mask_get(t->tid, &mask))
		return false;
	if (!calls_begin(g, t)) { /* silent and unused, our memory may stay */
		regs_set(t->tid, &regs);
		return false;
	}
	mask_set(t->tid, ~0ull);
	thread_hold(t);
	if (copy)
		unmap_ours(g, t);
	*at = may_park(g, t) ? parking_enter(g, t, &regs, mask) : 0;
	thread_unhold(t, false);
	calls_end(t);
	if (t->dead || *at)
		return true;
	regs_set(t->tid, &regs);
	mask_set(t->tid, mask);
	return true;
}

/* Is it a copy of the target, our memory included? Not so what a shell started beside it. */
static bool is_copy(struct guardian *g, pid_t pid)
{
	const size_t n = offsetof(struct tl_ctl, target);
	char head[sizeof(uint32_t) * 3]; /* magic, version, guardian */

	_Static_assert(sizeof(head) == offsetof(struct tl_ctl, target), "the registry's start");
	return g->injected && target_read(g, pid, g->ctl->self, head, n) == n &&
	       !memcmp(head, g->ctl, n);
}

static void process_born(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;
	uint64_t at = 0;
	bool copy;

	if (launch_searches(g)) { /* a shell's child: it may become the program */
		traceme_born(g, t);
		thread_resume(g, t, 0);
		return;
	}
	if (shares_memory(g, tid)) {
		sharing_begins(g, t);
		vfork_begins(g, t);
		t->follow = is_debugger(g) || !t->vforked;
		if (t->dead)
			thread_drop(g, t);
		else
			thread_resume(g, t, 0);
		return;
	}
	copy = is_copy(g, tid);
	if ((copy || children_followed(g)) && !clean_child(g, t, copy, &at))
		g->children_unclean += copy;
	g->children += g->injected && !at;
	if (at) /* before it is free: nobody shall take it for one that no guardian knows */
		parking_tell(g, MSG_CHILD, tid, at);
	ptrace(PTRACE_DETACH, tid, 0, (long)t->late_stop);
	thread_drop(g, t);
}

static void born(struct guardian *g, struct thread *t)
{
	struct machine_regs regs;
	uint64_t mask;

	if (t->tgid != g->pid) {
		process_born(g, t);
		return;
	}
	if (!mask_get(t->tid, &mask))
		mask_learn(t, mask);
	if (g->expecting && !regs_get(t->tid, &regs) && regs_sp(&regs) == g->helper_sp) {
		thread_hold(t); /* clone_helper() takes it */
		return;
	}
	if (launch_searches(g))
		traceme_born(g, t);
	sharing_begins(g, t);
	watchpoints_inherit(g, t);
	thread_began(g, t);
	thread_resume(g, t, 0);
}

void child_at_first_stop(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;

	born(g, t);
	child_settled(g, tid);
}

void child_dead(struct guardian *g, struct thread *t)
{
	child_settled(g, t->tid);
}

/* A child that has not come to its own first stop yet: known from here, so that nobody leaves before that. */
static void announced(struct guardian *g, struct thread *parent, bool vforked)
{
	pid_t tid = thread_event_child(parent);
	struct thread *t = thread_find(g, tid);
	struct machine_regs regs;
	uint64_t tracer = 0;

	if (vforked && !stack_is_known(g, parent) && !regs_get(parent->tid, &regs))
		stack_learn(g, parent, &regs);
	if (!t && tid && !proc_status(tid, "TracerPid", 10, &tracer) && (pid_t)tracer == getpid())
		t = thread_newborn(g, tid);
	if (t) {
		t->vforked = vforked;
		t->parent = parent->tid;
		if (vforked) {
			parent->vfork_child = tid;
			t->go_block = parent->go_block;
		}
	}
}

/* A debugger may seize a fork child at once, and it is to be nobody's by then: true, the parent waits for it. */
static bool is_awaited(struct guardian *g, struct thread *parent, pid_t tid)
{
	const struct thread *child = thread_find(g, tid);

	if (!child || child->tgid == g->pid || !(child->newborn || child->held))
		return false;
	if (!(launch_searches(g) ? parent->follow : is_debugger(g)))
		return false;
	parent->awaited = tid;
	return true;
}

/* The child's own first stop tells all. */
enum verdict child_at_birth(struct guardian *g, struct thread *parent, int event)
{
	announced(g, parent, event == PTRACE_EVENT_VFORK);
	return event == PTRACE_EVENT_FORK && is_awaited(g, parent, thread_event_child(parent))
		       ? STAYS
		       : PASS;
}
