/* SPDX-License-Identifier: MIT */
/*
 * jailed MODE CALLS [more ...]: forbids itself system calls at the price of its life, then works. Waits for a line
 * of input where MORE says `wait`; `forbidden`: makes a forbidden call at last; `fork`: a child works too;
 * `naps`: sleeps between the calls; `threads`: four more do the same work.
 * MODE: strict, allow (a list of what it uses), none.
 */
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct item {
	long value;
	const char *text, *wild;
};

enum { THREADS = 4 };
static long calls;
static int naps;
static struct item items[THREADS + 1]; /* not on a stack, which is known to be there */

__attribute__((noinline)) long work(const char *text, struct item *it, long n)
{
	__asm__ volatile("" ::: "memory");
	return text[0] + it->value + n;
}

static void *run(void *arg)
{
	static const char text[] = "jailed";
	volatile long sum = 0;
	struct item *it = arg;
	long i;

	for (i = 0; i < calls; i++) {
		const struct timespec nap = {0, 20000000};

		it->value = i;
		it->text = text;
		it->wild = (const char *)(0x7ffull << 40 | (unsigned long)i << 12);
		sum += work(text, it, i);
		if (naps)
			syscall(SYS_nanosleep, &nap, NULL);
	}
	return (void *)sum;
}

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int confine(const char *mode, int naps_too, int threads, int forks)
{
	struct sock_filter code[64] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
	};
	const struct sock_filter nap[] = {ALLOW(SYS_nanosleep)},
				 thread[] = {ALLOW(SYS_clone3), ALLOW(SYS_mmap),
					 ALLOW(SYS_mprotect), ALLOW(SYS_munmap), ALLOW(SYS_futex),
					 ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_set_robust_list),
					 ALLOW(SYS_rseq), ALLOW(SYS_madvise), ALLOW(SYS_brk),
					 ALLOW(SYS_getrandom), ALLOW(SYS_rt_sigaction)},
				 child[] = {ALLOW(SYS_clone), ALLOW(SYS_wait4),
					 ALLOW(SYS_set_robust_list), ALLOW(SYS_rt_sigprocmask)},
				 end = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	unsigned short n = 9;
	struct sock_fprog filter = {0, code};

	if (!strcmp(mode, "none"))
		return 0;
	if (!strcmp(mode, "strict"))
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
#define ADD(more, if_so)                                                                           \
	if (if_so) {                                                                               \
		memcpy(code + n, more, sizeof(more));                                              \
		n = (unsigned short)(n + sizeof(more) / sizeof(*code));                            \
	}
	ADD(nap, naps_too)
	ADD(thread, threads)
	ADD(child, forks)
	code[n++] = end;
	filter.len = n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		syscall(SYS_exit, 3);
}

int main(int argc, char **argv)
{
	int wait = 0, forbidden = 0, forks = 0, threads = 0, i;
	pthread_t t[THREADS];
	char line[64], byte;

	for (i = 3; i < argc; i++) {
		wait |= !strcmp(argv[i], "wait");
		forbidden |= !strcmp(argv[i], "forbidden");
		forks |= !strcmp(argv[i], "fork");
		naps |= !strcmp(argv[i], "naps");
		threads |= !strcmp(argv[i], "threads");
	}
	calls = atol(argv[2]);
	if (confine(argv[1], naps, threads, forks)) {
		perror("seccomp");
		return 77;
	}
	say("ready\n");
	if (wait && read(0, &byte, 1) != 1)
		syscall(SYS_exit, 4);
	for (i = 0; threads && i < THREADS; i++)
		pthread_create(&t[i], NULL, run, &items[i]);
	if (forks) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			run(&items[THREADS]);
			syscall(SYS_exit, 5);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 5)
			say("the child was killed\n");
	}
	snprintf(line, sizeof(line), "sum %ld\n", (long)run(&items[THREADS]));
	for (i = 0; threads && i < THREADS; i++)
		pthread_join(t[i], NULL);
	say(line);
	if (forbidden)
		syscall(SYS_getppid);
	syscall(SYS_exit, 9);
}
