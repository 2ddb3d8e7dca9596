/* SPDX-License-Identifier: MIT */
/* Says ready, waits for a line, then loads LIBRARY and calls its plugin() N times. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	char line[16];
	int (*fn)(int);
	void *lib;
	int i, n = argc > 2 ? atoi(argv[2]) : 0;

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	lib = dlopen(argv[1], RTLD_NOW);
	fn = lib ? (int (*)(int))dlsym(lib, "plugin") : NULL;
	for (i = 0; fn && i < n; i++)
		fn(i);
	printf("called %d\n", i);
	return fn ? 7 : 2;
}
