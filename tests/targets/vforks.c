/* SPDX-License-Identifier: MIT */
/*
 * One thread works for ever; another one, once standard input gives it a byte, waits in vfork() for a child, which says so,
 * and calls work() and ends as soon as it gets a byte, too. How the child ended is said, and the program ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

__attribute__((noinline)) long work(long a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

static void *works(void *wrong)
{
	long i;

	for (i = 0; !over; i++)
		*(long *)wrong += work(i) != i * 3 + 1;
	return wrong;
}

int main(void)
{
	long wrong = 0;
	pthread_t thread;
	int status = 0;
	pid_t pid;
	char byte;

	if (pthread_create(&thread, NULL, works, &wrong))
		return 1;
	if (write(1, "ready\n", 6) != 6 || read(0, &byte, 1) != 1)
		return 1;
	pid = vfork();
	if (!pid) {
		if (write(1, "child\n", 6) != 6 || read(0, &byte, 1) != 1)
			_exit(2);
		_exit(work(2) == 7 ? 9 : 3);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 2;
	over = 1;
	pthread_join(thread, NULL);
	printf("child %d wrong %ld\n", WEXITSTATUS(status), wrong);
	return 7;
}
