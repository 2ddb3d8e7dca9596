/* SPDX-License-Identifier: MIT */
/*
 * Text with a hole in it, and a part of the file mapped again far away, as JavaScript engines do.
 * To be linked with -no-pie -Wl,--section-start=.far=0x2000000.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline, section(".far"))) int far_away(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 100000;
}

__attribute__((noinline)) int near_by(int x)
{
	__asm__ volatile("" ::: "memory");
	return far_away(x) * 2;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000, sum = 0, fd = open("/proc/self/exe", O_RDONLY);
	char go;

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) == MAP_FAILED)
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (read(0, &go, 1) != 1)
		return 1;
	for (int i = 0; i < n; i++)
		sum += near_by(i);
	printf("sum %d\n", sum);
	return 0;
}
