// SPDX-License-Identifier: MIT
// To be linked with plugged.c: says ready, waits for a line where there is an argument, calls plugged() 100 times, says who listens.
#include <stdio.h>

long plugged(long a);
long listeners(void);

int main(int argc, char **argv)
{
	(void)argv;
	printf("ready\n");
	fflush(stdout);
	if (argc > 1)
		getchar();
	for (long i = 1; i <= 100; i++)
		plugged(i);
	printf("listeners %ld\n", listeners());
	return 7;
}
