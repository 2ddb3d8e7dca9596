/* SPDX-License-Identifier: MIT */
/* Does a signal handler run in this thread? Built by both compilers. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <trapless/error.h>

#include "../../lib/outside.h"
#include "../../lib/readers.h"
#include "../unit.h"

static struct tl_lock lock; /* nobody has it */
static int asked, found, refusal;

static __attribute__((noinline)) void ask(int depth)
{
	volatile char room[64] = {0};

	if (depth) {
		ask(depth - 1);
		room[0]++;
		return;
	}
	asked++;
	found += tl_in_signal_handler();
	refusal = tl_outside(&lock);
}

static void on_signal(int sig)
{
	ask(sig == SIGUSR2 ? 200 : 0);
}

static void on_outer(int sig)
{
	(void)sig;
	raise(SIGUSR1);
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	sigaction(sig, &sa, NULL);
	asked = found = refusal = 0;
}

static void not_in_one(void)
{
	asked = found = refusal = 0;
	ask(0);
	ask(100);
	CHECK(asked == 2 && !found && !refusal);
}

static void on_the_usual_stack(void)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_signal, 0);
	raise(SIGUSR1);
	raise(SIGUSR2);
	CHECK(asked == 2 && found == 2 && refusal == -TL_E_IN_SIGNAL);
	not_in_one();
}

static void on_an_alternate_stack(void)
{
	static char memory[256 * 1024];
	const stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
	const stack_t none = {.ss_flags = SS_DISABLE};

	sigaltstack(&stack, NULL);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(asked == 1 && found == 1 && refusal == -TL_E_IN_SIGNAL);
	not_in_one();
	sigaltstack(&none, NULL);
}

static void nested(void)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGALRM, on_outer, 0);
	raise(SIGALRM);
	CHECK(asked == 1 && found == 1);
	not_in_one();
}

static char *page;

static void on_fault(int sig)
{
	on_signal(sig);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* The first instruction of a function may be what faults: its frame does not stand yet. */
static __attribute__((noinline)) void touch(char *p)
{
	*(volatile char *)p = 1;
}

static void where_an_instruction_faults(void)
{
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	handle(SIGSEGV, on_fault, 0);
	touch(page);
	signal(SIGSEGV, SIG_DFL);
	CHECK(asked == 1 && found == 1);
}

static void *in_thread(void *arg)
{
	not_in_one();
	handle(SIGUSR1, on_signal, 0);
	pthread_kill(pthread_self(), SIGUSR1);
	return arg;
}

static void in_a_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	CHECK(asked == 1 && found == 1);
}

static void who_is_inside_is_in_a_callback(void)
{
	uint32_t *in = tl_readers_enter();
	int ret = tl_outside(&lock);

	tl_readers_leave(in);
	CHECK(ret == -TL_E_IN_CALLBACK && !tl_outside(&lock));
}

int main(void)
{
	RUN(not_in_one);
	RUN(on_the_usual_stack);
	RUN(on_an_alternate_stack);
	RUN(nested);
	RUN(where_an_instruction_faults);
	RUN(in_a_thread);
	RUN(who_is_inside_is_in_a_callback);
	return UNIT_RESULT();
}
