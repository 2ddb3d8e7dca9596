/* SPDX-License-Identifier: MIT */
/*
 * Argument probes: handlers built like any code, with the parameters of the
 * functions they watch. With the argument `traps` without jump optimization.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <trapless/argprobe.h>

#include "../../unit.h"
#include "args.h"
#include "start.h"

static bool traps;
static long hits;
static int same; /* the handler saw what the function was given */

/* Hides from the compiler which function is called. */
#define CALL(fn)                                                                                   \
	({                                                                                         \
		__typeof__(&fn) f_ = &fn;                                                          \
		__asm__("" : "+r"(f_));                                                            \
		f_;                                                                                \
	})

#define PROBE(fn, on, ...)                                                                         \
	{                                                                                          \
		.entry = (void *)(fn), .handler = (tl_arg_fn)(on), __VA_ARGS__                     \
	}

/* What a handler may leave in the registers it need not keep. */
#define SPOIL()                                                                                    \
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm1; movdqa %%xmm0, %%xmm2\n"  \
			 "movdqa %%xmm0, %%xmm3; movdqa %%xmm0, %%xmm4; movdqa %%xmm0, %%xmm5\n"   \
			 "movdqa %%xmm0, %%xmm6; movdqa %%xmm0, %%xmm7; movdqa %%xmm0, %%xmm8\n"   \
			 "mov $-1, %%rdi; mov $-1, %%rsi; mov $-1, %%rdx; mov $-1, %%rcx\n"        \
			 "mov $-1, %%rax; mov $-1, %%r8; mov $-1, %%r9; mov $-1, %%r10\n" ::       \
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", \
			 "xmm8", "rdi", "rsi", "rdx", "rcx", "rax", "r8", "r9", "r10", "cc")

static void count(bool as_given)
{
	same = as_given;
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	SPOIL();
}

/* The probe around a call, which must have its result as ever and one hit that saw the same. */
#define WATCHED(p, result, call)                                                                   \
	do {                                                                                       \
		__typeof__(call) plain_ = call, probed_;                                           \
		CHECK((result) == plain_);                                                         \
		hits = same = 0;                                                                   \
		CHECK(!tl_argprobe_register(&(p)));                                                \
		probed_ = call;                                                                    \
		CHECK(!tl_argprobe_unregister(&(p)));                                              \
		CHECK(probed_ == plain_);                                                          \
		CHECK(hits == 1);                                                                  \
		CHECK(same);                                                                       \
		CHECK((p).probe.nmissed == 0);                                                     \
	} while (0)

/* --- one kind each ------------------------------------------------------------ */

static void on_ints(int a, long b, char c, unsigned short d, const char *e, size_t f)
{
	count(a == -7 && b == 1l << 40 && c == 'x' && d == 65535 && !strcmp(e, "five") && f == 6);
}

static void integers_and_pointers(void)
{
	struct tl_argprobe p = PROBE(ints, on_ints);

	WATCHED(p, -7 + (2l << 40) + 3 * 'x' + 4 * 65535 + 5 * 'f' + 36,
		CALL(ints)(-7, 1l << 40, 'x', 65535, "five", 6));
}

static void on_doubles(float a, double b, double c, double d, double e, double f, double g, float h)
{
	count(a == 1.5f && b == -2.25 && c == 3 && d == 4 && e == 5 && f == 1e300 && g == 7 &&
		h == 8.125f);
}

static void floating_point(void)
{
	struct tl_argprobe p = PROBE(doubles, on_doubles);

	WATCHED(p, 1.5 - 4.5 + 9 + 16 + 25 + 6e300 + 49 + 65,
		CALL(doubles)(1.5f, -2.25, 3, 4, 5, 1e300, 7, 8.125f));
}

static void on_both(int a, double b, long c, float d, const char *e, double f)
{
	count(a == 1 && b == 2.5 && c == -3 && d == 4.5f && *e == 'q' && f == 0.125);
}

static void integers_among_doubles(void)
{
	struct tl_argprobe p = PROBE(both, on_both);

	WATCHED(p, 1 + 5 - 9 + 18 + 5 * 'q' + 0.75, CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125));
}

/* It owns its parameters, those on the stack too, and changes them. */
static void on_twenty(long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8,
	long a9, long a10, long a11, long a12, long a13, long a14, long a15, long a16, long a17,
	long a18, long a19, long a20)
{
	bool ok = a1 == 1 && a2 == 2 && a3 == 3 && a4 == 4 && a5 == 5 && a6 == 6 && a7 == 7 &&
		  a8 == 8 && a9 == 9 && a10 == 10 && a11 == 11 && a12 == 12 && a13 == 13 &&
		  a14 == 14 && a15 == 15 && a16 == 16 && a17 == 17 && a18 == 18 && a19 == 19 &&
		  a20 == 20;

	*(volatile long *)&a7 = *(volatile long *)&a20 = 12345;
	count(ok);
}

static void twenty_arguments(void)
{
	struct tl_argprobe p = PROBE(twenty, on_twenty, .stack_bytes = 14 * 8);

	WATCHED(p, 2870,
		CALL(twenty)(
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
}

static void on_twenty_both(long i1, double d1, long i2, double d2, long i3, double d3, long i4,
	double d4, long i5, double d5, long i6, double d6, long i7, double d7, long i8, double d8,
	long i9, double d9, long i10, double d10)
{
	bool ints_ok = i1 == 1 && i2 == 2 && i3 == 3 && i4 == 4 && i5 == 5 && i6 == 6 && i7 == 7 &&
		       i8 == 8 && i9 == 9 && i10 == 10;

	*(volatile double *)&d10 = *(volatile long *)&i10 = 77;
	count(ints_ok && d1 == 1 && d2 == 2 && d3 == 3 && d4 == 4 && d5 == 5 && d6 == 6 &&
		d7 == 7 && d8 == 8 && d9 == 9 && d10 == 77);
}

#define TWENTY 1, 1., 2, 2., 3, 3., 4, 4., 5, 5., 6, 6., 7, 7., 8, 8., 9, 9., 10, 10.
#define TWENTY_SUM                                                                                 \
	(385 + 1. / 2 + 2. / 4 + 3. / 8 + 4. / 16 + 5. / 32 + 6. / 64 + 7. / 128 + 8. / 256 +      \
		9. / 512 + 10. / 1024)

static void twenty_mixed_arguments(void)
{
	struct tl_argprobe p = PROBE(twenty_both, on_twenty_both, .stack_bytes = 6 * 8);

	WATCHED(p, TWENTY_SUM, CALL(twenty_both)(TWENTY));
}

static void on_longs(long double a, int b, long double c, double d)
{
	count(a == 1.5L && b == 4 && c == 0x1p-1000L && d == 8);
}

static void long_doubles(void)
{
	struct tl_argprobe p = PROBE(longs, on_longs, .stack_bytes = 32);

	WATCHED(p, 6 + 8 * 0x1p-1000L, CALL(longs)(1.5L, 4, 0x1p-1000L, 8));
}

static void on_wide(__int128 a, long b, __int128 c, __int128 d)
{
	count(a == (__int128)1 << 100 && b == 3 && c == -5 && d == (__int128)7 << 70);
}

static void integers_of_sixteen_bytes(void)
{
	struct tl_argprobe p = PROBE(wide, on_wide, .stack_bytes = 16);

	WATCHED(p, ((__int128)3 << 100) + 15 + ((__int128)35 << 70),
		CALL(wide)((__int128)1 << 100, 3, -5, (__int128)7 << 70));
}

static void on_structs(
	struct pair p, struct point q, struct mixed m, struct small s, struct big b, struct pair r)
{
	bool ok = p.a == 1 && p.b == 2 && q.x == 3 && q.y == 4 && m.n == 5 && m.d == 6 &&
		  s.f == 7 && s.i == 8 && b.v[0] == 9 && b.v[4] == 13 && r.a == 14 && r.b == 15;

	((volatile struct big *)&b)->v[2] = 99;
	((volatile struct pair *)&r)->a = 99;
	count(ok);
}

/* r does not fit into the registers that are left. */
static void structures_by_value(void)
{
	struct tl_argprobe p = PROBE(structs, on_structs, .stack_bytes = 40 + 16);
	struct big b = {{9, 10, 11, 12, 13}};

	WATCHED(p, 1 + 4 + 15 + 32 + 70 + 90 + 63 + 80 + 99 + 120 + 143 + 1.5 + 1 + 0.75 + 0.4375,
		CALL(structs)((struct pair){1, 2}, (struct point){3, 4}, (struct mixed){5, 6},
			(struct small){7, 8}, b, (struct pair){14, 15}));
}

static void on_lined(int a, struct lined l, long b)
{
	count((uintptr_t)&l % 32 == 0 && a == 1 && l.v[0] == 2 && l.v[3] == 5 && b == 6);
}

static void structures_with_an_alignment(void)
{
	struct tl_argprobe p = PROBE(lined, on_lined, .stack_bytes = 32);

	WATCHED(p, 1 + 4 + 9 + 16 + 25 + 36, CALL(lined)(1, (struct lined){.v = {2, 3, 4, 5}}, 6));
}

static void on_made(struct big *result, long from, double scale)
{
	count(result && from == 3 && scale == 2);
}

static void a_result_in_memory(void)
{
	struct tl_argprobe p = PROBE(made, on_made);

	WATCHED(p, 14, CALL(made)(3, 2).v[4]);
}

static void on_sum(int n, const char *kinds, ...)
{
	va_list args;
	double total;

	va_start(args, kinds);
	total = vsum(n, kinds, args);
	va_end(args);
	count(n == 100 && total == 100 + 1 + 5 + 9 + 18 + 25 + 36 + 49 + 64 + 90 + 1000 + 132);
}

static void variable_arguments(void)
{
	struct tl_argprobe p = PROBE(sum, on_sum, .stack_bytes = 16 * 8);

	WATCHED(p, 100 + 1 + 5 + 9 + 18 + 25 + 36 + 49 + 64 + 90 + 1000 + 132,
		CALL(sum)(100, "ldldllllLdl", 1l, 2.5, 3l, 4.5, 5l, 6l, 7l, 8l, 10.L, 100., 12l));
}

static void on_variable_floats(int n, const char *kinds, ...)
{
	va_list args;
	double total;

	va_start(args, kinds);
	total = vsum(n, kinds, args);
	va_end(args);
	count(total == 55);
}

/* Ten of them: eight in registers, which the callee saves only when al is not 0. */
static void variable_arguments_in_vector_registers(void)
{
	struct tl_argprobe p = PROBE(sum, on_variable_floats, .stack_bytes = 2 * 8);

	WATCHED(p, 55, CALL(sum)(0, "dddddddddd", 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.));
}

/* --- vectors ---------------------------------------------------------------------- */

static void on_v128(__m128d a, int b, __m128d c)
{
	count(a[0] == 1 && a[1] == 2 && b == 5 && c[0] == 2 && c[1] == 4);
}

static void vectors_of_16_bytes(void)
{
	struct tl_argprobe p = PROBE(v128, on_v128);
	__m128d r;

	hits = same = 0;
	CHECK(!tl_argprobe_register(&p));
	r = CALL(v128)((__m128d){1, 2}, 5, (__m128d){2, 4});
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(hits == 1 && same && r[0] == 11 && r[1] == 22);
}

static void vectors_of_32_bytes(void)
{
	if (!__builtin_cpu_supports("avx2"))
		SKIP("the processor has no AVX2");
	CHECK(args_wide_32() == 0);
}

static void vectors_of_64_bytes(void)
{
	if (!__builtin_cpu_supports("avx512f"))
		SKIP("the processor has no AVX-512");
	CHECK(args_wide_64() == 0);
}

/* --- every rung ----------------------------------------------------------------------- */

static int rung_of(const struct tl_probe_info *info, void *arg)
{
	*(uint32_t *)arg = info->rung;
	return 0;
}

static void every_rung(void)
{
	static const char *const name[] = {
		"none", "retarget", "whole", "pun", "evict", "window", "trap"};
	static twenty_both_fn *const entry[] = {at_whole, at_short, at_pushes, at_jump, at_call};
	uint32_t rungs = 0, rung;

	for (size_t i = 0; i < 2 * sizeof(entry) / sizeof(entry[0]); i++) {
		twenty_both_fn *fn = entry[i / 2];
		struct tl_argprobe p = PROBE(fn, on_twenty_both, .stack_bytes = 6 * 8);
		struct tl_argprobe trap =
			PROBE(fn, on_twenty_both, .stack_bytes = 6 * 8, .flags = TL_PROBE_NO_JUMP);
		struct tl_argprobe *which = i % 2 ? &trap : &p;

		hits = same = 0;
		CHECK(!tl_argprobe_register(which));
		CHECK(tl_probes_list(rung_of, &rung) == 0);
		CHECK(fn(TWENTY) == TWENTY_SUM);
		CHECK(!tl_argprobe_unregister(which));
		CHECK(hits == 1 && same);
		CHECK(i % 2 == 0 || rung == TL_RUNG_TRAP);
		rungs |= 1u << rung;
		printf("# entry %zu: %s\n", i / 2, name[rung]);
	}
	CHECK(traps || (rungs & 1u << TL_RUNG_RETARGET && rungs & 1u << TL_RUNG_WHOLE));
}

/* --- all registers ------------------------------------------------------------------------ */

static void cpuid(unsigned leaf, unsigned sub, unsigned r[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"(leaf), "c"(sub));
}

/* Enabled components that ordinary code uses; 0: no XSAVE. */
static uint64_t components(void)
{
	unsigned r[4], lo, hi;

	cpuid(1, 0, r);
	if (!(r[2] & 1 << 27))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	(void)hi;
	return lo & 0xe7;
}

static void fill(uint8_t *at, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		at[i] = (uint8_t)(seed >> 16);
	}
}

/* Every register full, no exception pending. */
static void make_state(uint8_t *area, unsigned seed)
{
	const uint16_t control = 0x0a7f, top = 4 << 11;
	const uint32_t mxcsr = 0x5fa1;
	unsigned r[4];

	memset(area, 0, REGS_STATE);
	regs_save(area);
	memcpy(area, &control, 2);
	memcpy(area + 2, &top, 2);
	area[4] = 0xf0;
	memcpy(area + 24, &mxcsr, 4);
	for (int i = 0; i < 8; i++)
		fill(area + 32 + 16 * i, 10, seed + (unsigned)i);
	fill(area + 160, 256, seed + 8);
	for (unsigned i = 2; i < 8; i++) {
		if (!(regs_mask >> i & 1))
			continue;
		cpuid(0xd, i, r);
		fill(area + r[1], r[0], seed + 10 + i);
	}
	memcpy(area + 512, &regs_mask, 8);
}

/* The last x87 instruction's address and the like are not kept by every processor. */
static bool same_state(uint8_t *a, uint8_t *b)
{
	memset(a + 6, 0, 18);
	memset(b + 6, 0, 18);
	return !memcmp(a, b, REGS_STATE);
}

static bool same_args(const struct regs_seen *a, const struct regs_seen *b)
{
	return a->di == b->di && a->si == b->si && a->dx == b->dx && a->cx == b->cx &&
	       a->r8 == b->r8 && a->r9 == b->r9 && a->ax == b->ax && a->r10 == b->r10;
}

static void all_registers_are_as_without_a_probe(void)
{
	enum { STATUS = 0x8d5, ROUNDS = 64 };
	static uint8_t area[REGS_STATE] __attribute__((aligned(64))), without[REGS_STATE];
	struct tl_argprobe p = PROBE(regs_target, regs_handler);
	struct regs_seen in, plain;

	regs_mask = components();
	if (!regs_mask)
		SKIP("the processor has no XSAVE");
	regs_level = regs_mask & 0xe0 ? 2 : regs_mask & 4 ? 1 : 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		fill((uint8_t *)&in, sizeof(in), i);
		in.flags = (in.flags & STATUS) | 0x202;
		make_state(area, i);
		memset(regs_state, 0, REGS_STATE);
		regs_call(&in, area);
		plain = regs_seen;
		memcpy(without, regs_state, REGS_STATE);
		CHECK(!tl_argprobe_register(&p));
		memset(regs_state, 0, REGS_STATE);
		memset(regs_got_state, 0, REGS_STATE);
		regs_call(&in, area);
		CHECK(!tl_argprobe_unregister(&p));
		CHECK(!memcmp(&plain, &regs_seen, sizeof(plain)));
		CHECK(same_state(without, regs_state));
		CHECK(same_args(&plain, &regs_got));
		CHECK(same_state(without, regs_got_state));
	}
}

/* --- life ------------------------------------------------------------------------------------ */

static long depth;

static void on_fact(long n, double unused)
{
	depth += n + (long)unused;
	if (n == 1)
		depth += 100 * CALL(fact)(3, 0); /* skipped */
	hits++;
}

static void recursion_and_a_handler_that_calls_the_function(void)
{
	struct tl_argprobe p = PROBE(fact, on_fact);

	hits = depth = 0;
	CHECK(!tl_argprobe_register(&p));
	CHECK(CALL(fact)(10, 0) == 3628800);
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(hits == 10);
	CHECK(depth == 55 + 45 + 600);
	CHECK(p.probe.nmissed == 3);
}

static uintptr_t returns_to;
static void *data_seen;
static struct tl_regs regs_at;

static void on_both_ask(int a, double b, long c, float d, const char *e, double f)
{
	const struct tl_arg_call *call = tl_arg_call();
	void **own = tl_thread_local(call->self, 3);

	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	hits++;
	*own = (void *)((intptr_t)*own + 1);
	data_seen = (char *)call->probe->data + (intptr_t)*own;
	returns_to = call->ret_ip;
	regs_at = *call->regs;
}

static void a_handler_knows_its_call(void)
{
	static char data[8];
	struct tl_argprobe p = PROBE(both, on_both_ask, .data = data);

	hits = 0;
	CHECK(!tl_arg_call());
	CHECK(!tl_argprobe_register(&p));
	CALL(both)(1, 2, 3, 4, "5", 6);
	CALL(both)(1, 2, 3, 4, "5", 6);
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(hits == 2 && data_seen == data + 2);
	CHECK(returns_to - (uintptr_t)a_handler_knows_its_call < 4096);
	CHECK(regs_at.di == 1 && regs_at.si == 3 && regs_at.ip == (uintptr_t)both);
	CHECK(!tl_arg_call());
}

static jmp_buf back;

static void on_both_leave(int a, double b, long c, float d, const char *e, double f)
{
	(void)b, (void)c, (void)d, (void)e, (void)f;
	hits++;
	if (a == 1)
		longjmp(back, 1);
}

/* The last call is from the same depth: until one is, hits from deeper down would look like nested ones. */
static void a_handler_may_be_left_by_longjmp(void)
{
	struct tl_argprobe p = PROBE(both, on_both_leave);
	volatile int left = 0;

	hits = 0;
	CHECK(!tl_argprobe_register(&p));
	for (volatile int i = 0; i <= 100; i++) {
		if (setjmp(back))
			left++;
		else
			CALL(both)(i % 2, 2, 3, 4, "5", 6);
	}
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(left == 50 && hits == 101 && p.probe.nmissed == 0);
	CHECK(!tl_arg_call());
}

static void on_both_deep(int a, double b, long c, float d, const char *e, double f)
{
	volatile char room[40000];

	for (size_t i = 0; i < sizeof(room); i += 256)
		room[i] = (char)a;
	on_both(room[0], b, c, d, e, f);
}

static void a_private_stack(void)
{
	struct tl_argprobe p = PROBE(both, on_both_deep, .flags = TL_PROBE_BIG_STACK);

	WATCHED(p, 1 + 5 - 9 + 18 + 5 * 'q' + 0.75, CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125));
}

__attribute__((target("general-regs-only"))) static void on_ints_plainly(
	int a, long b, char c, unsigned short d, const char *e, size_t f)
{
	hits++;
	same = a == 1 && b == 2 && c == 3 && d == 4 && *e == 5 && f == 6;
}

static void a_handler_without_vectors(void)
{
	struct tl_argprobe p = PROBE(ints, on_ints_plainly, .flags = TL_PROBE_NO_VECTORS);

	WATCHED(p, 1 + 4 + 9 + 16 + 25 + 36, CALL(ints)(1, 2, 3, 4, "\5", 6));
}

static int count_plainly(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
	__attribute__((target("general-regs-only")));
static int count_plainly(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	++*(long *)p->data;
	return 0;
}

static void several_at_one_function(void)
{
	struct tl_argprobe p = PROBE(both, on_both), q = PROBE(both, on_both);
	long plain = 0;
	struct tl_probe r = {.addr = (void *)both, .pre = count_plainly, .data = &plain};
	double want = CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125);

	hits = 0;
	CHECK(!tl_argprobe_register(&p));
	CHECK(!tl_argprobe_register(&q));
	CHECK(!tl_probe_register(&r));
	CHECK(CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125) == want);
	CHECK(hits == 2 && same && plain == 1);
	CHECK(!tl_probe_disable(&p.probe));
	CHECK(CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125) == want);
	CHECK(hits == 3 && plain == 2);
	CHECK(!tl_probe_enable(&p.probe));
	CHECK(!tl_argprobe_unregister(&q));
	CHECK(!tl_probe_unregister(&r));
	CHECK(CALL(both)(1, 2.5, -3, 4.5f, "q", 0.125) == want);
	CHECK(hits == 4 && same && plain == 2);
	CHECK(!tl_argprobe_unregister(&p));
}

static void refusals(void)
{
	struct tl_argprobe p = PROBE(both, on_both);

	CHECK(tl_argprobe_register(NULL) == -TL_E_INVAL);
	CHECK(tl_argprobe_unregister(NULL) == -TL_E_INVAL);
	CHECK(tl_argprobe_unregister(&p) == -TL_E_STATE);
	p.stack_bytes = TL_ARG_STACK_MAX + 1;
	CHECK(tl_argprobe_register(&p) == -TL_E_INVAL);
	p.stack_bytes = 0;
	p.handler = NULL;
	CHECK(tl_argprobe_register(&p) == -TL_E_INVAL);
	p.handler = (tl_arg_fn)on_both;
	p.entry = (char *)at_whole + 1;
	CHECK(tl_argprobe_register(&p) < 0);
	p.entry = NULL;
	CHECK(tl_argprobe_register(&p) == -TL_E_INVAL);
	p.entry = (void *)both;
	CHECK(!tl_argprobe_register(&p));
	CHECK(tl_argprobe_register(&p) == -TL_E_STATE);
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(!tl_argprobe_register(&p));
	CHECK(!tl_argprobe_unregister(&p));
}

/* --- many threads --------------------------------------------------------------------------------- */

enum { THREADS = 8, CALLS = 5000, CYCLES = 50 };

static long bad;
static int endless, stop, running;

static void on_crowd(long i1, double d1, long i2, double d2, long i3, double d3, long i4, double d4,
	long i5, double d5, long i6, double d6, long i7, double d7, long i8, double d8, long i9,
	double d9, long i10, double d10)
{
	bool ok = i1 == (long)d1 && i2 == (long)d2 && i3 == (long)d3 && i4 == (long)d4 &&
		  i5 == (long)d5 && i6 == (long)d6 && i7 == (long)d7 && i8 == (long)d8 &&
		  i9 == (long)d9 && i10 == (long)d10 && i10 == i1 + 9;

	if (!ok)
		__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	SPOIL();
}

static double crowd_call(long a)
{
	double d = (double)a;

	return CALL(twenty_both)(a, d, a + 1, d + 1, a + 2, d + 2, a + 3, d + 3, a + 4, d + 4,
		a + 5, d + 5, a + 6, d + 6, a + 7, d + 7, a + 8, d + 8, a + 9, d + 9);
}

/* Exact in a double. */
static double crowd_want(double a)
{
	double want = 0, half = 0.5;

	for (int i = 0; i < 10; i++, half /= 2)
		want += (i + 1) * (a + i) + (a + i) * half;
	return want;
}

static void *crowd(void *arg)
{
	long wrong = 0;

	__atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
	for (long i = 0; endless ? !__atomic_load_n(&stop, __ATOMIC_RELAXED) : i < CALLS; i++)
		wrong += crowd_call(i) != crowd_want((double)i);
	__atomic_fetch_add(&bad, wrong, __ATOMIC_RELAXED);
	return arg;
}

static void many_threads_are_counted_exactly(void)
{
	struct tl_argprobe p = PROBE(twenty_both, on_crowd, .stack_bytes = 6 * 8);
	pthread_t t[THREADS];

	hits = bad = 0;
	CHECK(!tl_argprobe_register(&p));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, crowd, NULL));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(!tl_argprobe_unregister(&p));
	CHECK(!bad && hits == THREADS * CALLS && p.probe.nmissed == 0);
}

/* A thread that is just being made blocks all signals, and cannot be asked where it stands. */
static void arming_and_disarming_under_many_threads(void)
{
	struct tl_argprobe p = PROBE(twenty_both, on_crowd, .stack_bytes = 6 * 8);
	pthread_t t[THREADS];
	int ret = 0, n = 0;
	long before;

	hits = bad = 0;
	endless = 1;
	running = 0;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, crowd, NULL));
	while (__atomic_load_n(&running, __ATOMIC_RELAXED) < THREADS)
		usleep(50);
	while (n < CYCLES && !ret) {
		ret = tl_argprobe_register(&p);
		before = __atomic_load_n(&hits, __ATOMIC_RELAXED);
		while (!ret && __atomic_load_n(&hits, __ATOMIC_RELAXED) == before)
			usleep(50);
		if (!ret)
			ret = tl_argprobe_unregister(&p);
		n++;
	}
	before = __atomic_load_n(&hits, __ATOMIC_RELAXED);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (ret)
		printf("# %d: %s\n", n, tl_error_name(ret));
	CHECK(!ret);
	CHECK(!bad && hits == before);
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	if (!engine_started(traps))
		return 1;
	RUN(integers_and_pointers);
	RUN(floating_point);
	RUN(integers_among_doubles);
	RUN(twenty_arguments);
	RUN(twenty_mixed_arguments);
	RUN(long_doubles);
	RUN(integers_of_sixteen_bytes);
	RUN(structures_by_value);
	RUN(structures_with_an_alignment);
	RUN(a_result_in_memory);
	RUN(variable_arguments);
	RUN(variable_arguments_in_vector_registers);
	RUN(vectors_of_16_bytes);
	RUN(vectors_of_32_bytes);
	RUN(vectors_of_64_bytes);
	RUN(every_rung);
	RUN(all_registers_are_as_without_a_probe);
	RUN(recursion_and_a_handler_that_calls_the_function);
	RUN(a_handler_knows_its_call);
	RUN(a_handler_may_be_left_by_longjmp);
	RUN(a_private_stack);
	RUN(a_handler_without_vectors);
	RUN(several_at_one_function);
	RUN(refusals);
	RUN(many_threads_are_counted_exactly);
	RUN(arming_and_disarming_under_many_threads);
	tl_engine_exit();
	return UNIT_RESULT();
}
