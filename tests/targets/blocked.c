/* SPDX-License-Identifier: MIT */
/*
 * Threads that sleep in every kind of call and abort when one ends with EINTR
 * or before its time. Ends when its standard input does; prints how many timed
 * calls ran to their end, and the latest return.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static int epfd, semid, pipefd[2], listener, word;
static unsigned long done;
static long latest_us;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 5 + 1;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void bad(const char *what, double took, int err)
{
	fprintf(stderr, "%s ended after %.3f ms: %s\n", what, took, strerror(err));
	abort();
}

static struct timespec span(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	return ts;
}

/* Each returns what the call returned; must last `ms`. */
static long in_epoll(int ms)
{
	struct epoll_event e;
	return epoll_wait(epfd, &e, 1, ms);
}
static long in_epoll_pwait(int ms)
{
	struct epoll_event e;
	sigset_t s;
	sigemptyset(&s);
	return epoll_pwait(epfd, &e, 1, ms, &s);
}
static long in_poll(int ms)
{
	struct pollfd p = {pipefd[0], POLLIN, 0};
	return poll(&p, 1, ms);
}
static long in_select(int ms)
{
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	return select(0, NULL, NULL, NULL, &tv);
}
static long in_ppoll(int ms)
{
	struct pollfd p = {pipefd[0], POLLIN, 0};
	struct timespec ts = span(ms);
	return ppoll(&p, 1, &ts, NULL);
}
static long in_nanosleep(int ms)
{
	struct timespec ts = span(ms);
	return nanosleep(&ts, NULL);
}
static long in_futex(int ms)
{
	struct timespec ts = span(ms);
	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &ts, NULL, 0);
}
static long in_semtimedop(int ms)
{
	struct sembuf b = {0, -1, 0};
	struct timespec ts = span(ms);
	return semtimedop(semid, &b, 1, &ts);
}
static long in_sigtimedwait(int ms)
{
	struct timespec ts = span(ms);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	return sigtimedwait(&s, NULL, &ts);
}
static long in_accept(int ms)
{
	(void)ms;
	return accept(listener, NULL, NULL);
}
static long in_read(int ms)
{
	char c;
	(void)ms;
	return read(pipefd[0], &c, 1);
}
static long in_semop(int ms)
{
	struct sembuf b = {0, -1, 0};
	(void)ms;
	return semop(semid, &b, 1);
}
static long in_epoll_ever(int ms)
{
	struct epoll_event e;
	(void)ms;
	return epoll_wait(epfd, &e, 1, -1);
}
static long in_sigwait(int ms)
{
	sigset_t s;
	(void)ms;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	return sigtimedwait(&s, NULL, NULL);
}
static long in_pause(int ms)
{
	(void)ms;
	return pause();
}

static const struct call {
	const char *name;
	long (*fn)(int ms);
	int timed;
} calls[] = {
	{"epoll_wait", in_epoll, 1},
	{"epoll_pwait", in_epoll_pwait, 1},
	{"poll", in_poll, 1},
	{"select", in_select, 1},
	{"ppoll", in_ppoll, 1},
	{"nanosleep", in_nanosleep, 1},
	{"futex", in_futex, 1},
	{"semtimedop", in_semtimedop, 1},
	{"sigtimedwait", in_sigtimedwait, 1},
	{"accept", in_accept, 0},
	{"read", in_read, 0},
	{"semop", in_semop, 0},
	{"epoll_wait -1", in_epoll_ever, 0},
	{"sigwait", in_sigwait, 0},
	{"pause", in_pause, 0},
};

static void *run(void *arg)
{
	const struct call *c = arg;
	int ms = 120;

	for (;;) {
		double start = now(), took;
		long ret;

		errno = 0;
		ret = c->fn(ms);
		took = now() - start;
		if (over)
			pause();
		if (errno == EINTR || !c->timed || ret > 0)
			bad(c->name, took, errno);
		if (took < ms - 0.2)
			bad(c->name, took, 0);
		__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
		if ((long)((took - ms) * 1000) > __atomic_load_n(&latest_us, __ATOMIC_RELAXED))
			__atomic_store_n(&latest_us, (long)((took - ms) * 1000), __ATOMIC_RELAXED);
		work(ms);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	sigset_t s;
	pthread_t t;
	size_t i;
	char c;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigprocmask(SIG_BLOCK, &s, NULL);
	epfd = epoll_create1(0);
	semid = semget(IPC_PRIVATE, 1, 0600);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "trapless-blocked-%d", getpid());
	if (pipe(pipefd) || semid < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) ||
		listen(listener, 1))
		return 2;
	for (i = 0; argc > 1 && i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(argv[1], calls[i].name))
			continue;
		printf("ready %d\n", getpid());
		fflush(stdout);
		run((void *)&calls[i]);
	}
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (pthread_create(&t, NULL, run, (void *)&calls[i]))
			return 2;
	}
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		work(1);
	if (errno == EINTR)
		return 3;
	printf("timed %lu latest %ld us\n", done, latest_us);
	fflush(stdout);
	over = 1;
	semctl(semid, 0, IPC_RMID); /* ends the sleeps in it */
	_exit(0);
}
