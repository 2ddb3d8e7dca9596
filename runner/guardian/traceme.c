/* SPDX-License-Identifier: MIT */
/*
 * A target that is a debugger itself. Its fork children are nobody's when they
 * ask for it as their tracer, but a vfork child shares the memory and is ours
 * until it has become another program: the kernel would refuse it. So it is
 * let go of in that very call, and from there until its parent goes on nothing
 * of ours may need us: breakpoints are out of the text, and handlers, which
 * ask by a breakpoint, are silent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guardian.h"

/* Does it look as if it ever made that call? Libraries all know the word, so the program alone is asked. */
static bool names_ptrace(pid_t pid)
{
	static const char word[] = "ptrace";
	struct stat st;
	bool found = false;
	char path[64];
	void *text;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		goto out;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		goto out;
	found = memmem(text, (size_t)st.st_size, word, sizeof(word) - 1);
	munmap(text, (size_t)st.st_size);
out:
	if (fd >= 0)
		close(fd);
	return found;
}

bool is_debugger(struct guardian *g)
{
	if (!g->debugger_known)
		g->debugger = names_ptrace(eye_of(g));
	g->debugger_known = true;
	return g->debugger;
}

static void gate_set(struct guardian *g, uint32_t open)
{
	uint64_t at = 0;

	if (target_read(g, g->pid, g->ctl->gate, &at, sizeof(at)) == sizeof(at) && at)
		target_write(g, g->pid, at, &open, sizeof(open));
}

static bool wants_its_parent(const struct thread *t)
{
	struct user_regs_struct regs;

	return !regs_get(t->tid, &regs) && (long)regs.orig_rax == SYS_ptrace &&
	       regs.rdi == PTRACE_TRACEME && (long)regs.rax == -ENOSYS; /* at its entry */
}

static bool let_go(struct guardian *g, struct thread *t)
{
	pid_t tid = t->tid;

	gate_set(g, 0);
	g->let_go = tid;
	if (breakpoints_out(g)) {
		traceme_over(g, tid);
		return false;
	}
	g->children++;
	thread_drop(g, t);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return true;
}

/* At a system call of t. true: it is ours no more. */
bool traceme_coming(struct guardian *g, struct thread *t)
{
	if (t->tgid == g->pid || !t->follow || g->let_go || g->helper || !wants_its_parent(t))
		return false;
	if (!t->vforked) { /* its parent's word may be on the way */
		t->held = true;
		pump_for(g, 1);
		t->held = false;
	}
	if (t->dead) {
		thread_drop(g, t);
		return true;
	}
	return t->vforked && !g->let_go && let_go(g, t);
}

/* It has become another program or ended. 0: so it is to be taken. */
void traceme_over(struct guardian *g, pid_t child)
{
	if (!g->let_go || (child && child != g->let_go))
		return;
	g->let_go = 0;
	breakpoints_in(g);
	gate_set(g, 1);
}
