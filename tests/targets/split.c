// SPDX-License-Identifier: MIT
// For -fsplit-stack: a function whose stack is short calls __morestack, which enters it again behind the return that
// follows that call, on another piece of stack. Prints what it counted; the status is 14.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALL = 64 << 10 };
static long calls;

// Goes down and up again over the ends of pieces.
__attribute__((noinline)) long deep(long n)
{
	volatile char room[3000];

	calls++;
	room[n % 3000] = 0;
	return (n ? deep(n - 1) + 1 : 0) + room[n % 3000];
}

// Its body begins with what a compiler may put there to align it.
__attribute__((noinline)) long padded(long n)
{
	__asm__ volatile("nopw 0(%%rax,%%rax)" ::: "memory");
	return deep(n);
}

static void *thread(void *rounds)
{
	long sum = 0;

	for (long i = 0; i < (long)rounds; i++)
		sum += padded(i % 60);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100, sum = 0;
	pthread_attr_t attr;
	pthread_t t;
	void *result;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, SMALL);
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&t, &attr, thread, (void *)rounds) || pthread_join(t, &result))
			return 1;
		sum += (long)result;
	}
	printf("calls %ld sum %ld\n", calls, sum);
	return 14;
}
