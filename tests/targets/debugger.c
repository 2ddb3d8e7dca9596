/* SPDX-License-Identifier: MIT */
/*
 * Traces twenty vfork children and twenty fork children from the call by which
 * they ask for it; each calls work() behind that and becomes another program.
 * Seizes twenty more as soon as they are born.
 * Prints how many were traced to a good end, and its own calls of work().
 * With an argument it traces vfork children, one after the other, in two
 * threads, until there is a line of input, and prints how many were not traced.
 * Status 5.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EACH = 20 };

__attribute__((noinline, noclone)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 3 + 1;
}

__attribute__((noreturn)) static void be_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	if (work(2) == 7)
		execl("/bin/true", "true", (char *)NULL);
	_exit(2);
}

/* It stops as it becomes another program, and ends. */
static int is_traced(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return 0;
	return !ptrace(PTRACE_CONT, child, NULL, NULL) && waitpid(child, &status, 0) == child &&
	       WIFEXITED(status) && !WEXITSTATUS(status);
}

static int is_seized(void)
{
	pid_t child = fork();
	int status, seized;

	while (!child)
		pause();
	seized = !ptrace(PTRACE_SEIZE, child, NULL, NULL);
	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && seized;
}

static void *until_told(void *refused)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	pid_t child;

	while (!poll(&input, 1, 0)) {
		child = vfork();
		if (!child)
			be_traced();
		*(int *)refused += !is_traced(child);
	}
	return NULL;
}

static void trace_on(void)
{
	int refused[2] = {0, 0};
	pthread_t other;

	puts("ready");
	fflush(stdout);
	pthread_create(&other, NULL, until_told, &refused[0]);
	until_told(&refused[1]);
	pthread_join(other, NULL);
	printf("refused %d\n", refused[0] + refused[1]);
}

int main(int argc, char **argv)
{
	int i, traced = 0, seized = 0, calls = 0;
	pid_t child;

	(void)argv;
	if (argc > 1) {
		trace_on();
		return 5;
	}
	for (i = 0; i < EACH; i++) {
		child = vfork();
		if (!child)
			be_traced();
		calls += work(i) == i * 3 + 1;
		traced += is_traced(child);
		child = fork();
		if (!child)
			be_traced();
		calls += work(i) == i * 3 + 1;
		traced += is_traced(child);
		seized += is_seized();
	}
	printf("traced %d seized %d calls %d\n", traced, seized, calls);
	return 5;
}
