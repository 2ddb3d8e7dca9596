/* SPDX-License-Identifier: MIT */
/*
 * Says ready, waits for a line, then N times: loads LIBRARY, calls its plugin() CALLS times, unloads it. With another
 * library as fourth argument that one is loaded in between, and stays, so that LIBRARY comes to lie elsewhere.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long calls(void *lib, int n)
{
	int (*fn)(int) = (int (*)(int))dlsym(lib, "plugin");
	int i;

	for (i = 0; fn && i < n; i++)
		fn(i);
	return i;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[2]) : 0, i;
	void *lib = argc > 5 ? dlopen(argv[1], RTLD_NOW) : NULL; /* it is there from the start */
	long n = 0;
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (i = 0; i < rounds; i++) {
		if (!lib)
			lib = dlopen(argv[1], RTLD_NOW);
		if (!lib)
			return 2;
		n += calls(lib, atoi(argv[3]));
		if (dlclose(lib) || dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD))
			return 3; /* it did not go */
		lib = NULL;
		if (i == rounds / 2 && argc > 4 && !dlopen(argv[4], RTLD_NOW))
			return 4;
	}
	printf("called %ld\n", n);
	return 7;
}
