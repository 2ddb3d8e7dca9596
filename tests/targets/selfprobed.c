/* SPDX-License-Identifier: MIT */
/*
 * Probes itself by libtrapless, which it loads (or, built with -DLINKED, has in it): at once, or when told to by a byte
 * on its standard input; then calls work(), and tells what it has seen of that. Ends with 7.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trapless/probe.h>
#include <unistd.h>

enum { CALLS = 1000 };

static volatile long hits;

__attribute__((target("general-regs-only"))) static int pre(
	struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)regs, (void)self;
	hits++;
	return 0;
}

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

#ifdef LINKED
#define FUNCTION(name) name
#else
#define FUNCTION(name) ((__typeof__(&name))dlsym(RTLD_DEFAULT, #name))
#endif

static void probe(const char *library)
{
	static struct tl_probe p = {.addr = work, .pre = pre};
	int ret;

	if (library && !dlopen(library, RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	ret = FUNCTION(tl_probe_register)(&p);
	printf("registered: %s\n", ret ? FUNCTION(tl_error_name)(ret) : "yes");
}

/* "at-once" or "later", and the library. */
int main(int argc, char **argv)
{
	const char *library = argc > 2 ? argv[2] : NULL;
	int later = argc > 1 && !strcmp(argv[1], "later");
	long sum = 0;
	char go;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!later)
		probe(library);
	printf("ready\n");
	if (read(0, &go, 1) != 1)
		return 1;
	if (later)
		probe(library);
	for (int i = 0; i < CALLS; i++)
		sum += work(i);
	printf("sum %ld hits %ld\n", sum, hits);
	return 7;
}
