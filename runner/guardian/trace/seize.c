/* SPDX-License-Identifier: MIT */
/* May this process be traced? And taking hold of all its threads. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "say.h"
#include "seccomp.h"
#include "seize.h"
#include "threads.h"

enum { SEIZE_TRIES = 3 };

static pid_t tracer_of(pid_t tid)
{
	uint64_t tracer = 0;

	proc_status(tid, "TracerPid", 10, &tracer);
	return (pid_t)tracer;
}

static int yama_scope(void)
{
	char buf[16];

	return proc_read("/proc/sys/kernel/yama/ptrace_scope", buf, sizeof(buf)) > 0 ? atoi(buf)
										     : 0;
}

/* By a guardian: the session may be one more of its clients, if it is its user's. */
static int taken(struct guardian *g, pid_t tracer)
{
	uint64_t uid = geteuid();

	proc_status(tracer, "Uid", 10, &uid);
	if (uid != geteuid())
		return guardian_fail(g,
			"process %d is already traced by a session of trapless of user %d "
			"(guardian: pid %d): end that first, or run trapless as that user",
			g->pid, (int)uid, (int)tracer);
	g->taken = tracer;
	return guardian_fail(g,
		"process %d is already traced by another session of trapless (guardian: pid %d) "
		"that cannot be joined now (it still starts its program, ends, or is of another "
		"release): end that first, or try again",
		g->pid, (int)tracer);
}

/* The way round: from scope 2 on nobody but root may be traced even by who has started it, and 3 is for good. */
static int forbidden_by_yama(struct guardian *g, int scope)
{
	static const char *const next[] = {[1] = "start the program with -c instead, or with "
						 "--preload, or let root set it to 0",
		[2] = "run trapless as root, start the program with --preload instead, or let root "
		      "set it to 0",
		[3] = "start the program with --preload instead, or boot with another setting: it "
		      "cannot be lowered again"};

	return guardian_fail(g,
		"the Yama security module forbids tracing process %d "
		"(/proc/sys/kernel/yama/ptrace_scope is %d): %s",
		g->pid, scope, next[scope > 3 ? 3 : scope]);
}

/* ptrace said no: which rule was it? tracer: 0: nobody has it. */
static int forbidden(struct guardian *g, pid_t tracer)
{
	static const char round[] = "start the program with -c instead, or with --preload";
	uint64_t uid = 0;
	struct stat st;
	char path[64], name[64];

	if (tracer) {
		proc_name(tracer, name, sizeof(name));
		/* one that has ended meanwhile has no name: it is tried again, as after a guardian */
		if (!strcmp(name, "trapless-guard") || proc_ended(tracer))
			return taken(g, tracer);
		return guardian_fail(g,
			"process %d is already traced by %s (pid %d): end that first", g->pid, name,
			tracer);
	}
	proc_status(g->pid, "Uid", 10, &uid);
	if (geteuid() && uid != geteuid())
		return guardian_fail(g,
			"process %d belongs to user %d, and you are user %d: "
			"run trapless as that user, or as root",
			g->pid, (int)uid, (int)geteuid());
	snprintf(path, sizeof(path), "/proc/%d/mem", g->pid);
	if (geteuid() && !stat(path, &st) && st.st_uid != geteuid())
		return guardian_fail(g,
			"process %d has made itself non-dumpable "
			"(set-user-id program, file capabilities, or prctl PR_SET_DUMPABLE): "
			"run trapless as root, or %s",
			g->pid, round);
	if (yama_scope() > 0)
		return forbidden_by_yama(g, yama_scope());
	return guardian_fail(g,
		"ptrace of process %d is forbidden here (a container's seccomp profile, "
		"a security module, or another user namespace): %s, or add CAP_SYS_PTRACE",
		g->pid, round);
}

int target_check_machine(struct guardian *g)
{
	Elf_Ehdr h;
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", eye_of(g));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM
			       ? forbidden(g, tracer_of(g->pid))
			       : guardian_fail(g, "process %d has just ended", g->pid);
	n = read(fd, &h, sizeof(h));
	close(fd);
	if (n != sizeof(h) || !word_is_elf(h.e_ident))
		return 0; /* the program file may be gone or odd: its maps decide */
	if (h.e_ident[EI_CLASS] != WORD_CLASS)
		return guardian_fail(g, "process %d is a %s program: only %s is supported yet",
			g->pid,
			h.e_machine == machine.elf && machine.narrow ? machine.narrow
			: WORD_BITS == 64			     ? "32-bit"
								     : "64-bit",
			machine.name);
	if (h.e_machine != machine.elf)
		return guardian_fail(g,
			"process %d runs a program for machine %d: only %s is supported yet",
			g->pid, h.e_machine, machine.name);
	return 0;
}

/* By what it is: that is said, whatever becomes of it. */
static int refused(struct guardian *g, const char *why)
{
	g->refused = true;
	return guardian_fail(g, why, g->pid);
}

static int check_state(struct guardian *g)
{
	uint64_t tgid = 0;
	char state;

	errno = 0;
	state = proc_state(g->pid);
	if (!state && (errno == EMFILE || errno == ENFILE))
		return guardian_fail(g,
			"process %d cannot be looked at: %s: raise our own limit (ulimit -n 64)",
			g->pid, strerror(errno));
	if (!state)
		return refused(g, "there is no process %d: ps -e shows those that run");
	if (proc_is_kernel_thread(g->pid))
		return refused(
			g, "process %d is a kernel thread: only programs can be traced with -x");
	if (!proc_status(g->pid, "Tgid", 10, &tgid) && (pid_t)tgid != g->pid)
		return guardian_fail(g, "%d is a thread of process %d: give -x %d", g->pid,
			(int)tgid, (int)tgid);
	if (state == 'Z' || state == 'X') {
		char path[64];
		DIR *d;
		int n = 0;

		snprintf(path, sizeof(path), "/proc/%d/task", g->pid);
		for (d = opendir(path); d && readdir(d);)
			n++;
		if (d)
			closedir(d);
		if (n <= 3)
			return refused(
				g, "process %d has already ended (a zombie): nothing to trace");
	}
	if (!g->heir && proc_is_frozen(g->pid)) /* an heir cleans up when it goes on */
		return guardian_fail(g,
			"process %d is frozen by its control group: let it go on first (docker "
			"unpause, systemctl thaw, or its group's cgroup.freeze or freezer.state)",
			g->pid);
	if (state == 'T' || state == 't') {
		pid_t tracer = tracer_of(g->pid);

		if (tracer)
			return forbidden(g, tracer);
		if (state == 't') /* its tracer has let go of it meanwhile */
			return check_state(g);
		return guardian_fail(g, "process %d is stopped: let it go on first (kill -CONT %d)",
			g->pid, g->pid);
	}
	return 0;
}

int target_check(struct guardian *g)
{
	int ret = check_state(g);
	pid_t tracer;

	g->met = !ret;
	if (!ret && !g->launched)
		ret = target_check_machine(g);
	if (ret)
		return ret;
	g->barred = !suspends_filters();
	tracer = tracer_of(g->pid);
	return tracer && !g->launched ? forbidden(g, tracer) : 0;
}

/* Where somebody else has it, says who; one who lets go of it at this very moment is nobody. */
static bool seize(pid_t tid, pid_t *tracer)
{
	int i, err = EPERM;

	*tracer = 0;
	for (i = 0; i < SEIZE_TRIES && err == EPERM && !*tracer; i++) {
		if (ptrace(PTRACE_SEIZE, tid, 0, trace_options()) == 0)
			return true;
		err = errno;
		*tracer = tracer_of(tid);
	}
	errno = err;
	return false;
}

/* One pass over the threads. Returns how many were taken, or -1. */
static int seize_pass(struct guardian *g)
{
	struct thread *t;
	char path[64];
	struct dirent *e;
	int taken = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", g->pid);
	d = opendir(path);
	if (!d)
		return guardian_fail(g, "process %d has just ended", g->pid);
	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name), tracer;
		char state;

		if (!tid || thread_find(g, tid) || proc_is_kernels(tid))
			continue;
		if (seize(tid, &tracer)) {
			taken++;
			t = thread_add(g, tid, g->pid);
			if (!t) {
				closedir(d);
				return guardian_fail(g, "out of memory");
			}
			t->cloning = true;
			continue;
		}
		state = proc_state(tid);
		if (errno == ESRCH || !state || state == 'Z' || state == 'X' || tracer == getpid())
			continue;
		closedir(d);
		return forbidden(g, tracer);
	}
	closedir(d);
	return taken;
}

int target_seize_new(struct guardian *g)
{
	int taken, all = 0;

	while ((taken = seize_pass(g)) > 0)
		all += taken;
	return taken < 0 ? taken : all;
}

int target_seize(struct guardian *g)
{
	char path[64];

	if (target_seize_new(g) < 0)
		return -1;
	if (!g->threads)
		return guardian_fail(g, "process %d has just ended", g->pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", eye_of(g));
	g->mem = open(path, O_RDWR | O_CLOEXEC);
	return g->mem < 0 ? forbidden(g, tracer_of(g->pid)) : 0;
}
