/* SPDX-License-Identifier: MIT */
/*
 * The first process of the test machine: keeps a copy of the kernel's text,
 * loads the modules, takes them away, compares. Everything it says goes into
 * the kernel log, among the lines of the test module.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct text {
	unsigned long lo, hi;
	unsigned char *copy;
};

static int log_fd = -1;

static void say(const char *format, ...)
{
	char line[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(log_fd, line, (size_t)len) != len)
		_exit(1);
}

static void check(const char *name, int ok)
{
	if (ok)
		say("ok %s\n", name);
	else
		say("not ok %s: %s\n", name, strerror(errno));
}

/* --- the kernel's text ------------------------------------------------------- */

static int find_bounds(struct text *t)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long addr;
	char name[256];

	t->lo = t->hi = 0;
	while (f && (!t->lo || !t->hi) && fscanf(f, "%lx %*c %255s%*[^\n]", &addr, name) == 2) {
		if (!strcmp(name, "_stext"))
			t->lo = addr;
		if (!strcmp(name, "_etext"))
			t->hi = addr;
	}
	if (f)
		fclose(f);
	return t->lo && t->hi > t->lo;
}

/* /proc/kcore is a core file of the kernel, in which the text is at its own addresses. */
static int read_text(struct text *t)
{
	int fd = open("/proc/kcore", O_RDONLY);
	size_t size = t->hi - t->lo;
	int ok = 0;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	t->copy = malloc(size);
	if (fd < 0 || !t->copy || pread(fd, &eh, sizeof(eh), 0) != sizeof(eh))
		return 0;
	for (int i = 0; i < eh.e_phnum && !ok; i++) {
		off_t at = (off_t)(eh.e_phoff + (size_t)i * sizeof(ph));

		if (pread(fd, &ph, sizeof(ph), at) != sizeof(ph))
			break;
		if (ph.p_type != PT_LOAD || t->lo < ph.p_vaddr || t->hi > ph.p_vaddr + ph.p_memsz)
			continue;
		at = (off_t)(ph.p_offset + (t->lo - ph.p_vaddr));
		ok = pread(fd, t->copy, size, at) == (ssize_t)size;
	}
	close(fd);
	return ok;
}

/* How much of the text is not what it was: between `least` and `most` bytes. */
static void compare(const char *name, const struct text *before, size_t least, size_t most)
{
	struct text now = *before;
	size_t size = before->hi - before->lo, differ = 0, first = 0;

	if (!read_text(&now)) {
		check(name, 0);
		return;
	}
	for (size_t i = size; i--;)
		if (before->copy[i] != now.copy[i]) {
			differ++;
			first = i;
		}
	free(now.copy);
	if (differ >= least && differ <= most)
		say("ok %s\n", name);
	else
		say("not ok %s: %zu of %zu bytes differ, from %#lx\n", name, differ, size,
			before->lo + first);
}

/* --- modules ------------------------------------------------------------------- */

static int load(const char *path)
{
	int fd = open(path, O_RDONLY);
	int ok = fd >= 0 && syscall(SYS_finit_module, fd, "", 0) == 0;

	close(fd);
	return ok;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, 0) == 0;
}

/* --- something for the kernel to do ----------------------------------------------- */

enum { WORKERS = 1 }; /* more of them leave no time for the engine: there are two processors */

static void work_once(const char *name)
{
	char byte = 0;
	int ends[2], fd = open(name, O_CREAT | O_RDWR, 0600);
	pid_t child;

	if (fd >= 0 && write(fd, name, 1) == 1)
		unlink(name);
	close(fd);
	if (pipe(ends))
		_exit(1);
	child = fork();
	if (!child)
		_exit(write(ends[1], &byte, 1) != 1);
	if (read(ends[0], &byte, 1) != 1 || waitpid(child, NULL, 0) != child)
		_exit(1);
	close(ends[0]);
	close(ends[1]);
}

static void start_work(pid_t *workers)
{
	for (int i = 0; i < WORKERS; i++) {
		char name[] = "/work0";

		name[5] = (char)('0' + i);
		workers[i] = fork();
		while (!workers[i])
			work_once(name);
	}
}

/* Has it gone well until now? */
static int stop_work(const pid_t *workers)
{
	int ok = 1, status;

	for (int i = 0; i < WORKERS; i++) {
		ok &= kill(workers[i], SIGKILL) == 0 &&
		      waitpid(workers[i], &status, 0) == workers[i] && WIFSIGNALED(status) &&
		      WTERMSIG(status) == SIGKILL;
	}
	return ok;
}

/* Some work first, so that there is something to tell. */
static void test_events(void)
{
	pid_t workers[WORKERS];

	check("events_are_loaded", load("/trapless_events.ko"));
	start_work(workers);
	usleep(200000);
	check("events_are_unloaded", unload("trapless_events"));
	check("work_has_gone_on", stop_work(workers));
}

static void test_many(void)
{
	pid_t workers[WORKERS];

	start_work(workers);
	check("all_functions_are_tried", load("/trapless_many.ko"));
	check("work_goes_on_meanwhile", stop_work(workers));
	check("that_is_unloaded", unload("trapless_many"));
}

static void test(void)
{
	enum { JUMP = 5, HOOK = 32 }; /* what ftrace changes to have us asked about faults */
	struct text before;
	char seed;

	/* The kernel patches its own text once when its random numbers become good ones. */
	if (getrandom(&seed, 1, 0) != 1 || !find_bounds(&before) || !read_text(&before)) {
		check("the_text_can_be_read", 0);
		return;
	}
	check("the_engine_is_loaded", load("/trapless.ko"));
	check("a_victim_is_loaded", load("/trapless_victim.ko"));
	check("the_tests_are_loaded", load("/trapless_vm.ko"));
	compare("kernel_text_holds_one_jump_and_a_hook", &before, 1, JUMP + HOOK);
	check("a_victim_is_unloaded", unload("trapless_victim"));
	check("the_tests_are_unloaded", unload("trapless_vm"));
	check("neighbours_are_loaded", load("/trapless_neighbours.ko"));
	check("neighbours_are_unloaded", unload("trapless_neighbours"));
	check("nmis_are_loaded", load("/trapless_nmis.ko"));
	check("nmis_are_unloaded", unload("trapless_nmis"));
	test_events();
	test_many();
	check("the_engine_is_unloaded", unload("trapless"));
	compare("kernel_text_is_identical", &before, 0, 0);
	say("the end\n");
}

/* With an argument, it is a program for the kernel to run. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 7;
	mkdir("/proc", 0755);
	mkdir("/dev", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	log_fd = open("/dev/kmsg", O_WRONLY);
	if (log_fd >= 0)
		test();
	sync();
	reboot(RB_AUTOBOOT);
	return 1;
}
