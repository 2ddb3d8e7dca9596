/* SPDX-License-Identifier: MIT */
/*
 * What a detour by itself costs, without the core: TSC ticks a hit over the
 * bare call on `lea; ret`, the lowest of 25 repetitions, and the bytes of each
 * detour. A tool for whoever changes detour.c; bench/own measures the whole.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>
#include "../../../engine/arch/arch.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"

#define HANDLER __attribute__((noinline, target("general-regs-only")))

__asm__(".text\n.p2align 6\nplain: lea 7(%rdi,%rsi), %rax\n ret\n.p2align 6, 0xcc\n"
	"called: lea 7(%rdi,%rsi), %rax\n ret\n.p2align 6\n"
	"caller: sub $8,%rsp\n call_site: call called\n add $8,%rsp\n ret\n.p2align 6, "
	"0xcc\nthe_end:\n");
extern uint8_t plain[], caller[], call_site[], the_end[];

static struct tl_thread threads[TL_THREADS] __attribute__((aligned(4096)));
static struct tl_gate gate = {1};
static uint8_t big_stack[65536] __attribute__((aligned(64)));
static struct tl_site site;
static uint64_t count, ring[4096];

HANDLER static int empty(struct tl_probe *p, struct tl_regs *r, struct tl_thread *t)
{
	(void)p, (void)r, (void)t;
	return 0;
}

HANDLER static int counting(struct tl_probe *p, struct tl_regs *r, struct tl_thread *t)
{
	(void)p, (void)r;
	t->nmissed++;
	return 0;
}

HANDLER static int recording(struct tl_probe *p, struct tl_regs *r, struct tl_thread *t)
{
	uint64_t *e = &ring[count & 4092];

	(void)p;
	e[0] = r->ip, e[1] = r->sp, e[2] = r->di, e[3] = t->tid;
	count += 4;
	return 0;
}

HANDLER static void post(struct tl_probe *p, struct tl_regs *r, struct tl_thread *t)
{
	(void)p, (void)r;
	t->nmissed++;
}

static double measure(uint8_t *fn)
{
	double best = 1e30;

	for (int rep = 0; rep < 25; rep++) {
		uint64_t t = __rdtsc();
		long sum = 0;

		for (long i = 0; i < 300000; i++)
			sum += ((long (*)(long, long))fn)(i, 1);
		t = __rdtsc() - t;
		__asm__ volatile("" ::"r"(sum));
		if ((double)t / 300000 < best)
			best = (double)t / 300000;
	}
	return best;
}

static bool nobody(void *arg, uintptr_t lo, uintptr_t hi)
{
	(void)arg, (void)lo, (void)hi;
	return false;
}

static void one(const char *name, uint8_t *fn, uint8_t *at, unsigned rung, tl_pre_fn pre,
	uint32_t flags, int how)
{
	static uint8_t text[256], boundary[32], target[32];
	struct tl_code code = {.start = (uintptr_t)fn,
		.size = fn == plain ? 6 : 14,
		.after = 40,
		.text = text,
		.boundary = boundary,
		.target = target};
	struct tl_plan plan = {.npoints = 1};
	struct tl_probe p = {.pre = pre, .post = post};
	struct tl_detour_env env = {.gate = &gate,
		.threads = threads,
		.tid_offset = how & 1 ? 0x2d0 : 0,
		.fast_key = true};
	uint8_t buf[TL_DETOUR_MAX], bytes[TL_PATCH_MAX];
	uintptr_t key, detour = ((uintptr_t)plain & ~4095ul) + 0x1000000;
	struct tl_thread *t;
	double bare, probed;
	int size;

	code.size = fn == plain ? 5 : 13;
	memcpy(text, fn, 64);
	tl_arch_code_walk(&code);
	__asm__("mov %%fs:0,%0" : "=r"(key));
	t = &threads[tl_thread_hash(key)];
	*t = (struct tl_thread){.key = key,
		.tid = (uint32_t)syscall(SYS_gettid),
		.stack = (uintptr_t)(big_stack + 65536)};
	site.current = &p;
	plan.early = how & 4;
	plan.points[0] = (struct tl_point){
		.addr = (uintptr_t)at, .site = &site, .flags = flags, .post = how & 2};
	if (tl_arch_plan(&plan, &code, 1u << rung, &(const struct tl_ground){.claimed = nobody})) {
		printf("%-40s not placed: %d\n", name, plan.why[rung]);
		return;
	}
	if (how & 8)
		plan.port = 1;
	size = tl_arch_detour_build(&plan, &env, detour, buf);
	memcpy((void *)detour, buf, sizeof(buf));
	tl_arch_patch_bytes(&plan, detour, bytes);
	bare = measure(fn);
	memcpy((void *)plan.start, bytes, plan.changed);
	probed = measure(fn);
	memcpy((void *)plan.start, plan.orig, plan.changed);
	printf("%-40s %6.2f  (+%.2f)  %d bytes\n", name, probed, probed - bare, size);
}

int main(int argc, char **argv)
{
	uintptr_t page = (uintptr_t)plain & ~4095ul;
	uint8_t *d = mmap((void *)(page + 0x1000000), 4096, 7,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	(void)argc, (void)argv;
	mprotect((void *)page, (size_t)(the_end - (uint8_t *)page + 4096) & ~4095ul, 7);
	if (d != (uint8_t *)page + 0x1000000)
		return 2;
	one("window, empty", plain, plain, TL_RUNG_WINDOW, empty, 0, 1);
	one("window, counting", plain, plain, TL_RUNG_WINDOW, counting, 0, 1);
	one("window, counting, no tid check", plain, plain, TL_RUNG_WINDOW, counting, 0, 0);
	one("window, 32 byte record", plain, plain, TL_RUNG_WINDOW, recording, 0, 1);
	one("window, counting, own stack", plain, plain, TL_RUNG_WINDOW, counting,
		TL_PROBE_BIG_STACK, 1);
	one("window, counting, all registers", plain, plain, TL_RUNG_WINDOW, counting,
		TL_PROBE_REGS, 1);
	one("window, counting, pushf", plain, plain, TL_RUNG_WINDOW, counting, 0, 9);
	one("window, counting, rdfsbase", plain, plain, TL_RUNG_WINDOW, counting, 0, 5);
	one("window, counting, pre and post", plain, plain, TL_RUNG_WINDOW, counting, 0, 3);
	gate.open = 0;
	one("window, gate closed", plain, plain, TL_RUNG_WINDOW, counting, 0, 1);
	gate.open = 1;
	one("retarget, counting", caller, call_site, TL_RUNG_RETARGET, counting, 0, 1);
	one("whole call, counting", caller, call_site, TL_RUNG_WHOLE, counting, 0, 1);
	return 0;
}
