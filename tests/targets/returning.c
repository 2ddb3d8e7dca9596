// SPDX-License-Identifier: MIT
/* Calls that end in every way: by a return, in another function's place, by longjmp, or not at all. */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static jmp_buf back;
static volatile int sink;

NOINLINE int leaf(int n)
{
	sink += n;
	return n + sink;
}

NOINLINE int tail(int n)
{
	sink++;
	return leaf(n + 1);
}

NOINLINE void deep(int n)
{
	if (!n)
		longjmp(back, 1);
	deep(n - 1);
	sink++;
}

NOINLINE int jumps(int n)
{
	if (!setjmp(back))
		deep(n);
	return leaf(n);
}

NOINLINE int again(int n)
{
	int r;

	if (n <= 0)
		return leaf(n);
	r = again(n - 1);
	sink += r;
	return r + 1;
}

NOINLINE void sleeps(void)
{
	usleep(20000);
	sink++;
}

NOINLINE void *other(void *rounds)
{
	for (long i = (long)rounds; i; i--)
		again(2);
	return NULL;
}

NOINLINE void finish(void)
{
	exit(0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t thread;

	for (int i = 0; i < rounds; i++) {
		tail(i);
		jumps(2);
	}
	again(3);
	sleeps();
	if (argc > 2) {
		pthread_create(&thread, NULL, other, (void *)(long)rounds);
		other((void *)(long)rounds);
		pthread_join(thread, NULL);
	}
	finish();
}
