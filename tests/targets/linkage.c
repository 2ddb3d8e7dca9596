// SPDX-License-Identifier: MIT
// Calls functions of the C library, by its linkage table; at every line read once more.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char line[16];
	volatile long sum = 0;
	int i;

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (i = 0; i < 5; i++) {
			char *p = malloc((size_t)i + 10);

			sum = sum + (long)strlen(argv[0]) + strtol(line, NULL, 10) + argc;
			free(p);
			__asm__ volatile("" ::: "memory");
		}
		sum = sum + (strstr(line, "\n") != NULL);
		printf("%ld\n", sum & 0);
		fflush(stdout);
	}
	return 0;
}
