/* SPDX-License-Identifier: MIT */
/* What a program can see of how it was started: LD_PRELOAD, variables, descriptors, the auxiliary vector behind them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n - 3; /* two dots and our own */
}

int main(int argc, char **argv, char **vars)
{
	const char *preload = getenv("LD_PRELOAD");
	unsigned long *aux;
	int n = 0, ours = 0, entry = 0;

	(void)argc, (void)argv;
	for (; *vars; vars++) {
		n++;
		ours += !strncmp(*vars, "TRAPLESS_PRELOAD", 16);
	}
	for (aux = (unsigned long *)(vars + 1); aux[0] != AT_NULL; aux += 2)
		entry += aux[0] == AT_ENTRY && aux[1] == getauxval(AT_ENTRY);
	printf("preload %s, %d variables, %d ours, %d descriptors, entry %d\n",
		preload ? preload : "none", n, ours, descriptors(), entry);
	fflush(stdout);
	return system("env | grep -c -e TRAPLESS_PRELOAD -e /proc/self/fd/") == -1;
}
