/* SPDX-License-Identifier: MIT */
/*
 * A thread named `sleeper` reads from a pipe, by a system call instruction that
 * can be probed (`inside`), in a function that is called by another one
 * (`calling`). Each line of standard input wakes it once; the
 * answer is how often it has woken. What `step` has left on the stack lies
 * above the sleeper's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

long nap(long fd, void *buf, long n), lie_down(long fd, void *buf, long n);
__asm__(".text\n"
	".p2align 4\n"
	".globl nap\n"
	".type nap, @function\n"
	"nap:	.cfi_startproc\n"
	"	mov $0, %eax\n" /* read */
	".globl inside\n"
	"inside: syscall\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size nap, . - nap\n"
	".p2align 4\n"
	".globl lie_down\n"
	".type lie_down, @function\n"
	"lie_down: .cfi_startproc\n"
	"	sub $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	lea nap(%rip), %rax\n"
	".globl calling\n"
	"calling: call *%rax\n"
	"	add $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size lie_down, . - lie_down\n"
	".p2align 4\n");

static int wake[2];
static sem_t woken;

__attribute__((noinline)) void step(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) long rest(char *c)
{
	char unused[8192];
	long n;

	__asm__ volatile("" : : "r"(unused) : "memory");
	n = lie_down(wake[0], c, 1);
	__asm__ volatile("" : : "r"(unused) : "memory");
	return n;
}

static void *run(void *arg)
{
	char c;

	while (step(), rest(&c) == 1)
		sem_post(&woken);
	sem_post(&woken);
	return arg;
}

int main(void)
{
	pthread_t t;
	int n = 0;

	if (pipe(wake) || sem_init(&woken, 0, 0) || pthread_create(&t, NULL, run, NULL))
		return 1;
	pthread_setname_np(t, "sleeper");
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (getchar() != EOF) {
		if (write(wake[1], "w", 1) != 1)
			return 1;
		sem_wait(&woken);
		printf("woken %d\n", ++n);
		fflush(stdout);
	}
	close(wake[1]);
	pthread_join(t, NULL);
	return 7;
}
