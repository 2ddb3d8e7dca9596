/* SPDX-License-Identifier: MIT */
/*
 * What ordinary things take in a program whose system calls have hooks before and behind them: the table of lmbench, by the
 * lowest of some batches.
 *
 *     build/bench/hooks/table STATE OPERATION     nanoseconds; of bandwidths MB/s. STATE as in state.h
 *     build/bench/hooks/table                     which operations there are, with their units
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "state.h"

enum { BATCHES = 5, BLOCK = 1 << 16, COPIED = 1 << 20, COPY = -1 };
static const double BATCH_NS = 4e6;

static char block[BLOCK], *copy_from, *copy_to;

/* --- calls, each with its hooks ------------------------------------------------------- */

#define CALL(number, call)                                                                         \
	({                                                                                         \
		long result_;                                                                      \
		ENTER(number);                                                                     \
		result_ = (long)(call);                                                            \
		LEAVE(number, result_);                                                            \
		result_;                                                                           \
	})
#define WRAPPER static __attribute__((noinline)) long

WRAPPER get_parent(void)
{
	return CALL(SYS_getppid, syscall(SYS_getppid));
}

WRAPPER stat_file(const char *path, struct stat *s)
{
	return CALL(SYS_newfstatat, stat(path, s));
}

WRAPPER open_file(const char *path)
{
	return CALL(SYS_openat, open(path, O_RDONLY));
}

WRAPPER close_file(int fd)
{
	return CALL(SYS_close, close(fd));
}

WRAPPER read_from(int fd, void *to, size_t n)
{
	return CALL(SYS_read, read(fd, to, n));
}

WRAPPER write_to(int fd, const void *from, size_t n)
{
	return CALL(SYS_write, write(fd, from, n));
}

WRAPPER fork_child(void)
{
	return CALL(SYS_clone, fork());
}

WRAPPER wait_for(pid_t child)
{
	return CALL(SYS_wait4, waitpid(child, NULL, 0));
}

WRAPPER become_program(const char *path)
{
	return CALL(SYS_execve, execl(path, path, NULL));
}

WRAPPER copy(void)
{
	return CALL(COPY, (memcpy(copy_to, copy_from, COPIED), 0));
}

/* --- the other process ------------------------------------------------------------------ */

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int to_other, from_other;
static pid_t other;

/* Until the other end is closed. */
static void answer(int from, int to)
{
	char byte;

	while (read_from(from, &byte, 1) == 1)
		if (write_to(to, &byte, 1) != 1)
			break;
}

static void pour(int from, int to)
{
	(void)from;
	while (write_to(to, block, BLOCK) > 0)
		;
}

/* ours and theirs: to read from, and to write to. */
static void begin_other(const int ours[2], const int theirs[2], void (*work)(int from, int to))
{
	other = fork();
	need(other >= 0, "fork");
	if (!other) {
		close(ours[0]);
		close(ours[1]);
		work(theirs[0], theirs[1]);
		_exit(0);
	}
	close(theirs[0]);
	close(theirs[1]);
	from_other = ours[0];
	to_other = ours[1];
}

static void pipes_to(void (*work)(int from, int to))
{
	int forth[2], back[2];

	need(!pipe(forth) && !pipe(back), "pipe");
	begin_other((int[]){back[0], forth[1]}, (int[]){forth[0], back[1]}, work);
}

static void begin_pipes(void)
{
	pipes_to(answer);
}

static void begin_pouring(void)
{
	pipes_to(pour);
}

static void begin_sockets(void)
{
	int ends[2], ours, theirs;

	need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
	ours = dup(ends[0]);
	theirs = dup(ends[1]);
	need(ours >= 0 && theirs >= 0, "dup");
	begin_other((int[]){ends[0], ours}, (int[]){ends[1], theirs}, answer);
}

static void end_other(void)
{
	close(to_other);
	close(from_other);
	waitpid(other, NULL, 0);
}

/* --- operations ----------------------------------------------------------------------- */

static void null_call(void)
{
	get_parent();
}

/* What two records of a call cannot do without; no hook is here, so its row tells how much the machine varies. */
static void clock_twice(void)
{
	__asm__ volatile("" ::"r"(__rdtsc()), "r"(__rdtsc()));
}

static void do_stat(void)
{
	struct stat s;

	stat_file("/bin/sh", &s);
}

static void open_and_close(void)
{
	close_file((int)open_file("/bin/sh"));
}

static void fork_and_exit(void)
{
	pid_t child = (pid_t)fork_child();

	if (!child)
		_exit(0);
	wait_for(child);
}

static void fork_and_exec(void)
{
	pid_t child = (pid_t)fork_child();

	if (!child) {
		become_program("/bin/true");
		_exit(1);
	}
	wait_for(child);
}

static void to_and_fro(void)
{
	char byte = 0;

	need(write_to(to_other, &byte, 1) == 1 && read_from(from_other, &byte, 1) == 1, "latency");
}

static void take_a_block(void)
{
	for (size_t n = 0; n < BLOCK;) {
		long got = read_from(from_other, block, BLOCK - n);

		need(got > 0, "bandwidth");
		n += (size_t)got;
	}
}

static char *memory(int filled)
{
	char *at = malloc(COPIED);

	need(at, "memory");
	return memset(at, filled, COPIED);
}

static void begin_copying(void)
{
	copy_from = memory(1);
	copy_to = memory(2);
}

static void copy_memory(void)
{
	copy();
}

static void nothing(void)
{
}

static const struct operation {
	const char *name;
	void (*begin)(void), (*once)(void), (*end)(void);
	size_t bytes; /* that once() moves, of bandwidths */
} operations[] = {
	{"null call (getppid)", nothing, null_call, nothing, 0},
	{"reading the clock twice", nothing, clock_twice, nothing, 0},
	{"stat", nothing, do_stat, nothing, 0},
	{"open and close", nothing, open_and_close, nothing, 0},
	{"fork, exit, wait", nothing, fork_and_exit, nothing, 0},
	{"fork, exec, exit, wait", nothing, fork_and_exec, nothing, 0},
	{"pipe, to and fro", begin_pipes, to_and_fro, end_other, 0},
	{"AF_UNIX, to and fro", begin_sockets, to_and_fro, end_other, 0},
	{"pipe bandwidth, by 64 KB", begin_pouring, take_a_block, end_other, BLOCK},
	{"memory bandwidth, by 1 MB", begin_copying, copy_memory, nothing, COPIED},
};

/* --- measuring -------------------------------------------------------------------------- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double batch(const struct operation *o, long n)
{
	double begin = now();

	for (long i = 0; i < n; i++)
		o->once();
	return now() - begin;
}

/* Nanoseconds of one. */
static double measured(const struct operation *o)
{
	double lowest = 1e30, ns;
	long n = 1;

	while (batch(o, n) < BATCH_NS)
		n *= 2;
	for (int i = 0; i < BATCHES; i++) {
		ns = batch(o, n) / (double)n;
		lowest = ns < lowest ? ns : lowest;
	}
	return lowest;
}

static void show(const struct operation *o)
{
	double ns;

	o->begin();
	ns = measured(o);
	o->end();
	printf("%.3f\n", o->bytes ? (double)o->bytes * 1e3 / ns : ns);
}

int main(int argc, char **argv)
{
	const size_t n = sizeof(operations) / sizeof(operations[0]);

	if (argc < 3) {
		for (size_t i = 0; i < n; i++)
			printf("%s\t%s\n", operations[i].name, operations[i].bytes ? "MB/s" : "ns");
		return 0;
	}
	become(argv[1]);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(argv[2], operations[i].name))
			show(&operations[i]);
	return 0;
}
