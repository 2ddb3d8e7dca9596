/* SPDX-License-Identifier: MIT */
/*
 * A/B proof on a real library: probes on the instructions of the C library
 * under a workload that leans on it, in batches, with a handler that ruins
 * every register it may. What the workload computes must stay the same, in
 * this process and in a child, and the text must be what it was afterwards.
 *
 * usage: libc [one instruction in N, default 40 [first batch [batches]]]
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <fnmatch.h>
#include <link.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <trapless/probe.h>
#include "../../unit.h"
#include "../../../engine/insn/x86/insn.h"

enum { BATCH = 400 };

/* --- the workload ------------------------------------------------------------------ */

static uint64_t hash;

static void mix(const void *p, size_t n)
{
	const uint8_t *b = p;

	while (n--)
		hash = (hash ^ *b++) * 0x100000001b3ull;
}

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void strings(void)
{
	char buf[700], other[1400] = "";

	for (int i = 0; i < 600; i++)
		buf[i] = (char)('a' + i * 7 % 23);
	buf[600] = 0;
	for (size_t n = 1; n < 600; n = n * 3 / 2 + 1) {
		memcpy(other, buf + 1, n);
		memmove(other + 3, other, n);
		memmove(other, other + 5, n);
		memset(other + n, (int)n, 8);
		other[n] = 0;
		mix(other, n);
		size_t r[] = {strlen(other), (size_t)(strchr(buf, 'w') - buf),
			(size_t)(strrchr(buf, 'c') - buf), (size_t)(memcmp(buf, other, n) < 0),
			(size_t)(strcmp(buf, other) < 0), (size_t)(strncasecmp(buf, other, n) < 0),
			strspn(buf, "abcdefh"), strcspn(buf, "vw"),
			(size_t)(strstr(buf, "wdk") != NULL),
			(size_t)((char *)memchr(buf, 'u', 600) - buf), strnlen(buf, n),
			(size_t)(strpbrk(buf, "zq") != NULL),
			(size_t)(memmem(buf, 600, other + 9, n > 20 ? 5 : 1) != NULL)};
		mix(r, sizeof(r));
	}
	strcpy(other, "a,b;;c");
	for (char *save, *t = strtok_r(other, ",;", &save); t; t = strtok_r(NULL, ",;", &save))
		mix(t, strlen(t) + 1);
}

static void numbers(void)
{
	char buf[2000];
	double d[] = {0.1, 1e300, -2.5e-310, 3.14159265358979, 1234567.875};
	int v[97], n;
	unsigned u;
	double x;

	for (int i = 0; i < 5; i++) {
		n = snprintf(buf, sizeof(buf),
			"%g|%.17f|%a|%+12.4e|%-10d|%08lx|%s|%c|%5.2s|%Lf|%'d|%zu", d[i], d[i], d[i],
			d[i], i * 1000, (long)i << 33, "text", 'c', "abc", (long double)d[i],
			1 << i, sizeof(buf));
		mix(buf, (size_t)n);
		x = strtod(buf, NULL);
		mix(&x, sizeof(x));
	}
	n = sscanf("12 0x1f 3.25 word", "%d %x %lf %s", v, &u, &x, buf);
	mix(&n, 4), mix(&u, 4), mix(&x, 8), mix(buf, 4);
	for (int i = 0; i < 97; i++)
		v[i] = i * 7919 % 101;
	qsort(v, 97, sizeof(v[0]), by_number);
	mix(v, sizeof(v));
	mix(bsearch(&v[13], v, 97, sizeof(v[0]), by_number), 4);
	u = (unsigned)strtoul("4294967295", NULL, 10);
	mix(&u, 4);
	srandom(7);
	for (int i = 0; i < 20; i++)
		u = (unsigned)random(), mix(&u, 4);
	swprintf((wchar_t *)(void *)buf, 60, L"%ls %d", L"wide", 5);
	mix(buf, 24);
}

static void structures(void)
{
	void *p[64] = {0}, *root = NULL;
	regex_t re;
	regmatch_t m[3];
	struct tm tm;
	time_t t = 1234567890;
	char buf[200];
	FILE *f;

	for (int i = 0; i < 400; i++) {
		size_t size = (size_t)(i * 37 % 3000 + 1);

		p[i % 64] = i % 3 ? realloc(p[i % 64], size) : (free(p[i % 64]), malloc(size));
		memset(p[i % 64], i, size);
	}
	for (int i = 0; i < 64; i++)
		mix(p[i], 1), free(p[i]);
	static int keys[30];
	for (int i = 0; i < 30; i++)
		keys[i] = i * 11 % 31, tsearch(&keys[i], &root, by_number);
	for (int i = 0; i < 30; i++)
		tdelete(&keys[i], &root, by_number);
	if (!regcomp(&re, "([a-c]+)x*(end|fin)$", REG_EXTENDED) &&
		!regexec(&re, "zzabcaxxxfin", 3, m, 0))
		mix(m, sizeof(m));
	regfree(&re);
	gmtime_r(&t, &tm);
	mix(buf, strftime(buf, sizeof(buf), "%A %d %B %Y %T %j %U", &tm));
	t = timegm(&tm);
	mix(&t, sizeof(t));
	f = fmemopen(buf, sizeof(buf), "w+");
	fprintf(f, "line %d\nsecond %s\n", 1, "x");
	rewind(f);
	while (fgets(buf + 100, 50, f))
		mix(buf + 100, strlen(buf + 100));
	fclose(f);
	mix((int[]){fnmatch("*.[ch]", "file.c", 0), inet_addr("10.1.2.3")}, 8);
}

static jmp_buf back;

static void *thread(void *arg)
{
	mix(arg, 4);
	return NULL;
}

static void control(void)
{
	sigset_t set, old;
	pthread_t t;

	if (!setjmp(back))
		longjmp(back, 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!pthread_create(&t, NULL, thread, "1234"))
		pthread_join(t, NULL);
	mix(getenv("PATH") ? "y" : "n", 1);
}

static uint64_t work(void)
{
	hash = 0xcbf29ce484222325ull;
	strings();
	numbers();
	structures();
	control();
	return hash;
}

/* The same in a child, where handlers are silent: its low byte of the hash. */
static int work_in_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit((int)(work() & 0x7f));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -status - 1;
}

/* --- the handler ---------------------------------------------------------------------- */

uint64_t hits;
int ruin(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
__asm__(".text\nruin: lock incq hits(%rip)\n"
	" mov $0x5a5a5a5a5a5a5a5a, %rcx\n mov %rcx, %rdx\n mov %rcx, %rsi\n mov %rcx, %rdi\n mov "
	"%rcx, %r8\n"
	" mov %rcx, %r9\n mov %rcx, %r10\n mov %rcx, %r11\n mov %rcx, -8(%rsp)\n mov %rcx, "
	"-700(%rsp)\n"
	" add $0x7fffffff, %ecx\n xor %eax, %eax\n sub $1, %ecx\n ret\n");

/* --- the C library's instructions ------------------------------------------------------- */

static uint8_t *lo, *hi, *copy;
static uint8_t **insns;
static size_t ninsns;

static void add_function(uint8_t *start, uint32_t size)
{
	struct tl_insn i;

	for (uint8_t *a = start; a < start + size; a += i.len) {
		if (!tl_insn_decode(&i, a, (size_t)(start + size - a), TL_INSN_64))
			return;
		if (!(ninsns & (ninsns - 1)))
			insns = realloc(insns, (ninsns ? ninsns * 2 : 1) * sizeof(*insns));
		insns[ninsns++] = a;
	}
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint8_t *at = (uint8_t *)info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_X)
			lo = at, hi = at + p->p_memsz;
		if (p->p_type != PT_GNU_EH_FRAME)
			continue;
		for (int32_t n = 0; n < ((int32_t *)(void *)at)[2]; n++) {
			int32_t *entry = (int32_t *)(void *)(at + 12 + 8 * n);
			uint32_t length;

			memcpy(&length, at + entry[1] + 12, 4);
			add_function(at + entry[0], length);
		}
	}
	return 1;
}

static struct tl_probe probes[BATCH];
static size_t total, refused[TL_E_COUNT];

static size_t arm(size_t number, size_t first, size_t step)
{
	uint32_t flags = TL_PROBE_NO_TRAP | TL_PROBE_DISABLED;
	size_t n = 0;

	flags |= number & 2 ? TL_PROBE_REGS : 0;
	flags |= number & 4 ? TL_PROBE_BIG_STACK : 0;

	for (size_t i = first; i < ninsns && n < BATCH; i += step) {
		int ret;

		probes[n] = (struct tl_probe){.addr = insns[i], .pre = ruin, .flags = flags};
		ret = tl_probe_register(&probes[n]);
		if (ret)
			refused[-ret]++;
		else
			n++;
	}
	return n;
}

static size_t enable(size_t n)
{
	size_t armed = 0;

	for (size_t i = 0; i < n; i++) {
		int ret = tl_probe_enable(&probes[i]);

		if (ret)
			refused[-ret]++;
		else
			armed++;
	}
	return armed;
}

static bool batch(size_t number, size_t first, size_t step, uint64_t expect)
{
	static struct tl_probe *all[BATCH];
	size_t n = arm(number, first, step), armed = enable(n);
	uint64_t got = work();
	int child = number % 16 ? (int)(expect & 0x7f) : work_in_child();

	for (size_t i = 0; i < n; i++)
		all[i] = &probes[i];
	if (tl_probes_unregister(all, n)) {
		printf("# batch %zu: cannot unregister\n", number);
		return false;
	}
	total += armed;
	if (got != expect || child != (int)(expect & 0x7f))
		printf("# batch %zu: the workload's result differs%s\n", number,
			got == expect ? " in the child" : "");
	return got == expect && child == (int)(expect & 0x7f);
}

static size_t one_in = 40, first_batch, batches = SIZE_MAX;

static void libc_under_probes(void)
{
	uint64_t expect = work();
	size_t step, n;

	CHECK(work() == expect && ninsns > 100000);
	n = ninsns / one_in / BATCH + 1;
	step = ninsns / BATCH;
	/* Even batches are spread over the whole library, odd ones stand side by side. */
	for (size_t i = first_batch; i < n && i - first_batch < batches; i++)
		CHECK(i & 1 ? batch(i, i * (ninsns / n), 1, expect)
			    : batch(i, i * step / n, step, expect));
	printf("# %zu of %zu instructions armed, %lu hits\n", total, ninsns, hits);
	for (int i = 0; i < TL_E_COUNT; i++)
		if (refused[i])
			printf("# refused: %zu %s\n", refused[i], tl_error_name(i));
	CHECK(hits > total);
	tl_engine_exit();
	CHECK(!memcmp(copy, lo, (size_t)(hi - lo)));
}

int main(int argc, char **argv)
{
	if (argc > 1)
		one_in = (size_t)atoi(argv[1]);
	if (argc > 2)
		first_batch = (size_t)atoi(argv[2]);
	if (argc > 3)
		batches = (size_t)atoi(argv[3]);
	dl_iterate_phdr(find_libc, NULL);
	copy = malloc((size_t)(hi - lo));
	memcpy(copy, lo, (size_t)(hi - lo));
	RUN(libc_under_probes);
	return UNIT_RESULT();
}
