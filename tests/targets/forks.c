/* SPDX-License-Identifier: MIT */
/*
 * Forks until SIGTERM, with a little rest each time, in which it can be
 * stopped (with an argument: without); each child calls work() and ends with
 * status 9. Then prints how many there were, and how many ended otherwise;
 * status 7. Argument `handles`: it has a handler for SIGCHLD. A number: that
 * many, as soon as it is told a line. At SIGUSR1 it unmaps the vDSO.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t over, wants_none;

__attribute__((noinline, noclone)) long work(long n)
{
	return n * 3 + 1;
}

static void end(int sig)
{
	over = sig;
}

static void no_vdso(int sig)
{
	wants_none = sig;
}

static void unmap_vdso(void)
{
	unsigned long lo, hi;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &lo, &hi) == 2)
			munmap((void *)lo, hi - lo);
	}
	if (f)
		fclose(f);
	wants_none = 0;
}

static void see(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = end, .sa_flags = SA_RESTART};
	long n = 0, bad = 0, most = argc > 1 ? atol(argv[1]) : 0;
	int status;

	sigaction(SIGTERM, &sa, NULL);
	sa.sa_handler = no_vdso;
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_handler = see;
	if (argc > 1 && !strcmp(argv[1], "handles"))
		sigaction(SIGCHLD, &sa, NULL);
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (most)
		getchar();
	for (; !over && !(most && n == most); n++) {
		pid_t child = fork();

		if (!child)
			_exit(work(n) == n * 3 + 1 ? 9 : 1);
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
			WEXITSTATUS(status) != 9)
			bad++;
		if (argc == 1)
			usleep(200);
		if (wants_none)
			unmap_vdso();
	}
	printf("forks %ld bad %ld\n", n, bad);
	return 7;
}
