/* SPDX-License-Identifier: MIT */
/*
 * killer VICTIM POINT [GUARDIAN] COMMAND...: runs trapless-run -x or -c,
 * counts what its guardian does, and kills VICTIM (runner, guardian, both, or
 * another process by its number) just before the POINT-th step; 0: nobody. A
 * step is a system call by which the guardian changes something, or lets
 * somebody run: between two of them the target sees no difference. GUARDIAN:
 * the one that the session joins; its steps count, as long as the session
 * lives. Says on standard error at what step that was, or how many there are.
 *
 * Nothing of it is in the program under test: both processes are traced, and
 * their system calls do not know.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SYSCALL_STOP = SIGTRAP | 0x80,
	SETSIGMASK = 0x420b,
	NO_STACK = 0x4c00, /* HELPER_SP of runner/guardian/guardian.h */
};

static const char *const requests[] = {
	[PTRACE_POKEUSER] = "pokeuser",
	[PTRACE_CONT] = "cont",
	[PTRACE_SINGLESTEP] = "step",
	[PTRACE_SETREGS] = "setregs",
	[PTRACE_DETACH] = "detach",
	[PTRACE_SYSCALL] = "syscall",
};

static const struct {
	long nr;
	const char *name;
} calls[] = {
	{SYS_process_vm_writev, "write"},
	{SYS_pwrite64, "text"},
	{SYS_sendmsg, "sendmsg"},
	{SYS_sendto, "send"},
	{SYS_shutdown, "shutdown"},
	{SYS_exit_group, "exit"},
};

static pid_t runner, guardian, target;
static pid_t other; /* to be killed */
static unsigned long step, fatal;
static bool kill_runner, kill_guardian;
static bool joins, launches;
static pid_t early; /* a child that stopped before its parent told of it */
static pid_t
	lent; /* a thread of the program that makes a call for the guardian: all signals are blocked there */
static bool
	on_foot; /* the helper unmaps the last of what it could stand on, or makes a call on no stack at all */

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static const char *request(long nr)
{
	if (nr >= 0 && nr < (long)(sizeof(requests) / sizeof(*requests)) && requests[nr])
		return requests[nr];
	if (nr == PTRACE_SEIZE)
		return "seize";
	if (nr == PTRACE_INTERRUPT)
		return "interrupt";
	if (nr == PTRACE_LISTEN)
		return "listen";
	if (nr == PTRACE_SETOPTIONS)
		return "setoptions";
	if (nr == SETSIGMASK)
		return "setsigmask";
	return NULL; /* it only looks */
}

/* What it is about to change; NULL: nothing. */
static const char *changes(const struct user_regs_struct *r)
{
	size_t i;

	if (r->orig_rax == SYS_ptrace)
		return request((long)r->rdi);
	if (r->orig_rax == SYS_wait4)
		return r->rdx & WNOHANG ? NULL : "wait";
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (calls[i].nr == (long)r->orig_rax)
			return calls[i].name;
	}
	return NULL;
}

static void read_guardian(uint64_t at, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)at, n};

	if (process_vm_readv(guardian, &here, 1, &there, 1, 0) != (ssize_t)n)
		die("process_vm_readv");
}

static FILE *maps(void)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", target);
	f = fopen(path, "re");
	return f ? f : fopen("/dev/null", "re"); /* it has ended */
}

static bool in_vdso(uint64_t pc)
{
	unsigned long lo = 0, hi = 0;
	char line[1024];
	FILE *f = maps();

	while (fgets(line, sizeof(line), f)) {
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &lo, &hi);
	}
	fclose(f);
	return pc - lo < hi - lo;
}

/* In what state it leaves the target's threads, should this be its last call but one. */
static void follow(const struct user_regs_struct *r)
{
	struct user_regs_struct set;
	uint64_t mask;

	if (r->orig_rax != SYS_ptrace)
		return;
	if (r->rdi == PTRACE_SETREGS && (pid_t)r->rsi != lent) {
		read_guardian(r->r10, &set, sizeof(set));
		on_foot = in_vdso(set.rip) &&
			  (set.rax == SYS_munmap || (set.rsp == NO_STACK && set.rax != SYS_exit));
	} else if (r->rdi == SETSIGMASK) {
		read_guardian(r->r10, &mask, sizeof(mask));
		if (mask == ~0ull)
			lent = (pid_t)r->rsi;
		else if (lent == (pid_t)r->rsi)
			lent = 0;
	}
}

/* Does anything in the target tell those who come next what lies there? */
static bool is_registered(void)
{
	char line[1024];
	bool found = false;
	FILE *f = maps();

	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, "/memfd:trapless") != NULL;
	fclose(f);
	return found;
}

/* It is gone for everybody, its tracees included, when this returns. */
static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, 0, 0);
}

/* The program that it starts, which its guardian wants to trace; then its guardian, unless it is another's that counts. */
static void born(pid_t child)
{
	int status;

	if (child != early && (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)))
		return;
	if (launches && !target)
		target = child;
	else if (!guardian)
		guardian = child;
	if (child == guardian)
		ptrace(PTRACE_SYSCALL, child, 0, 0);
	else
		ptrace(PTRACE_DETACH, child, 0, 0);
}

/* pid stops; has it forked? */
static void forked(pid_t pid, int status)
{
	unsigned long child;

	if (status >> 16 == PTRACE_EVENT_FORK && !ptrace(PTRACE_GETEVENTMSG, pid, 0, &child))
		born((pid_t)child);
}

static void let_go(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, pid, 0, 0))
		return;
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		forked(pid, status); /* its child is ours, too, and stands still */
		if (!ptrace(PTRACE_DETACH, pid, 0, 0))
			return;
	}
}

/* Somebody else's child: it waits for its parent when this returns. */
static void end_other(void)
{
	char path[64], state = 0;
	FILE *f;

	kill(other, SIGKILL);
	snprintf(path, sizeof(path), "/proc/%d/stat", other);
	while (state != 'Z' && (f = fopen(path, "re"))) {
		if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(f);
	}
}

/* Who is left goes on by itself. */
static void strike(const char *name)
{
	int status = 0;

	fprintf(stderr, "killer: guardian %d before step %lu: %s%s%s%s\n", guardian, step, name,
		lent ? ", a thread is lent" : "", on_foot ? ", the helper is on foot" : "",
		is_registered() ? "" : ", not registered");
	if (other)
		end_other();
	if (kill_runner)
		end(runner);
	else
		let_go(runner);
	if (kill_guardian)
		end(guardian);
	else
		ptrace(PTRACE_DETACH, guardian, 0, 0);
	if (!kill_runner)
		waitpid(runner, &status, 0);
	exit(0);
}

static void guardian_calls(void)
{
	struct user_regs_struct r;
	const char *name;

	if (ptrace(PTRACE_GETREGS, guardian, 0, &r) || (long)r.rax != -ENOSYS)
		return; /* the way out of a call */
	name = changes(&r);
	if (name && ++step == fatal)
		strike(name);
	follow(&r);
}

static void stopped(pid_t pid, int status)
{
	int sig = WSTOPSIG(status);

	if (pid != runner && pid != guardian) {
		early = pid;
		return;
	}
	if (sig == SYSCALL_STOP) {
		guardian_calls();
		sig = 0;
	} else if (status >> 16) {
		sig = 0;
	}
	forked(pid, status);
	ptrace(pid == guardian ? PTRACE_SYSCALL : PTRACE_CONT, pid, 0, (long)sig);
}

static void join(const char *pid)
{
	guardian = (pid_t)atol(pid);
	joins = guardian > 0;
	if (joins && (ptrace(PTRACE_SEIZE, guardian, 0, (long)PTRACE_O_TRACESYSGOOD) ||
			     ptrace(PTRACE_INTERRUPT, guardian, 0, 0)))
		die("seize the guardian");
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK;
	int status, go[2];
	pid_t pid;
	char c;

	if (argc < 5 || pipe(go))
		return 99;
	other = (pid_t)atol(argv[1]);
	kill_runner = !strcmp(argv[1], "runner") || !strcmp(argv[1], "both");
	kill_guardian = !strcmp(argv[1], "guardian") || !strcmp(argv[1], "both");
	fatal = strtoul(argv[2], NULL, 10);
	join(argv[3]);
	argv += joins ? 4 : 3;
	for (argc = 0; argv[argc]; argc++)
		launches |= !strcmp(argv[argc], "-c");
	target = launches ? 0 : (pid_t)atol(argv[argc - 1]);
	runner = fork();
	if (!runner) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(99);
		close(go[0]);
		execv(argv[0], argv);
		_exit(99);
	}
	close(go[0]);
	if (ptrace(PTRACE_SEIZE, runner, 0, options) || write(go[1], "g", 1) != 1)
		die("seize");
	close(go[1]);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			stopped(pid, status);
		else if (pid == runner && joins)
			break;
	}
	fprintf(stderr, "killer: %lu steps\n", step);
	if (joins)
		let_go(guardian);
	return 0;
}
