/* SPDX-License-Identifier: MIT */
/*
 * Threads add to counters of their processors by a restartable sequence, whose abort handler lies in a section of its
 * own. Exits with 7 where no addition got lost. Argument: additions a thread.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>

enum { THREADS = 4, PROCESSORS = 4096 };

static uint64_t counters[PROCESSORS][8];
static long rounds;

/* 0: it has to be tried again. */
__attribute__((noinline)) int add_one(void)
{
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint32_t cpu = area->cpu_id_start;

	__asm__ goto(".pushsection __rseq_cs, \"aw\"\n"
		     "	.balign 32\n"
		     "3:	.long 0, 0\n"
		     "	.quad 1f, 2f - 1f, 4f\n"
		     ".popsection\n"
		     ".pushsection __rseq_failure, \"ax\"\n"
		     "	.byte 0x0f, 0xb9, 0x3d\n"
		     "	.long 0x53053053\n"
		     "4:	jmp %l[again]\n"
		     ".popsection\n"
		     "	lea 3b(%%rip), %%rax\n"
		     "	mov %%rax, 8(%[area])\n"
		     "1:	cmp %[cpu], 4(%[area])\n"
		     "	jne 4b\n"
		     "	mov (%[counter]), %%rax\n"
		     ".globl inside_sequence\n"
		     "inside_sequence:\n"
		     "	add $1, %%rax\n"
		     "	mov %%rax, (%[counter])\n"
		     "2:\n"
		     :
		     : [area] "r"(area), [cpu] "r"(cpu), [counter] "r"(counters[cpu % PROCESSORS])
		     : "rax", "memory", "cc"
		     : again);
	return 1;
again:
	return 0;
}

static void *adds(void *arg)
{
	for (long i = 0; i < rounds; i++)
		while (!add_one())
			;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	uint64_t sum = 0;
	int i;

	rounds = argc > 1 ? atol(argv[1]) : 1000;
	if (!__rseq_size)
		return 8;
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, adds, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < PROCESSORS; i++)
		sum += counters[i][0];
	printf("sum %lu\n", (unsigned long)sum);
	return sum == (uint64_t)rounds * THREADS ? 7 : 1;
}
