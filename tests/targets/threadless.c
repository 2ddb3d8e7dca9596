/* SPDX-License-Identifier: MIT */
/*
 * May make no threads: by a limit ("soft", or "hard", which nobody but root may raise), or since it has left its pid
 * namespace ("leaves", or "later": after the first line of input). For each line of input it calls work() a hundred
 * times, and says what they gave. Ends with 7.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum { CALLS = 100 };

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

static int limit(int hard)
{
	struct rlimit r;

	getrlimit(RLIMIT_NPROC, &r);
	r.rlim_cur = 0;
	r.rlim_max = hard ? 0 : r.rlim_max;
	return setrlimit(RLIMIT_NPROC, &r);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int leaves = !strcmp(how, "leaves"), later = !strcmp(how, "later");
	struct rlimit r;
	long sum = 0;

	if (leaves ? unshare(CLONE_NEWPID) : !later && limit(!strcmp(how, "hard")))
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() == '\n') {
		if (later && !sum && unshare(CLONE_NEWPID))
			return 1;
		for (int i = 0; i < CALLS; i++)
			sum += work(i);
		getrlimit(RLIMIT_NPROC, &r);
		printf("sum %ld%s\n", sum, r.rlim_cur && !leaves && !later ? ", raised" : "");
		fflush(stdout);
	}
	return 7;
}
