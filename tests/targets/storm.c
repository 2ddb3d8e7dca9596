/* SPDX-License-Identifier: MIT */
/*
 * Threads that make system calls, threads, and children in every way, while a signal's handler makes calls, too:
 * storm ROUNDS [MICROSECONDS between signals]. Without rounds (0) until a line comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static long rounds;
static volatile int over;

static void on_alarm(int sig)
{
	int before = errno;

	getpid();
	syscall(SYS_getppid);
	errno = before + 0 * sig;
}

static void must(int good)
{
	if (!good)
		abort();
}

static void ends_with(pid_t pid, int code)
{
	int status;

	must(pid > 0);
	while (waitpid(pid, &status, 0) < 0)
		must(errno == EINTR);
	must(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static void spawns(void)
{
	char *args[] = {"true", NULL};
	pid_t pid;

	must(posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) == 0);
	ends_with(pid, 0);
}

static void vforks(void)
{
	pid_t pid = vfork();

	if (!pid) {
		getppid();
		_exit(7);
	}
	ends_with(pid, 7);
}

static void forks(void)
{
	pid_t pid = fork();

	if (!pid) {
		getppid();
		_exit(9);
	}
	ends_with(pid, 9);
}

static void *nothing(void *arg)
{
	return arg;
}

static void threads(void)
{
	pthread_t t;

	must(pthread_create(&t, NULL, nothing, NULL) == 0);
	pthread_join(t, NULL);
}

static void calls(void)
{
	int fd[2];
	char c;

	must(pipe(fd) == 0);
	for (int i = 0; i < 20; i++) {
		must(write(fd[1], "x", 1) == 1 && read(fd[0], &c, 1) == 1);
		getppid();
	}
	close(fd[0]);
	close(fd[1]);
}

static void *run(void *arg)
{
	void (*what)(void) = (void (*)(void))arg;

	for (long i = 0; rounds ? i < rounds : !over; i++)
		what();
	return NULL;
}

int main(int argc, char **argv)
{
	void (*const all[])(void) = {spawns, vforks, forks, threads, calls};
	enum { N = sizeof(all) / sizeof(all[0]) };
	const long us = argc > 2 ? atol(argv[2]) : 0;
	const struct sigaction alarms = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	const struct itimerval timer = {{0, us}, {0, us}}, none = {{0, 0}, {0, 0}};
	pthread_t t[N];

	rounds = atol(argv[1]);
	sigaction(SIGALRM, &alarms, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < N; i++)
		must(pthread_create(&t[i], NULL, run, (void *)all[i]) == 0);
	if (!rounds) {
		puts("ready");
		fflush(stdout);
		while (getchar() == EOF && errno == EINTR)
			clearerr(stdin);
		over = 1;
	}
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	return 5;
}
