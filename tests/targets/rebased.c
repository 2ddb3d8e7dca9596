/* SPDX-License-Identifier: MIT */
/*
 * Leads its thread pointer elsewhere for a while, as emulators and libraries that run foreign code do: to nothing
 * (0, and what may not be read), to zeros, and to what is no thread block. Signals are blocked for half of that; they have
 * to stay so, and SIGSEGV's handler what it is. Several threads do that at once.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 3, SYS_ARCH_PRCTL = 158, SET_FS = 0x1002, GET_FS = 0x1003 };

static int rounds;

static struct pages {
	uintptr_t none[512], zeros[512], others[512];
} pages[THREADS] __attribute__((aligned(4096)));

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

/* By no function: those of the C library may need the pointer. */
static inline __attribute__((always_inline)) void arch_prctl_by_hand(long what, uintptr_t arg)
{
	long ret = SYS_ARCH_PRCTL;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(what), "S"(arg) : "rcx", "r11", "memory");
}

static long elsewhere(uintptr_t place)
{
	uintptr_t own;
	long sum = 0;

	arch_prctl_by_hand(GET_FS, (uintptr_t)&own);
	for (int i = 0; i < rounds; i++) {
		arch_prctl_by_hand(SET_FS, place);
		sum += work(i);
		arch_prctl_by_hand(SET_FS, own);
		sum -= work(i);
	}
	return sum;
}

static void *run(void *arg)
{
	struct pages *mine = arg;
	const uintptr_t places[] = {
		0, (uintptr_t)mine->none, (uintptr_t)mine->zeros, (uintptr_t)mine->others};
	sigset_t set, now;

	mine->others[0] = 0x1234;
	mprotect(mine->none, sizeof(mine->none), PROT_NONE);
	sigfillset(&set);
	for (int blocked = 0; blocked < 2; blocked++) {
		pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
		for (int i = 0; i < 4; i++)
			if (elsewhere(places[i]))
				return arg;
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		if (sigismember(&now, SIGSEGV) != blocked)
			return arg;
	}
	return NULL;
}

static void handler(int sig)
{
	_Exit(sig);
}

int main(int argc, char **argv)
{
	struct sigaction before = {.sa_handler = handler}, after;
	pthread_t t[THREADS];
	void *wrong = NULL, *ret;

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	sigaction(SIGSEGV, &before, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, &pages[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &ret);
		wrong = ret ? ret : wrong;
	}
	sigaction(SIGSEGV, NULL, &after);
	printf("%s\n", wrong || after.sa_handler != handler ? "wrong" : "right");
	return 7;
}
