/* SPDX-License-Identifier: MIT */
/* Threads that use a library with variables of theirs, linked with the program or loaded (LIBRARY), one after another. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include "own.h"
static void (*libs_fresh)(int), (*libs_use)(int);
static __thread int counted = 100;
static pthread_barrier_t loaded;
__attribute__((noinline)) void used(int n, int c)
{
	__asm__ volatile("" : : "r"(n), "r"(c) : "memory");
}
static void *work(void *arg)
{
	int n = (int)(long)arg;

	if (n == 1)
		pthread_barrier_wait(&loaded), pthread_barrier_wait(&loaded);
	libs_fresh(n);
	libs_use(n);
	counted += n;
	used(n, counted);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t early, t;

	pthread_barrier_init(&loaded, NULL, 2);
	pthread_create(&early, NULL, work, (void *)1L);
	pthread_barrier_wait(&loaded);
#ifdef LOADED
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!lib)
		return 1;
	libs_fresh = (void (*)(int))dlsym(lib, "fresh");
	libs_use = (void (*)(int))dlsym(lib, "use");
#else
	(void)argc, (void)argv;
	libs_fresh = fresh;
	libs_use = use;
#endif
	pthread_barrier_wait(&loaded);
	pthread_join(early, NULL);
	for (long n = 2; n < 4; n++) {
		pthread_create(&t, NULL, work, (void *)n);
		pthread_join(t, NULL);
	}
	work((void *)4L);
	return 0;
}
