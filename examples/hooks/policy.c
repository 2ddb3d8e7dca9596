/* SPDX-License-Identifier: MIT */
/*
 * A security policy that comes and goes while the program runs. open_guarded() asks a hook with a verdict; modules of the
 * policy listen to it, in the order in which they came, and the first that refuses decides.
 *
 *     make && ./policy
 *
 * Threads open files all the time, also while a module is attached or detached. What they were told under each policy
 * is counted in whole rounds, so the table is the same each time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trapless/hook.h>
#include <trapless/hooks.h>
#include <unistd.h>

TL_HOOK_VERDICT(sec, may_open, int, 0, (const char *, path), (int, flags))

/* As open(), where the policy lets it. */
static int open_guarded(const char *path, int flags)
{
	int err = tl_verdict(sec, may_open, path, flags);

	if (err) {
		errno = err;
		return -1;
	}
	return open(path, flags);
}

/* --- modules of a policy: 0, or why it is refused ----------------------------------- */

/* `below`: a folder, with its slash. A real one would ask for the path without links and "..". */
static int deny_below(void *below, const char *path, int flags)
{
	(void)flags;
	return strncmp(path, below, strlen(below)) == 0 ? EACCES : 0;
}

static int read_only(void *unused, const char *path, int flags)
{
	(void)unused;
	(void)path;
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC) ? EROFS : 0;
}

/* --- threads that open ----------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 500, FILES = 2 };
static const char *const files[FILES] = {"open", "secret/key"};
static const int ways[] = {O_RDONLY, O_RDWR};

struct told {
	long allowed, denied, read_only, other;
};
static struct told told; /* under the policy that is counted */
static int counted; /* which one */
static int done; /* threads that have their rounds of it */

static void count(struct told *t, int fd)
{
	if (fd >= 0) {
		t->allowed++;
		close(fd);
	} else if (errno == EACCES)
		t->denied++;
	else if (errno == EROFS)
		t->read_only++;
	else
		t->other++;
}

static void open_all(struct told *t)
{
	for (int f = 0; f < FILES; f++)
		for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++)
			count(t, open_guarded(files[f], ways[w]));
}

static void add(const struct told *t)
{
	__atomic_fetch_add(&told.allowed, t->allowed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&told.denied, t->denied, __ATOMIC_RELAXED);
	__atomic_fetch_add(&told.read_only, t->read_only, __ATOMIC_RELAXED);
	__atomic_fetch_add(&told.other, t->other, __ATOMIC_RELAXED);
	__atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
}

/* Goes on opening until another policy is to be counted: then ROUNDS of that. Below 0: the end. */
static void *open_always(void *unused)
{
	int mine = 0;

	for (;;) {
		int now = __atomic_load_n(&counted, __ATOMIC_ACQUIRE);
		struct told t = {0};

		if (now < 0)
			return unused;
		for (int i = 0; i < (now == mine ? 1 : ROUNDS); i++)
			open_all(&t);
		if (now != mine)
			add(&t);
		mine = now;
	}
}

/* --- policies ----------------------------------------------------------------------------- */

static void must(const char *what, int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "cannot %s: %s; %s\n", what, tl_error_text(ret), tl_error_next(ret));
	exit(2);
}

static void count_policy(const char *name)
{
	told = (struct told){0};
	done = 0;
	__atomic_fetch_add(&counted, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < THREADS)
		sched_yield();
	printf("%-28s %8ld %8ld %8ld %6ld\n", name, told.allowed, told.denied, told.read_only,
		told.other);
}

static void change_policies(void)
{
	char *below = "secret/";

	count_policy("none");
	must("attach", tl_hook_listen(sec, may_open, deny_below, below));
	count_policy("deny secret/");
	must("attach", tl_hook_listen(sec, may_open, read_only, NULL));
	count_policy("deny secret/, read-only");
	must("detach", tl_hook_unlisten(sec, may_open, deny_below, below));
	count_policy("read-only");
	must("attach", tl_hook_listen(sec, may_open, deny_below, below));
	count_policy("read-only, deny secret/");
	must("detach", tl_hook_unlisten(sec, may_open, read_only, NULL));
	must("detach", tl_hook_unlisten(sec, may_open, deny_below, below));
	count_policy("none again");
}

/* --- a folder to work in ---------------------------------------------------------------------- */

static void make_files(char *folder)
{
	int ret = !mkdtemp(folder) || chdir(folder) || mkdir("secret", 0700);

	for (int f = 0; !ret && f < FILES; f++)
		ret = close(creat(files[f], 0600));
	if (ret) {
		perror(folder);
		exit(2);
	}
}

static void remove_files(const char *folder)
{
	for (int f = 0; f < FILES; f++)
		unlink(files[f]);
	rmdir("secret");
	rmdir(folder);
}

int main(void)
{
	char folder[] = "/tmp/policy-XXXXXX";
	pthread_t threads[THREADS];

	make_files(folder);
	printf("%-28s %8s %8s %8s %6s\n", "policy", "allowed", "EACCES", "EROFS", "other");
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, open_always, NULL))
			return 2;
	change_policies();
	__atomic_store_n(&counted, -1, __ATOMIC_RELEASE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	remove_files(folder);
	return 0;
}
