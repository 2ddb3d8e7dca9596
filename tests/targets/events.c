/* SPDX-License-Identifier: MIT */
/* Makes system calls, children, threads and hooks, each so often as it is told: events CALLS CHILDREN THREADS HOOKS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trapless/hook.h>

TL_HOOK(net, packet_in, (long, len), (const char *, from))
TL_HOOK(net, packet_out, (long, len))
TL_HOOK(disk, seek, (long, at))

__attribute__((noinline)) long made_here(int n)
{
	const long parent = getppid();

	__asm__ volatile("");
	return parent + n;
}

static void *thread(void *arg)
{
	return arg;
}

static void children(int n)
{
	for (int i = 0; i < n; i++) {
		const pid_t pid = fork();

		if (!pid)
			_exit(i);
		waitpid(pid, NULL, 0);
	}
}

static void threads(int n)
{
	pthread_t t;

	for (int i = 0; i < n; i++)
		if (!pthread_create(&t, NULL, thread, NULL))
			pthread_join(t, NULL);
}

static void hooks(int n)
{
	for (int i = 0; i < n; i++) {
		tl_hook(net, packet_in, i, "somebody");
		tl_hook(net, packet_out, 2 * i);
		tl_hook(disk, seek, 3 * i);
	}
}

int main(int argc, char **argv)
{
	int n[4] = {0};
	long sum = 0;

	for (int i = 0; i < 4 && i + 1 < argc; i++)
		n[i] = atoi(argv[i + 1]);
	for (int i = 0; i < n[0]; i++)
		sum += made_here(i);
	children(n[1]);
	threads(n[2]);
	hooks(n[3]);
	return sum == 1;
}
