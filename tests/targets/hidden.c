/* SPDX-License-Identifier: MIT */
/*
 * Protects its own text, by a byte each on standard input: a page with functions becomes `0` inaccessible, `r` readable,
 * `w` writable too, `x` executable again; `c` calls what is executable, all after an `x`. `m` maps the page anew, empty
 * and inaccessible, `f` fills it again with what it was, `o` writes another hidden() over the old one. `k` has a child
 * call it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, CALLS = 1000 };

__attribute__((noinline, aligned(4096))) long hidden(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

__attribute__((noinline)) long hidden_too(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 5 * x + 1;
}

__attribute__((noinline, aligned(4096))) long beside(long x)
{
	__asm__ volatile("" : "+r"(x));
	return 7 * x + 1;
}

static unsigned char was[PAGE];
static int executable = 1;

static int protect(int prot)
{
	executable = prot & PROT_EXEC;
	return mprotect((void *)hidden, PAGE, prot);
}

static int map_anew(void)
{
	executable = 0;
	return mmap((void *)hidden, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		       0) == MAP_FAILED;
}

static int fill(void)
{
	int failed = protect(PROT_READ | PROT_WRITE);

	memcpy((void *)hidden, was, PAGE);
	return failed || protect(PROT_READ | PROT_EXEC);
}

static int write_over(void)
{
	static const unsigned char add_9[] = {0x48, 0x8d, 0x47, 0x09, 0xc3, 0x90};
	int failed = protect(PROT_READ | PROT_WRITE);

	memcpy((void *)hidden, add_9, sizeof(add_9));
	return failed || protect(PROT_READ | PROT_EXEC);
}

/* What it has got. */
static int in_child(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child)
		_exit((int)hidden(33));
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static long call(void)
{
	long sum = 0;

	for (int i = 0; i < CALLS; i++)
		sum += beside(i) + (executable ? hidden(i) + hidden_too(i) : 0);
	return sum;
}

int main(void)
{
	int failed = 0;
	char what;

	setvbuf(stdout, NULL, _IOLBF, 0);
	memcpy(was, (void *)hidden, PAGE);
	printf("ready\n");
	while (read(0, &what, 1) == 1) {
		switch (what) {
		case '0':
			failed = protect(PROT_NONE);
			break;
		case 'r':
			failed = protect(PROT_READ);
			break;
		case 'w':
			failed = protect(PROT_READ | PROT_WRITE);
			break;
		case 'x':
			failed = protect(PROT_READ | PROT_EXEC);
			break;
		case 'm':
			failed = map_anew();
			break;
		case 'f':
			failed = fill();
			break;
		case 'o':
			failed = write_over();
			break;
		case 'k':
			failed = in_child();
			break;
		default:
			printf("sum %ld\n", call());
			continue;
		}
		printf("%c %d\n", what, failed);
	}
	printf("same %d\n", !memcmp((void *)hidden, was, PAGE));
	return 7;
}
