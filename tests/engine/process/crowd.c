/* SPDX-License-Identifier: MIT */
/*
 * Many threads, and threads with hardly any stack. With the argument `traps`
 * without jump optimization; with `long` the full number of rounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <trapless/probe.h>

#include "../../unit.h"
#include "start.h"

#define HANDLER __attribute__((target("general-regs-only")))

/*
 * 2,000 functions, 32 bytes each, that add 100 to their argument, in four shapes by turns: an instruction that is as
 * long as a jump; one behind which the bytes lead to free memory; several that have to go together; and one behind
 * which the bytes lead into the program, and the jump by a register keeps all together from going.
 */
enum { MANY = 2000, EACH = 32, SHAPES = 4 };
extern char many[];
__asm__(".text\n.p2align 5\nmany:\n"
	".macro shape\n.p2align 5\n.cfi_startproc\n.endm\n"
	".macro shaped\nret\n.cfi_endproc\n.endm\n"
	".rept 500\n"
	"	shape; {disp32} lea 100(%rdi), %rax; shaped\n"
	"	shape; lea 100(%rdi), %rax; shaped\n"
	"	shape; mov %rdi, %rax; add $100, %rax; shaped\n"
	"	shape; lea 1f(%rip), %rax; jmp *%rax\n"
	"1:	push %rbx; mov $0, %ecx; lea 100(%rdi), %rax; pop %rbx; shaped\n"
	".endr\n");
static const unsigned char probed_at[SHAPES] = {0, 0, 0, 9};

long plain(long a, long b), shorts(long a);
static long (*volatile call_plain)(long, long) = plain;
static long (*volatile call_shorts)(long) = shorts;

static bool traps, all_rounds;
static long hits;

static int HANDLER count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	__atomic_fetch_add((long *)p->data, 1, __ATOMIC_RELAXED);
	return 0;
}

static void HANDLER count_return(
	struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	(void)regs;
	(void)self;
	__atomic_fetch_add((long *)c->rp->data, 1, __ATOMIC_RELAXED);
}

/* More than all of the thread's own stack. */
static int HANDLER count_deep(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	volatile char room[20000];

	for (size_t i = 0; i < sizeof(room); i += 512)
		room[i] = 1;
	return count(p, regs, self);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* --- 64 threads --------------------------------------------------------------------- */

/* All at once: where 64 threads share a few processors, it takes long until those in a handler have left it. */
enum { CROWD = 64, TIMES = 100000, FEW_TIMES = 4000, LONGEST_MS = 240000 };

static volatile int run_on;
static long wrong;

static void *work(void *arg)
{
	long n, bad = 0;

	for (n = 0; run_on; n++) {
		long (*volatile fn)(long) = (void *)(many + n % MANY * EACH);

		bad += fn(n) != n + 100;
	}
	__atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
	return arg;
}

static size_t standing[TL_RUNG_TRAP + 1];

static int count_rung(const struct tl_probe_info *info, void *arg)
{
	(void)arg;
	standing[info->rung]++;
	return 0;
}

static int arm_and_disarm(struct tl_probe **all, bool wait)
{
	int ret = tl_probes_register(all, MANY, NULL);

	if (!ret && wait)
		tl_probes_list(count_rung, NULL);
	while (!ret && wait && !__atomic_load_n(&hits, __ATOMIC_RELAXED))
		sched_yield();
	return ret ? ret : tl_probes_unregister(all, MANY);
}

static struct tl_probe **probes_of_all(void)
{
	static struct tl_probe p[MANY], *all[MANY];

	for (int i = 0; i < MANY; i++) {
		p[i] = (struct tl_probe){.addr = many + i * EACH + probed_at[i % SHAPES],
			.pre = count,
			.data = &hits};
		all[i] = &p[i];
	}
	return all;
}

static pthread_t workers[CROWD];

static bool start_work(int n)
{
	bool ok = true;

	run_on = true;
	for (int i = 0; i < n; i++)
		ok &= !pthread_create(&workers[i], NULL, work, NULL);
	return ok;
}

static void end_work(int n)
{
	run_on = false;
	for (int i = 0; i < n; i++)
		pthread_join(workers[i], NULL);
}

static void armed_and_disarmed_under_sixty_four_threads(void)
{
	struct tl_probe **all = probes_of_all();
	const long times = all_rounds ? TIMES : FEW_TIMES;
	double begin = now_ms();
	long during, n;
	int ret = 0;

	hits = 0;
	memset(standing, 0, sizeof(standing));
	CHECK(start_work(CROWD));
	for (n = 0; n < times && !ret && now_ms() - begin < LONGEST_MS; n += MANY)
		ret = arm_and_disarm(all, !n);
	during = hits;
	printf("# %ld times in %.0f ms, %ld hits\n", n, now_ms() - begin, during);
	end_work(CROWD);
	CHECK(!ret && !wrong && hits == during);
	for (int r = TL_RUNG_WHOLE; r <= TL_RUNG_WINDOW; r++) /* some may find no room */
		CHECK(traps || standing[r] > MANY / SHAPES / 2);
	CHECK(!traps || standing[TL_RUNG_TRAP] == MANY);
	if (n < times)
		SKIP(unit_told("out of time after %ld of %ld times", n, times));
}

/* --- how long they were held ---------------------------------------------------------- */

enum { FEW = 4 };

static int count_held(const struct tl_held *held, void *arg)
{
	if (held->stops && held->longest_ns && held->longest_ns <= held->all_ns)
		++*(int *)arg;
	return 0;
}

static int stop_at_first(const struct tl_held *held, void *arg)
{
	(void)arg;
	return (int)held->tid;
}

static void each_thread_is_told_how_long_it_was_held(void)
{
	int n = 0, ret;

	CHECK(start_work(FEW));
	CHECK(!tl_probes_patching(TL_PATCHING_STOP));
	ret = arm_and_disarm(probes_of_all(), true);
	end_work(FEW);
	CHECK(!ret && !tl_probes_patching(TL_PATCHING_AUTO));
	CHECK(!tl_threads_held(count_held, &n) && n >= FEW);
	CHECK(tl_threads_held(stop_at_first, NULL) > 0);
}

/* --- a page of stack ------------------------------------------------------------------ */

enum { PAGE = 4096, THIN = 8, CALLS = 500, FRESH = 0x5a };

/* No C library: it would need more. Pages that nobody may touch lie around the stack. */
static struct thin {
	char before[PAGE], stack[PAGE], behind[PAGE];
	struct {
		void *self; /* as thread pointers are asked for it */
		char rest[PAGE - sizeof(void *)];
	} block;
	uint32_t tid;
	long right;
	char pad[PAGE - 16];
} thin[THIN] __attribute__((aligned(PAGE)));

static int thin_work(void *arg)
{
	struct thin *me = arg;

	for (long n = 0; n < CALLS; n++)
		me->right += (call_plain(n, 3) == n + 10) + (call_shorts(n) == 2 * n + 3);
	return 0;
}

static bool thin_start(struct thin *t)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	memset(t->stack, FRESH, sizeof(t->stack));
	t->block.self = &t->block;
	t->right = 0;
	return !mprotect(t->before, PAGE, PROT_NONE) && !mprotect(t->behind, PAGE, PROT_NONE) &&
	       clone(thin_work, t->stack + PAGE, flags, t, &t->tid, &t->block, &t->tid) > 0;
}

static void thin_join(struct thin *t)
{
	uint32_t tid;

	while ((tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE)))
		syscall(SYS_futex, &t->tid, FUTEX_WAIT, tid, NULL, NULL, 0);
}

static size_t thin_used(const struct thin *t)
{
	size_t n = 0;

	while (n < PAGE && t->stack[n] == FRESH)
		n++;
	return PAGE - n;
}

static bool all_right(void)
{
	size_t used = 0;
	bool ok = true;

	for (int i = 0; i < THIN; i++)
		ok &= thin_start(&thin[i]);
	for (int i = 0; i < THIN; i++) {
		thin_join(&thin[i]);
		ok &= thin[i].right == 2 * CALLS;
		used = thin_used(&thin[i]) > used ? thin_used(&thin[i]) : used;
	}
	printf("# %zu bytes of stack\n", used);
	return ok;
}

static void threads_with_a_page_of_stack(void)
{
	struct tl_probe p = {.addr = (void *)plain, .pre = count, .data = &hits};
	struct tl_retprobe r = {.entry = (void *)shorts, .on_return = count_return, .data = &hits};

	hits = 0;
	CHECK(all_right());
	CHECK(!tl_probe_register(&p) && !tl_retprobe_register(&r));
	CHECK(all_right());
	CHECK(hits == 2 * THIN * CALLS && !p.nmissed && !r.nmissed);
	CHECK(!tl_probe_unregister(&p) && !tl_retprobe_unregister(&r));
}

static void big_handlers_over_a_page_of_stack(void)
{
	struct tl_probe p = {.addr = (void *)plain,
		.pre = count_deep,
		.data = &hits,
		.flags = TL_PROBE_BIG_STACK};

	hits = 0;
	CHECK(!tl_probe_register(&p));
	CHECK(all_right());
	CHECK(hits == THIN * CALLS && !p.nmissed);
	CHECK(!tl_probe_unregister(&p));
}

int main(int argc, char **argv)
{
	(void)argc;
	traps = has_argument(argv, "traps");
	all_rounds = has_argument(argv, "long");
	if (!engine_started(traps))
		return 1;
	RUN(each_thread_is_told_how_long_it_was_held);
	RUN(threads_with_a_page_of_stack);
	RUN(big_handlers_over_a_page_of_stack);
	RUN(armed_and_disarmed_under_sixty_four_threads);
	tl_engine_exit();
	return UNIT_RESULT();
}
