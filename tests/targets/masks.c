/* SPDX-License-Identifier: MIT */
/*
 * Threads that come to block SIGTRAP, alone, in every way there is, call work()
 * and end that again, over and over; each looks whether its mask is as it set
 * it, and all whether the handler of SIGTRAP is still there. One thread never
 * blocks it. argv: rounds, a handler for SIGTRAP (1) or none (0).
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static int rounds, handled;
static sigset_t trap, none;
static __thread const char *way;
static __thread sigjmp_buf back;
static __thread volatile int in_handler; /* SIGTRAP is to be blocked there */

long work(long a);
__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void fail(const char *what)
{
	printf("%s: %s\n", way, what);
	fflush(stdout);
	_exit(1);
}

static void on_trap(int sig)
{
	(void)sig;
	fail("SIGTRAP came");
}

/* By the kernel's own word; the C library may be told of another one. */
static int blocks(int sig)
{
	uint64_t now = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof(now));
	return now >> (sig - 1) & 1;
}

static void hit(int blocked)
{
	struct sigaction now;

	if (work(4) != 13)
		fail("work");
	if (blocks(SIGTRAP) != blocked)
		fail(blocked ? "SIGTRAP is not blocked any more" : "SIGTRAP is blocked");
	if (blocks(SIGSEGV) || blocks(SIGHUP))
		fail("others are blocked");
	if (!sigaction(SIGTRAP, NULL, &now) && now.sa_handler != (handled ? on_trap : SIG_DFL))
		fail("the handler has changed");
}

static void by_sigmask(void)
{
	hit(0);
	pthread_sigmask(SIG_BLOCK, &trap, NULL);
	hit(1);
	hit(1);
	sigprocmask(SIG_UNBLOCK, &trap, NULL);
	hit(0);
	sigprocmask(SIG_SETMASK, &trap, NULL);
	hit(1);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	hit(0);
}

/* SIGUSR1's mask has SIGTRAP, SIGUSR2's has not. */
static void handler(int sig)
{
	hit(in_handler);
	if (sig == SIGUSR1)
		hit(1);
}

static void raise_both(int mine)
{
	in_handler = 1;
	raise(SIGUSR1);
	in_handler = mine;
	raise(SIGUSR2);
}

static void by_handler(void)
{
	raise_both(0);
	hit(0);
	pthread_sigmask(SIG_BLOCK, &trap, NULL);
	raise_both(1);
	hit(1);
	pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
	hit(0);
}

/* Out of a handler that blocks it, to where it is not blocked. */
static void jumper(int sig)
{
	(void)sig;
	hit(1);
	siglongjmp(back, 1);
}

static void by_jump(void)
{
	if (!sigsetjmp(back, 1))
		raise(SIGALRM);
	hit(0);
}

/* While the call sleeps, and in the handler that ends it, another mask is in force. */
static void asleep(int mine, int there, int (*call)(const sigset_t *mask))
{
	sigset_t usr2, during = none;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	if (mine)
		pthread_sigmask(SIG_BLOCK, &trap, NULL);
	if (there)
		sigaddset(&during, SIGTRAP);
	in_handler = there;
	raise(SIGUSR2);
	if (call(&during) != -1)
		fail("the call was not interrupted");
	hit(mine);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	hit(0);
}

static int in_ppoll(const sigset_t *mask)
{
	return ppoll(NULL, 0, NULL, mask);
}

static int in_pselect(const sigset_t *mask)
{
	return pselect(0, NULL, NULL, NULL, NULL, mask);
}

static int in_epoll(const sigset_t *mask)
{
	struct epoll_event e;
	int fd = epoll_create1(0), ret = epoll_pwait(fd, &e, 1, -1, mask);

	close(fd);
	return ret;
}

static void by_sleep(void)
{
	int (*const calls[])(const sigset_t *) = {sigsuspend, in_ppoll, in_pselect, in_epoll};
	unsigned i;

	for (i = 0; i < 4 * sizeof(calls) / sizeof(*calls); i++)
		asleep(i & 1, i >> 1 & 1, calls[i / 4]);
}

#ifdef __GLIBC__ /* musl has no contexts */
static __thread ucontext_t here, there;

static void routine(void)
{
	for (;;) {
		hit(1);
		swapcontext(&there, &here);
	}
}

static void by_context(void)
{
	static __thread char stack[1 << 16];

	if (!there.uc_stack.ss_sp) {
		getcontext(&there);
		there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = sizeof(stack)};
		there.uc_sigmask = trap;
		makecontext(&there, routine, 0);
	}
	swapcontext(&here, &there);
	hit(0);
}
#endif

static void never(void)
{
	hit(0);
}

static void *born(void *arg)
{
	way = "birth";
	hit(1);
	return arg;
}

static void by_birth(void)
{
	pthread_t t;

	pthread_sigmask(SIG_BLOCK, &trap, NULL);
	if (pthread_create(&t, NULL, born, NULL))
		fail("no thread");
	pthread_join(t, NULL);
	hit(1);
	pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
	hit(0);
}

static const struct {
	const char *name;
	void (*fn)(void);
} ways[] = {
	{"sigmask", by_sigmask},
	{"handler", by_handler},
	{"jump", by_jump},
	{"sleep", by_sleep},
	{"never", never},
	{"birth", by_birth},
#ifdef __GLIBC__
	{"context", by_context},
#endif
};

enum { WAYS = sizeof(ways) / sizeof(*ways) };

static void *run(void *arg)
{
	uintptr_t w = (uintptr_t)arg;
	int i;

	way = ways[w].name;
	for (i = 0; i < rounds; i++)
		ways[w].fn();
	return NULL;
}

static void set(int sig, void (*fn)(int), int flags, int with_trap)
{
	struct sigaction a = {.sa_handler = fn, .sa_flags = flags};

	if (with_trap)
		sigaddset(&a.sa_mask, SIGTRAP);
	sigaction(sig, &a, NULL);
}

int main(int argc, char **argv)
{
	pthread_t t[WAYS];
	uintptr_t i;

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	handled = argc > 2 && atoi(argv[2]);
	sigaddset(&trap, SIGTRAP);
	if (handled)
		set(SIGTRAP, on_trap, 0, 0);
	set(SIGUSR1, handler, 0, 1);
	set(SIGUSR2, handler, 0, 0);
	set(SIGALRM, jumper, 0, 1);
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (getchar() == EOF)
		return 2;
	for (i = 0; i < WAYS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (i = 0; i < WAYS; i++)
		pthread_join(t[i], NULL);
	printf("right\n");
	return 7;
}
