/* SPDX-License-Identifier: MIT */
/* Loads LIBRARY, maps the first page of its file right below it, says ready, waits for a line, calls its plugin() N times. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	void *lib = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*fn)(int) = lib ? (int (*)(int))dlsym(lib, "plugin") : NULL;
	char line[16], *below;
	Dl_info info;
	int i;

	if (!fn || !dladdr((void *)fn, &info))
		return 1;
	below = (char *)info.dli_fbase - 4096;
	if (mmap(below, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, open(argv[1], O_RDONLY),
		    0) != below)
		return 2;
	printf("ready\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 3;
	for (i = 0; i < atoi(argv[2]); i++)
		fn(i);
	return 7;
}
