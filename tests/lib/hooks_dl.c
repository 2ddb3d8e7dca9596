/* SPDX-License-Identifier: MIT */
/*
 * Hooks of a library that is closed and opened again, with thousands of places.
 *     hooks_dl LIBRARY
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <trapless/hooks.h>
#include <trapless/trace.h>
#include <unistd.h>

#include "../unit.h"

enum { PLACES = 4096 };

static const char *library;
static long sum, calls;

static void on_place(void *data, long n)
{
	__atomic_fetch_add(&sum, n, __ATOMIC_RELAXED);
	__atomic_fetch_add((long *)data, 1, __ATOMIC_RELAXED);
}

static long (*open_library(void **lib))(void)
{
	*lib = dlopen(library, RTLD_NOW);
	return *lib ? (long (*)(void))dlsym(*lib, "lib_work") : NULL;
}

/* All of its places tell, in order of their numbers, or none does. */
static bool tells(long (*work)(void), bool want)
{
	sum = calls = 0;
	return work() == PLACES && calls == (want ? PLACES : 0) &&
	       sum == (want ? (long)PLACES * (PLACES + 1) / 2 : 0);
}

static void thousands_of_places_are_one_hook(void)
{
	struct tl_hook_info info;
	struct tl_hook *hook;
	void *lib;
	long (*work)(void) = open_library(&lib);

	CHECK(work && (hook = tl_hook_find("lib:place")) && tells(work, false));
	CHECK(!tl_hook_describe(hook, &info) && strstr(info.file, "hooks_lib"));
	CHECK(!info.nplaces || info.nplaces == PLACES);
	CHECK(!tl_hook_attach(hook, (tl_hook_fn)on_place, &calls) && tells(work, true));
	CHECK(!tl_hook_describe(hook, &info) && info.on && info.nlisteners == 1);
	CHECK(!tl_hook_detach(hook, (tl_hook_fn)on_place, &calls) && tells(work, false));
	CHECK(!dlclose(lib));
}

/* Closed under its listeners, and opened again: nobody listens, and all goes on. */
static void a_library_that_goes_takes_its_listeners_along(void)
{
	for (int i = 0; i < 20; i++) {
		struct tl_hook *hook;
		void *lib;
		long (*work)(void) = open_library(&lib);

		CHECK(work && (hook = tl_hook_find("lib:place")) && tells(work, false));
		CHECK(!tl_hook_attach(hook, (tl_hook_fn)on_place, &calls) && tells(work, true));
		if (i % 2)
			CHECK(tl_hooks_switch("lib:*", TL_HOOKS_ON) == 1);
		CHECK(!dlclose(lib));
		if (dlopen(library, RTLD_NOW | RTLD_NOLOAD))
			SKIP("the C library keeps what was closed");
		CHECK(tl_hook_detach(hook, (tl_hook_fn)on_place, &calls) == -TL_E_NO_HOOK);
	}
}

static void count_event(uint32_t event, const void *payload, size_t size, void *data)
{
	(void)event, (void)payload, (void)size;
	++*(long *)data;
}

/* One that has come since has the event when it is asked for again. */
static void a_library_that_comes_raises_its_event(void)
{
	long n = 0;
	struct tl_tracer tracer = {.trace = count_event, .data = &n};
	void *lib;
	long (*work)(void) = open_library(&lib);

	CHECK(work && tl_hooks_trace("lib:*") == 1 && !tl_tracer_register(&tracer));
	CHECK(work() == PLACES && n == PLACES && !dlclose(lib));
	work = open_library(&lib);
	CHECK(work && tl_hooks_trace("lib:*") == 1 && work() == PLACES && n == 2 * PLACES);
	CHECK(!dlclose(lib) && tl_hooks_trace("lib:*") == 0 && tl_hooks_untrace("*") == 1);
	CHECK(!tl_tracer_unregister(&tracer));
}

static bool enough;

static void *come_and_go(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		void *lib;
		long (*work)(void) = open_library(&lib);

		if (!work || work() != PLACES || dlclose(lib))
			*(bool *)arg = true;
		sched_yield();
	}
	return NULL;
}

/* Others open and close it while somebody listens to whatever hooks there are. */
static void libraries_come_and_go_under_listeners(void)
{
	enum { THREADS = 4, ROUNDS = 50 };
	pthread_t threads[THREADS];
	bool wrong[THREADS] = {false};
	void *kept;

	CHECK(open_library(&kept)); /* it stays: who listens to a hook has to see to that */
	enough = false;
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, come_and_go, &wrong[i]));
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct tl_hook *hook = tl_hook_find("lib:place");

		CHECK(hook && !tl_hook_attach(hook, (tl_hook_fn)on_place, &calls));
		CHECK(!tl_hook_detach(hook, (tl_hook_fn)on_place, &calls));
	}
	enough = true;
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!wrong[i]);
	}
	CHECK(!dlclose(kept));
}

/* --- what lies ------------------------------------------------------------------------- */

struct span {
	uint8_t *at;
	size_t size;
};

static int find_notes(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct span *s = arg;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum && strstr(object->dlpi_name, "hooks_lib"); i++)
		if (object->dlpi_phdr[i].p_type == PT_NOTE &&
			object->dlpi_phdr[i].p_memsz > s->size)
			*s = (struct span){
				(uint8_t *)object->dlpi_addr + object->dlpi_phdr[i].p_vaddr,
				object->dlpi_phdr[i].p_memsz};
	return 0;
}

/* The first note of ours with this type: its contents. */
static uint8_t *find_row(struct span notes, uint32_t type)
{
	for (size_t i = 0; i + 12 <= notes.size;) {
		uint32_t head[3];
		size_t name;

		memcpy(head, notes.at + i, sizeof(head));
		name = i + sizeof(head);
		i = name + ((head[0] + 3) & ~3u) + ((head[1] + 3) & ~3u);
		if (head[2] == type && !strcmp((char *)notes.at + name, "trapless"))
			return notes.at + name + ((head[0] + 3) & ~3u);
	}
	return NULL;
}

static bool may_write(struct span s)
{
	uintptr_t page = (uintptr_t)s.at & ~(uintptr_t)4095;

	return !mprotect(
		(void *)page, (uintptr_t)s.at + s.size - page, PROT_READ | PROT_WRITE | PROT_EXEC);
}

/* The hook is refused by name, and its places go on as they were. */
static bool is_refused(long (*work)(void), struct tl_hook *hook)
{
	return tl_hook_attach(hook, (tl_hook_fn)on_place, &calls) == -TL_E_HOOK_TABLE &&
	       tells(work, false);
}

/* In a process of its own: what has been read once is not read again. */
static bool is_refused_with(uint8_t *byte, long (*work)(void), struct tl_hook *hook)
{
	pid_t child = fork();
	int status;

	if (!child) {
		*byte ^= 8;
		_exit(is_refused(work, hook) ? 42 : 1);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 42;
}

/* A place, where it leads, or the hook's function, is said to be elsewhere. */
static void damaged_tables_are_refused(void)
{
	struct tl_hook *hook;
	struct span notes = {0};
	uint8_t *site, *row;
	void *lib;
	long (*work)(void) = open_library(&lib);

	CHECK(work && (hook = tl_hook_find("lib:place")));
	dl_iterate_phdr(find_notes, &notes);
	site = find_row(notes, 0x4854);
	row = find_row(notes, 0x484b);
	CHECK(notes.at && row && may_write(notes));
	CHECK(!site || is_refused_with(&site[0], work, hook));
	CHECK(!site || is_refused_with(&site[7], work, hook));
	CHECK(is_refused_with(&row[7], work, hook));
	CHECK(!tl_hook_attach(hook, (tl_hook_fn)on_place, &calls) && tells(work, true));
	CHECK(!tl_hook_detach(hook, (tl_hook_fn)on_place, &calls) && tells(work, false));
	CHECK(!dlclose(lib));
}

/* Closes it where the library under test takes memory: then it has read the tables, and changes something next. */
static void *to_close;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	void *lib = to_close;

	to_close = NULL;
	if (lib)
		dlclose(lib);
	return __real_calloc(n, size);
}

static void on_any(void *data, const struct tl_hook_call *call)
{
	(void)data;
	(void)call;
}

static struct tl_hook *open_to_close(void)
{
	void *lib;
	struct tl_hook *hook = open_library(&lib) ? tl_hook_find("lib:place") : NULL;

	to_close = lib;
	return hook;
}

static void a_library_may_go_while_somebody_attaches(void)
{
	struct tl_hook *hook = open_to_close();

	CHECK(hook && tl_hook_attach(hook, (tl_hook_fn)on_place, &calls) == -TL_E_NO_HOOK);
	if (dlopen(library, RTLD_NOW | RTLD_NOLOAD))
		SKIP("the C library keeps what was closed");
	CHECK(open_to_close() && !tl_hooks_attach("lib:*", on_any, NULL));
	CHECK(open_to_close() && tl_hooks_switch("lib:*", TL_HOOKS_ON) == 0);
	CHECK(!to_close && !tl_hook_find("lib:place"));
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	library = argv[1];
	alarm(300);
	RUN(damaged_tables_are_refused);
	RUN(a_library_may_go_while_somebody_attaches);
	RUN(thousands_of_places_are_one_hook);
	RUN(a_library_that_goes_takes_its_listeners_along);
	RUN(a_library_that_comes_raises_its_event);
	RUN(libraries_come_and_go_under_listeners);
	return UNIT_RESULT();
}
