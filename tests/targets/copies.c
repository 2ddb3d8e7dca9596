// SPDX-License-Identifier: MIT
/*
 * Copies of libraries that have plugged(), as lines of input say: `n FILE` maps one in a namespace of its own, `o FILE`
 * in the program's, `x I` closes the I-th; `c` calls each of them ten times, the I-th with I, `f` does so in a child.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static struct copy {
	void *handle;
	long (*plugged)(long a);
} copies[MOST];
static int n;

static void open_one(const char *how, const char *file)
{
	struct copy *c = &copies[++n];

	c->handle = *how == 'n' ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW) : dlopen(file, RTLD_NOW);
	c->plugged = c->handle ? (long (*)(long))dlsym(c->handle, "plugged") : NULL;
	printf("%d %s\n", n, c->plugged ? "mapped" : dlerror());
}

static void call_all(void)
{
	for (int i = 1; i <= n; i++) {
		long sum = 0;

		for (int k = 0; copies[i].plugged && k < 10; k++)
			sum = copies[i].plugged(i);
		printf("%ld%s", sum, i < n ? " " : "\n");
	}
	fflush(stdout);
}

int main(void)
{
	char line[4096];

	printf("ready\n");
	fflush(stdout);
	while (n < MOST - 1 && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (*line == 'n' || *line == 'o') {
			open_one(line, line + 2);
		} else if (*line == 'x') {
			struct copy *c = &copies[atoi(line + 2)];

			c->plugged = NULL;
			printf("%d\n", dlclose(c->handle));
		} else if (*line == 'f') {
			if (!fork()) {
				call_all();
				_exit(0);
			}
			wait(NULL);
		} else {
			call_all();
		}
		fflush(stdout);
	}
	return 7;
}
