/* SPDX-License-Identifier: MIT */
/*
 * Places that must not be probed, in the own process. With the argument
 * `traps` without jump optimization.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include <trapless/reserve.h>

#include "../../unit.h"
#include "args.h"
#include "start.h"

#define HANDLER __attribute__((target("general-regs-only")))

static bool traps;
static long hits, bad;

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	return 0;
}

static void HANDLER on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)c;
	(void)regs;
	(void)self;
}

/* --- functions that have no return probes ------------------------------------------ */

static const char *refused_return(void *fn)
{
	struct tl_retprobe r = {.entry = fn, .on_return = on_return};
	struct tl_probe p = {.addr = fn, .pre = count};
	struct tl_refusal why;
	int ret = tl_retprobe_register(&r);

	if (ret != -TL_E_RET_BLACKLIST) {
		if (!ret)
			tl_retprobe_unregister(&r);
		return tl_error_name(ret);
	}
	if (tl_text_refusal(fn, true, 0, 0, &why) != -TL_E_RET_BLACKLIST)
		return "asked, it would be allowed";
	if (tl_text_refusal(fn, false, 0, 0, &why))
		return "no probe either";
	ret = tl_probe_register(&p);
	if (ret)
		return tl_error_text(ret);
	tl_probe_unregister(&p);
	tl_text_refusal(fn, true, 0, 0, &why);
	return why.reason;
}

static void functions_known_by_name(void)
{
	static const struct {
		const char *name, *reason;
	} list[] = {
		{"_setjmp", "it returns once more for each jump back to it"},
		{"__sigsetjmp", "it returns once more for each jump back to it"},
		{"getcontext", "it returns once more for each jump back to it"},
		{"vfork", "it returns in the child too, on the parent's stack"},
		{"swapcontext", "it returns on another stack"},
		{"longjmp", "it does not return"},
		{"pthread_exit", "it does not return"},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		void *fn = dlsym(RTLD_DEFAULT, list[i].name);
		const char *got = fn ? refused_return(fn) : list[i].reason;

		if (strcmp(got, list[i].reason))
			printf("# %s: %s\n", list[i].name, got);
		CHECK(!strcmp(got, list[i].reason));
	}
}

static void the_unwinder_and_what_throws(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_NOW);
	void *unwinder = dlopen("libgcc_s.so.1", RTLD_NOW);

	if (!lib || !unwinder)
		SKIP("no libstdc++.so.6 or libgcc_s.so.1 here");
	CHECK(!strcmp(refused_return(dlsym(lib, "__cxa_throw")), "it does not return"));
	CHECK(!strcmp(refused_return(dlsym(unwinder, "_Unwind_RaiseException")),
		"it returns only where nothing catches"));
}

/* What an image that is bound lazily calls for a function that has not been looked up. */
static void the_loaders_resolver(void)
{
	uintptr_t *got = NULL;
	struct tl_refusal why;

	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_PLTGOT)
			got = (uintptr_t *)d->d_un.d_ptr;
	if (!got || !got[2])
		SKIP("this program is not bound lazily");
	CHECK(tl_text_refusal((void *)got[2], true, 0, 0, &why) == -TL_E_RET_BLACKLIST);
	CHECK(!strcmp(why.reason, "it is left for the function that it has looked up"));
}

static void others_may_have_them(void)
{
	struct tl_refusal why;

	CHECK(tl_text_refusal(dlsym(RTLD_DEFAULT, "qsort"), true, 0, 0, &why) == 0);
	CHECK(tl_text_refusal((void *)twenty_both, true, 0, 0, &why) == 0);
}

__attribute__((noinline)) static int switches(ucontext_t *from, ucontext_t *to)
{
	__asm__ volatile("");
	return swapcontext(from, to);
}

/* It returns where swapcontext() does, which is not watched. */
static void a_tail_call_is_not_followed_there(void)
{
	struct tl_retprobe r = {.entry = (void *)switches, .on_return = on_return};
	struct tl_retprobe_info info;
	ucontext_t a, b;
	volatile bool been = false;

	getcontext(&b);
	if (!been) { /* look it up */
		been = true;
		switches(&a, &b);
	}
	CHECK(!tl_retprobe_register(&r));
	CHECK(!tl_retprobe_describe(&r, &info));
	CHECK(!tl_retprobe_unregister(&r));
	if (!info.tail)
		SKIP("this compiler makes no tail call of it");
	CHECK(info.nfollowed == 0 && info.tail_why == -TL_E_RET_BLACKLIST);
}

/* --- code ------------------------------------------------------------------------------- */

static int HANDLER TL_NOPROBE guarded(
	struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p;
	(void)regs;
	(void)self;
	hits++;
	return 0;
}

static void handlers_in_a_section_of_their_own(void)
{
	struct tl_probe p = {.addr = (void *)guarded, .pre = count};
	struct tl_probe q = {.addr = (void *)twenty_both, .pre = guarded};
	struct tl_reservation r = {0};
	struct tl_refusal why;

	CHECK(!tl_probe_register(&p));
	CHECK(!tl_probe_unregister(&p));
	CHECK(!tl_text_reserve_noprobe(&r));
	CHECK(tl_probe_register(&p) == -TL_E_BLACKLIST);
	CHECK(tl_text_refusal((void *)guarded, false, 0, 0, &why) == -TL_E_BLACKLIST);
	CHECK(!strcmp(why.reason, "marked TL_NOPROBE") && why.start == r.start);
	CHECK(!tl_probe_register(&q)); /* it serves as a handler */
	CHECK(!tl_probe_unregister(&q));
	CHECK(!tl_text_release(&r));
}

static int find_own(const struct tl_reservation *r, void *arg)
{
	if (r->kind == TL_RESERVE_OWN)
		*(uintptr_t *)arg = r->start;
	return 0;
}

static void our_own_code_and_the_vdso(void)
{
	struct tl_probe p = {.pre = count};
	struct tl_refusal why;
	uintptr_t own = 0;

	CHECK(!tl_text_reservations(find_own, &own) && own);
	p.addr = (void *)own;
	CHECK(tl_probe_register(&p) == -TL_E_SELF);
	CHECK(tl_text_refusal((void *)own, false, 0, 0, &why) == -TL_E_SELF && why.start == own);
	CHECK(!strcmp(why.reason, "trapless's own code"));
	if (getauxval(AT_SYSINFO_EHDR))
		CHECK(tl_text_refusal((char *)getauxval(AT_SYSINFO_EHDR) + 2048, false, 0, 0,
			      &why) == -TL_E_VDSO);
}

/* --- others' text, under way ---------------------------------------------------------------- */

enum { THREADS = 4, CYCLES = 200 };
static int stop, running;

static void *crowd(void *arg)
{
	__atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (at_short(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
			    20) ==
			at_whole(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
			__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
	return arg;
}

struct where {
	const struct tl_probe *p;
	uintptr_t start, end;
	uint32_t rung;
};

static int find(const struct tl_probe_info *info, void *arg)
{
	struct where *w = arg;

	if (info->probe != w->p)
		return 0;
	w->start = info->patch;
	w->end = info->patch + info->patch_len;
	w->rung = info->rung;
	return 1;
}

/* nop; test %eax,%eax; jmp: the jump at 3 is others', and a window over all eight bytes has to go. */
static int one_cycle(struct tl_probe *p, uint32_t *rungs)
{
	struct tl_reservation r = {.start = (uintptr_t)at_short + 3,
		.size = 5,
		.kind = TL_RESERVE_TEXT,
		.reason = "somebody's jump"};
	struct where before = {.p = p}, after = {.p = p};
	struct tl_probe_info who;
	int ret = tl_probe_register(p);

	if (ret)
		return ret;
	tl_probes_list(find, &before);
	ret = tl_text_reserve(&r, &who);
	if (ret)
		return ret;
	tl_probes_list(find, &after);
	*rungs |= 1u << before.rung | 1u << (8 + after.rung);
	if (after.end > r.start && after.start < r.start + r.size)
		return -TL_E_RESERVED;
	ret = tl_probe_unregister(p);
	return ret ? ret : tl_text_release(&r);
}

static void jumps_give_way_while_threads_run_through_them(void)
{
	struct tl_probe p = {.addr = (void *)at_short, .pre = count};
	pthread_t t[THREADS];
	uint32_t rungs = 0;
	int ret = 0, n = 0;
	uint8_t text[8];

	memcpy(text, (void *)at_short, sizeof(text));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], NULL, crowd, NULL));
	while (__atomic_load_n(&running, __ATOMIC_RELAXED) < THREADS)
		usleep(50);
	while (n < CYCLES && !ret) {
		ret = one_cycle(&p, &rungs);
		n++;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (ret)
		printf("# %d: %s\n", n, tl_error_name(ret));
	CHECK(!ret && !bad);
	CHECK(traps || rungs & 1u << TL_RUNG_WINDOW);
	CHECK(!(rungs >> 8 & 1u << TL_RUNG_WINDOW));
	CHECK(!memcmp(text, (void *)at_short, sizeof(text)));
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	if (!engine_started(traps))
		return 1;
	RUN(functions_known_by_name);
	RUN(the_unwinder_and_what_throws);
	RUN(the_loaders_resolver);
	RUN(others_may_have_them);
	RUN(a_tail_call_is_not_followed_there);
	RUN(handlers_in_a_section_of_their_own);
	RUN(our_own_code_and_the_vdso);
	RUN(jumps_give_way_while_threads_run_through_them);
	tl_engine_exit();
	return UNIT_RESULT();
}
