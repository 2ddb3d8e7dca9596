/* SPDX-License-Identifier: MIT */
/*
 * A profiler by signals: one thread interrupts the other, which does nothing
 * but call short functions. Its handlers look at the stack that they interrupt,
 * at what is blocked there, and at what they are told of the sender.
 *	profiled ROUNDS [own]   own: handlers have a stack of their own
 * Rounds at most: each step of a tracer's waits for a processor, so a busy
 * machine makes fewer.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { BURST = 8, FRAMES = 64, TRAP_FLAG = 0x100, ENOUGH_US = 15000000 };

static volatile bool stop;
static volatile unsigned samples, to_main, queued, in_order, wrong, stepped;
static volatile int next_value[2];
static void *volatile caller; /* of loop(), in main() */
static char *own_stack;
static pid_t worker;
static volatile unsigned long calls;

__attribute__((noinline)) long work(long a)
{
	return a * 3 + 1;
}

/* Short enough that one jump covers all of it. */
unsigned long flags_now(void);
__asm__(".text\n.globl flags_now\n.type flags_now, @function\n"
	"flags_now:\n"
	"	.cfi_startproc\n"
	"	pushf\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pop %rax\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	nop\n	nop\n	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size flags_now, . - flags_now\n");

/* Its detour saves the flags by pushf, and brings them back by popf. */
void backwards(void);
__asm__(".text\n.globl backwards\n.type backwards, @function\n"
	"backwards:\n"
	"	.cfi_startproc\n"
	"	nop\n	nop\n	nop\n	nop\n	nop\n"
	"	std\n"
	"	cld\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size backwards, . - backwards\n");

/* Only one signal is blocked, whatever meets the thread; and the handler's stack is the one that was asked for. */
static bool as_ever(const siginfo_t *info, const ucontext_t *uc)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)own_stack;
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	return !memcmp(&mask, &uc->uc_sigmask, 8) && info->si_pid == getpid() &&
	       syscall(SYS_gettid) == worker &&
	       (here - at < (uintptr_t)SIGSTKSZ) == (own_stack != NULL) &&
	       !(uc->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG);
}

static void on_sample(int sig, siginfo_t *info, void *context)
{
	void *frames[FRAMES];
	int n = backtrace(frames, FRAMES);

	wrong += !as_ever(info, context) || sig != SIGPROF || info->si_code != SI_TKILL;
	while (n && frames[n - 1] != caller)
		n--;
	to_main += n > 0;
	samples++;
}

static void on_queued(int sig, siginfo_t *info, void *context)
{
	int which = sig - SIGRTMIN;

	wrong += !as_ever(info, context) || info->si_code != SI_QUEUE;
	in_order += info->si_value.sival_int == next_value[which]++;
	queued++;
}

static void never(int sig)
{
	(void)sig;
	wrong++;
}

static void await(volatile unsigned *n, unsigned until)
{
	while (*n != until)
		usleep(20);
}

static void burst(pthread_t to, unsigned round)
{
	union sigval v;
	int i;

	for (i = 0; i < BURST; i++) {
		v.sival_int = (int)(round * BURST) + i;
		pthread_sigqueue(to, SIGRTMIN, v);
		pthread_sigqueue(to, SIGRTMIN + 1, v);
	}
	await(&queued, (round + 1) * BURST * 2);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static unsigned rounds;
static pthread_t first;

/* As seldom as a tracer asks for that leads each of them out of its code: see docs/patch-protocol.md. */
static void *send(void *unused)
{
	uint64_t begun, since;
	unsigned i;

	while (!calls)
		;
	begun = now_us();
	for (i = 0; i < rounds && (!i || now_us() - begun < ENOUGH_US); i++) {
		since = now_us();
		pthread_kill(first, SIGUSR2); /* waits for ever */
		pthread_kill(first, SIGPROF);
		await(&samples, i + 1);
		burst(first, i);
		usleep((useconds_t)(4 * (now_us() - since)));
	}
	stop = true;
	return unused;
}

static __attribute__((noinline)) long loop(void)
{
	long n = 0;

	caller = __builtin_return_address(0);
	for (calls = 0; !stop; calls++) {
		n += work(n);
		backwards();
		stepped += (flags_now() & TRAP_FLAG) != 0;
	}
	return n;
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *))
{
	struct sigaction sa = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigemptyset(&sa.sa_mask); /* one by one */
	sigaddset(&sa.sa_mask, SIGPROF);
	sigaddset(&sa.sa_mask, SIGRTMIN);
	sigaddset(&sa.sa_mask, SIGRTMIN + 1);
	sa.sa_flags |= own_stack ? SA_ONSTACK : 0;
	sigaction(sig, &sa, NULL);
}

int main(int argc, char **argv)
{
	void *frames[FRAMES];
	stack_t ss = {.ss_size = SIGSTKSZ};
	pthread_t sender;
	sigset_t set;
	long n;

	if (argc > 2) {
		ss.ss_sp = own_stack = malloc(SIGSTKSZ);
		if (!own_stack || sigaltstack(&ss, NULL))
			return 1;
	}
	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	first = pthread_self();
	worker = (pid_t)syscall(SYS_gettid);
	backtrace(frames, FRAMES); /* loads what it needs */
	handle(SIGPROF, on_sample);
	handle(SIGRTMIN, on_queued);
	handle(SIGRTMIN + 1, on_queued);
	signal(SIGUSR2, never);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&sender, NULL, send, NULL))
		return 1;
	n = loop();
	pthread_join(sender, NULL);
	printf("samples %u to main %u queued %u in order %u wrong %u stepped %u\n", samples,
		to_main, queued, in_order, wrong, stepped);
	fprintf(stderr, "calls %lu\n", calls);
	return n == 1 ? 1 : 7;
}
