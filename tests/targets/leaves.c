/* SPDX-License-Identifier: MIT */
/* Leaves by _exit(), as its vfork child has done before, and so without exit handlers. */
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int a)
{
	__asm__ volatile("" ::: "memory");
	return a * 3 + 1;
}

int main(void)
{
	pid_t pid;

	work(1);
	pid = vfork();
	if (!pid)
		_exit(3);
	waitpid(pid, NULL, 0);
	_exit(work(2));
}
