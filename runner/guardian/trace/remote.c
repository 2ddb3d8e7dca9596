/* SPDX-License-Identifier: MIT */
/* Registers, memory and system calls of a stopped thread. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../base/proc.h"
#include "../../machine/calls.h"
#include "../guardian.h"
#include "loop.h"
#include "maps.h"
#include "remote.h"
#include "say.h"

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

int mask_get(pid_t tid, uint64_t *mask)
{
	return ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), mask) ? -errno : 0;
}

int mask_set(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) ? -errno : 0;
}

size_t target_read(struct guardian *g, pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec here = {buf, len}, there = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_readv(pid == g->pid ? g->eye : pid, &here, 1, &there, 1, 0);

	if (n == (ssize_t)len || pid != g->pid)
		return n < 0 ? 0 : (size_t)n;
	n = pread(g->mem, buf, len, (off_t)addr);
	return n < 0 ? 0 : (size_t)n;
}

static size_t memory_read(const struct machine_memory *m, uint64_t addr, void *to, size_t size)
{
	const struct target_memory *of = (const void *)m;

	return target_read(of->g, of->pid, addr, to, size);
}

static int memory_write(
	const struct machine_memory *m, uint64_t addr, const void *from, size_t size)
{
	const struct target_memory *of = (const void *)m;

	return target_write(of->g, of->pid, addr, from, size);
}

struct target_memory target_memory(struct guardian *g, pid_t pid)
{
	return (struct target_memory){{memory_read, memory_write}, g, pid};
}

size_t target_read_words(struct guardian *g, const uint64_t *at, uint64_t *words, size_t n)
{
	struct iovec here = {words, n * sizeof(*words)}, there[WORDS_MAX];
	ssize_t got;
	size_t i;

	for (i = 0; i < n; i++)
		there[i] = (struct iovec){(void *)(uintptr_t)at[i], sizeof(*words)};
	got = process_vm_readv(g->eye, &here, 1, there, n, 0);
	return got < 0 ? 0 : (size_t)got / sizeof(*words);
}

int target_write(struct guardian *g, pid_t pid, uint64_t addr, const void *buf, size_t len)
{
	struct iovec here = {(void *)(uintptr_t)buf, len}, there = {(void *)(uintptr_t)addr, len};

	return process_vm_writev(pid == g->pid ? g->eye : pid, &here, 1, &there, 1, 0) ==
			       (ssize_t)len
		       ? 0
		       : -EFAULT;
}

int text_write(int mem, uint64_t addr, const void *buf, size_t len)
{
	return pwrite(mem, buf, len, (off_t)addr) == (ssize_t)len ? 0 : -errno;
}

/* Where memory has a system call instruction, one behind which code returns if that is wanted; 0: nowhere. */
static uint64_t syscall_in(struct guardian *g, pid_t pid, uint64_t lo, uint64_t size, bool returns)
{
	static unsigned char code[65536];
	const size_t insn = machine.syscall.size;
	uint64_t at;
	size_t n, i;

	for (at = 0; at < size; at += n) {
		n = size - at < sizeof(code) ? size - at : sizeof(code);
		if (target_read(g, pid, lo + at, code, n) != n)
			break;
		for (i = 0; i + insn <= n; i++) {
			if (!memcmp(code + i, machine.syscall.bytes, insn) &&
				(!returns || home_returns(code + i + insn, n - i - insn) >= 0))
				return lo + at + i;
		}
	}
	return 0;
}

/* Another process than the target, which has just begun: its vDSO's first page. */
uint64_t syscall_of(struct guardian *g, pid_t pid)
{
	uint64_t at = proc_aux(pid, AT_SYSINFO_EHDR);

	return at ? syscall_in(g, pid, at, PAGE, false) : 0;
}

static bool is_vdso(const struct mapping *m)
{
	return !strcmp(m->path, "[vdso]");
}

/* Libraries lie behind the program, which may be large, and are in memory anyhow. */
static void find_in(struct guardian *g, bool (*suits)(const struct mapping *), bool returns)
{
	size_t n, i;
	const struct mapping *list = mappings(&n);

	for (i = n; i-- && !g->syscall_insn;) {
		if (suits(&list[i]))
			g->syscall_insn =
				syscall_in(g, g->pid, list[i].lo, list[i].hi - list[i].lo, returns);
	}
}

/*
 * The vDSO makes system calls, in every kind of program; where it was taken
 * away, other code does. Best is one from which a thread finds home without
 * us, see foothold.c.
 */
int remote_find_syscall(struct guardian *g)
{
	int returns;

	g->syscall_insn = 0;
	for (returns = !maps_read(g) ? 1 : -1; returns >= 0; returns--) {
		find_in(g, is_vdso, returns);
		find_in(g, is_text, returns);
	}
	return g->syscall_insn
		       ? 0
		       : guardian_fail(g, "process %d has no code that makes system calls", g->pid);
}

/* The program may have unmapped or moved it since. */
static bool makes_calls(struct guardian *g, pid_t pid)
{
	const struct machine_insn *call = &machine.syscall;
	char code[INSN_BYTES];

	return target_read(g, pid, g->syscall_insn, code, call->size) == call->size &&
	       !memcmp(code, call->bytes, call->size);
}

const char *limit_next(long error)
{
	switch (error) {
	case -ENOMEM:
		return ": raise its limit of memory (prlimit --as, --data)";
	case -EAGAIN: /* mlockall(MCL_FUTURE) */
		return ": it locks its memory, and may lock no more: raise that limit (prlimit "
		       "--memlock)";
	case -EMFILE:
		return ": raise its limit of open files (prlimit --nofile)";
	default:
		return "";
	}
}

/* Let it run to its next system call stop. One that was asked for before may come first. */
static bool next_stop(struct guardian *g, struct thread *t)
{
	t->calling = true;
	do {
		thread_resume(g, t, 0);
		while (!t->stopped && !t->dead)
			loop_event(g, true);
	} while (!t->dead && t->status >> 8 != (SIGTRAP | 0x80));
	t->calling = false;
	return !t->dead;
}

/* Once it is there, the helper stands on code of ours, which looks after it. */
static bool stands_on_ours(const struct guardian *g, const struct thread *t)
{
	return t->helper && g->agent_call;
}

/* Where it makes a call; 0: nowhere. */
static uint64_t place_to_call(struct guardian *g, const struct thread *t)
{
	if (stands_on_ours(g, t))
		return g->agent_call;
	if (t->calls_at)
		return t->calls_at;
	if (!makes_calls(g, t->tgid) && remote_find_syscall(g))
		return 0;
	return g->syscall_insn;
}

/* Wherever the helper is let go of, also because we were killed, it ends. */
void helper_park(struct guardian *g, struct thread *t)
{
	const uint64_t args[CALL_ARGS] = {0};
	struct machine_regs regs;

	if (regs_get(t->tid, &regs))
		return;
	regs_call_make(&regs, place_to_call(g, t), SYS_exit, args);
	regs_set(t->tid, &regs);
}

static long call_once(struct guardian *g, struct thread *t, long nr, const uint64_t args[CALL_ARGS])
{
	struct machine_regs regs;
	uint64_t at;

	if (!t || t->dead || regs_get(t->tid, &regs)) /* the helper ends with its process */
		return -ESRCH;
	at = place_to_call(g, t);
	if (!at)
		return -ENOSYS;
	regs_call_make(&regs, at, nr, args);
	if (stands_on_ours(g, t))
		regs_sp_set(&regs, g->stack_top);
	else if (t->calls_sp)
		regs_sp_set(&regs, t->calls_sp);
	if (regs_set(t->tid, &regs))
		return -ESRCH;
	if (!next_stop(g, t) || !next_stop(g, t))
		return -ESRCH;
	if (regs_get(t->tid, &regs))
		return -ESRCH;
	if (t->helper && !stands_on_ours(g, t))
		helper_park(g, t);
	return regs_result(&regs);
}

/* Where a signal was in its way, which is always SIGSTOP, clone(2) wants to be made again. */
long remote_call(struct guardian *g, struct thread *t, long nr, uint64_t a, uint64_t b, uint64_t c,
	uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t args[CALL_ARGS] = {a, b, c, d, e, f};
	long ret;

	do
		ret = call_once(g, t, nr, args);
	while (ret == RESTART_NOINTR);
	return ret;
}
