/* SPDX-License-Identifier: MIT */
/* The process home alone, on the real system: memory, text, breakpoints, stopping threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../engine/os/process/own.h"
#include "../../../engine/os/traptab.h"
#include "../../targets/ringed.h"
#include "../../unit.h"

#define GiB	   (1ul << 30)
#define NEAR(addr) (addr) - 2 * GiB + 4096, (addr) + 2 * GiB - 4096

/* Functions to patch, each on a cache line of its own, with its instruction boundaries named. */
__asm__(".text\n"
	".p2align 12\n"
	".globl answer\n"
	"answer:	mov $42, %eax\n"
	"		ret\n"
	".p2align 6\n"
	".globl spin_a\n"
	"spin_a:	mov $1, %eax\n"
	".globl spin_here\n"
	"spin_here:	jmp spin_here\n"
	".globl spin_out\n"
	"spin_out:	mov $7, %eax\n"
	"		ret\n"
	".p2align 6\n"
	".globl calls_out\n"
	"calls_out:	sub $8, %rsp\n"
	"		call *%rdi\n"
	".globl calls_back\n"
	"calls_back:	add $8, %rsp\n"
	"		ret\n"
	".p2align 12\n");
extern char answer[], spin_a[], spin_here[], spin_out[], calls_out[], calls_back[];
typedef int int_fn(void);

static int call(uintptr_t at)
{
	return ((int_fn *)at)();
}

/* mov $v, %eax; ret */
static void code_for(uint8_t *to, int v)
{
	to[0] = 0xb8;
	memcpy(to + 1, &v, 4);
	to[5] = 0xc3;
}

static int prot_at(uintptr_t at)
{
	struct tl_mapping m;

	return tl_home_map(at, &m) && m.lo <= at ? m.prot : -1;
}

static void code_is_never_writable_and_executable(void)
{
	uintptr_t at = 0, text = (uintptr_t)answer;
	uint8_t buf[6];
	int i;

	CHECK(!tl_os_code_reserve(NEAR(text), 16 << 20, &at));
	CHECK(at > text - 2 * GiB && at < text + 2 * GiB);
	CHECK(prot_at(at) == (TL_PROT_READ | TL_PROT_EXEC));
	for (i = 0; i < 1000; i++) {
		code_for(buf, i);
		CHECK(!tl_os_code_write(at + (uintptr_t)i * 64, buf, sizeof(buf)));
		CHECK(!((prot_at(at + (uintptr_t)i * 64) & TL_PROT_WRITE) &&
			(prot_at(at + (uintptr_t)i * 64) & TL_PROT_EXEC)));
	}
	CHECK(!tl_code_seal());
	CHECK(prot_at(at) == (TL_PROT_READ | TL_PROT_EXEC));
	for (i = 0; i < 1000; i++)
		CHECK(call(at + (uintptr_t)i * 64) == i);
	code_for(buf, 5000);
	CHECK(!tl_os_code_write(at + 4090, buf, sizeof(buf))); /* across two live pages */
	CHECK(!tl_code_seal());
	CHECK(call(at + 4090) == 5000);
	CHECK(call(at + 64) == 1);
	tl_os_code_release(at, 16 << 20);
	CHECK(prot_at(at) == -1);
}

static volatile int run_on;
static volatile long bad_results;

static void *run_code(void *arg)
{
	while (run_on) {
		if (call((uintptr_t)arg) != 77)
			bad_results++;
	}
	return NULL;
}

static void live_code_pages_change_under_running_threads(void)
{
	uintptr_t at = 0;
	uint8_t buf[6];
	pthread_t t[2];
	int i;

	CHECK(!tl_os_code_reserve(NEAR((uintptr_t)answer), 1 << 20, &at));
	code_for(buf, 77);
	CHECK(!tl_os_code_write(at, buf, sizeof(buf)));
	CHECK(!tl_code_seal());
	run_on = true;
	bad_results = 0;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run_code, (void *)at);
	for (i = 0; i < 2000 && !bad_results; i++) {
		code_for(buf, i);
		tl_os_code_write(at + 64, buf, sizeof(buf));
		tl_code_seal();
		if (call(at + 64) != i)
			bad_results++;
	}
	run_on = false;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(!bad_results);
	tl_os_code_release(at, 1 << 20);
}

static void rewritten_pages_do_not_pile_up_mappings(void)
{
	const uintptr_t pages = 200;
	uintptr_t at = 0, i;
	struct tl_mapping m;
	uint8_t buf[6];
	long maps = 0;

	CHECK(!tl_os_code_reserve(NEAR((uintptr_t)answer), 4 << 20, &at));
	for (i = 0; i < pages; i++) {
		code_for(buf, (int)i);
		CHECK(!tl_os_code_write(at + i * 4096, buf, sizeof(buf)));
	}
	CHECK(!tl_code_seal());
	for (i = 0; i < pages; i++) {
		code_for(buf, (int)(1000 + i));
		CHECK(!tl_os_code_write(at + i * 4096 + 64, buf, sizeof(buf)));
		CHECK(!tl_code_seal());
	}
	for (i = 0; i < pages; i++) {
		CHECK(call(at + i * 4096) == (int)i);
		CHECK(call(at + i * 4096 + 64) == (int)(1000 + i));
	}
	for (i = at; i < at + pages * 4096 && tl_home_map(i, &m); i = m.hi)
		maps++;
	CHECK(maps < 80);
	tl_os_code_release(at, 4 << 20);
}

/* Detours that lie where the text's bytes want them: here and there, all in one mapping. */
static void scattered_pages_stay_one_mapping(void)
{
	const uintptr_t size = 16 << 20;
	uintptr_t at = 0, again, i;
	struct tl_mapping m;
	uint8_t buf[6];

	CHECK(!tl_os_code_reserve(NEAR((uintptr_t)answer), size, &at));
	tl_os_code_release(at, size);
	CHECK(!tl_os_code_reserve(at, at + size, size, &again) && again == at);
	CHECK(tl_os_code_reserve(at, at + 4096, 4096, &again)); /* taken */
	for (i = 0; i < 300; i++) {
		code_for(buf, (int)i);
		CHECK(!tl_os_code_write(at + i * 7 % 300 * 45056, buf, sizeof(buf)));
		if (i % 100 == 0)
			CHECK(!tl_code_seal());
	}
	CHECK(!tl_code_seal());
	for (i = 0; i < 300; i++)
		CHECK(call(at + i * 7 % 300 * 45056) == (int)i);
	CHECK(tl_home_map(at, &m) && m.lo <= at && m.hi >= at + size);
	tl_os_code_release(at, size);
}

static unsigned counted;

void __real_tl_home_mappings(size_t *n, size_t *max);
void __wrap_tl_home_mappings(size_t *n, size_t *max);
void __wrap_tl_home_mappings(size_t *n, size_t *max)
{
	counted++;
	__real_tl_home_mappings(n, max);
}

/* To count is dear, and nothing of ours may be mapped yet. */
static void mappings_are_counted_once_for_many_places(void)
{
	const size_t size = 16 << 20;
	char *all = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t lo = (uintptr_t)all, at;
	unsigned batch, i;

	CHECK(all != MAP_FAILED);
	for (batch = 1; batch <= 2; batch++) {
		tl_os_lock();
		for (i = 0; i < 50; i++)
			CHECK(tl_os_code_reserve(lo, lo + size, 4096, &at) == -TL_E_OUT_OF_REACH);
		tl_os_unlock();
		CHECK(counted == batch);
	}
	munmap(all, size);
}

static void detours_survive_in_a_fork_child(void)
{
	uintptr_t at = 0;
	uint8_t buf[6];
	int st, go[2];
	char c;
	pid_t pid;

	CHECK(!pipe(go));
	CHECK(!tl_os_code_reserve(NEAR((uintptr_t)answer), 1 << 20, &at));
	code_for(buf, 1);
	CHECK(!tl_os_code_write(at, buf, sizeof(buf)) && !tl_code_seal());
	pid = fork();
	if (!pid)
		_exit(read(go[0], &c, 1) == 1 ? call(at) : 99);
	code_for(buf, 2); /* the parent uses the place for something else */
	tl_os_code_write(at, buf, sizeof(buf));
	tl_code_seal();
	CHECK(write(go[1], "x", 1) == 1);
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 1);
	CHECK(call(at) == 2);
	tl_os_code_release(at, 1 << 20);
}

static void text_changes_and_gets_its_protection_back(void)
{
	uintptr_t at = (uintptr_t)answer;
	uint8_t now[8], was[8];
	struct tl_mapping before, after;

	CHECK(tl_home_map(at, &before));
	CHECK(tl_os_text_read(at, was, 8) == 8);
	memcpy(now, was, 8);
	now[1] = 43;
	CHECK(!tl_os_text_open(at, at + 8));
	CHECK(prot_at(at) == (TL_PROT_READ | TL_PROT_WRITE | TL_PROT_EXEC));
	tl_os_text_store(at, now, 8);
	CHECK(!tl_os_sync_cores());
	CHECK(call(at) == 43);
	tl_os_text_store(at + 1, was + 1, 1);
	tl_os_text_close(at, at + 8);
	CHECK(!tl_os_sync_cores());
	CHECK(call(at) == 42);
	CHECK(tl_home_map(at, &after) && after.prot == before.prot);
	CHECK(tl_os_text_open((uintptr_t)&before, (uintptr_t)&before + 8) == -TL_E_NOT_TEXT);
}

static void reading_text_stops_at_a_hole(void)
{
	char *two = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char buf[64];

	CHECK(two != MAP_FAILED && !munmap(two + 4096, 4096));
	CHECK(tl_os_text_read((uintptr_t)two + 4096 - 10, buf, sizeof(buf)) == 10);
	CHECK(tl_os_text_read((uintptr_t)two + 4096, buf, sizeof(buf)) == 0);
	CHECK(tl_os_text_read(0, buf, 1) == 0 && tl_os_text_read(7, buf, 8) == 0);
	munmap(two, 4096);
}

static void the_trap_table_keeps_many(void)
{
	uintptr_t a;

	for (a = 1; a <= 40000; a++)
		CHECK(!tl_traptab_set(a * 16, a));
	for (a = 1; a <= 40000; a++)
		CHECK(tl_traptab_find(a * 16) == a);
	for (a = 1; a <= 40000; a += 2)
		tl_os_trap_remove(a * 16);
	for (a = 1; a <= 40000; a++)
		CHECK(tl_traptab_find(a * 16) == (a % 2 ? 0 : a));
	for (a = 1; a <= 40000; a++)
		tl_os_trap_remove(a * 16);
	CHECK(!tl_traptab_find(8));
}

static volatile int own_traps;

static void program_trap(int sig)
{
	(void)sig;
	own_traps++;
}

static void patch_byte(uintptr_t at, uint8_t byte)
{
	tl_os_text_open(at, at + 1);
	tl_os_text_store(at, &byte, 1);
	tl_os_text_close(at, at + 1);
	tl_os_sync_cores();
}

static void breakpoints_lead_to_their_detour_and_others_to_the_program(void)
{
	struct sigaction sa = {.sa_handler = program_trap}, old;
	uintptr_t at = (uintptr_t)answer;
	int i;

	sigaction(SIGTRAP, &sa, NULL);
	CHECK(!tl_os_trap_add(at, (uintptr_t)spin_out));
	patch_byte(at, 0xcc);
	for (i = 0; i < 100; i++)
		CHECK(call(at) == 7);
	own_traps = 0;
	__asm__ volatile("int3");
	__asm__ volatile(".byte 0xcd, 3");
	raise(SIGTRAP);
	CHECK(own_traps == 3);
	patch_byte(at, 0xb8);
	tl_os_trap_remove(at);
	CHECK(call(at) == 42);
	tl_own_trap_exit();
	sigaction(SIGTRAP, NULL, &old);
	CHECK(old.sa_handler == program_trap);
}

static void *call_answer(void *arg)
{
	while (run_on) {
		int v = call((uintptr_t)arg);

		if (v != 42 && v != 7)
			bad_results++;
	}
	return NULL;
}

static void breakpoints_come_and_go_under_running_threads(void)
{
	uintptr_t at = (uintptr_t)answer;
	pthread_t t[2];
	int i;

	run_on = true;
	bad_results = 0;
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, call_answer, (void *)at);
	for (i = 0; i < 3000; i++) {
		tl_os_trap_add(at, (uintptr_t)spin_out);
		patch_byte(at, 0xcc);
		patch_byte(at, 0xb8);
		tl_os_trap_remove(at);
	}
	run_on = false;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK(!bad_results);
}

/* --- stopping ----------------------------------------------------------------- */

enum { THREADS = 8 };
static volatile long counts[THREADS];
static volatile int started;

static void *count(void *arg)
{
	volatile long *c = arg;

	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	while (run_on)
		++*c;
	return NULL;
}

static uintptr_t stay(void *arg, uintptr_t pc, bool saved)
{
	(void)arg;
	(void)saved;
	return pc;
}

static bool moved;

static void watch_counts(void *arg)
{
	long before[THREADS];
	int i;

	(void)arg;
	memcpy(before, (void *)counts, sizeof(before));
	tl_os_pause(20000);
	for (i = 0; i < THREADS; i++)
		moved |= before[i] != counts[i];
}

static void wait_started(int n)
{
	while (started < n)
		tl_os_pause(100);
}

static void stopped_threads_stand_still(void)
{
	const struct tl_os_stop stop = {.pc = stay, .done = watch_counts};
	pthread_t t[THREADS];
	int i, ret = 0;

	run_on = true;
	moved = false;
	started = 0;
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, count, (void *)&counts[i]);
	wait_started(THREADS);
	for (i = 0; i < 5 && !ret; i++)
		ret = tl_os_stop_all(&stop);
	run_on = false;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK(!ret);
	CHECK(!moved);
}

static int spinner_got;

static void *spin(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	spinner_got = call((uintptr_t)spin_a);
	return NULL;
}

static int seen_plain, seen_saved;

static uintptr_t out_of_spin(void *arg, uintptr_t pc, bool saved)
{
	bool allow = arg != NULL;

	if (pc != (uintptr_t)spin_here)
		return pc;
	*(saved ? &seen_saved : &seen_plain) = 1;
	return allow ? (uintptr_t)spin_out : 0;
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Until the thread has got there. */
static int stop_until(const struct tl_os_stop *stop, int *seen)
{
	int ret = 0, i;

	*seen = 0;
	for (i = 0; i < 2000 && !*seen; i++) {
		tl_os_pause(1000);
		ret = tl_os_stop_all(stop);
	}
	return ret;
}

static void a_program_counter_is_moved_or_the_stop_refused(void)
{
	const struct tl_os_stop refuse = {.pc = out_of_spin, .done = nothing};
	const struct tl_os_stop allow = {.pc = out_of_spin, .done = nothing, .arg = "yes"};
	pthread_t t;

	started = spinner_got = 0;
	pthread_create(&t, NULL, spin, NULL);
	wait_started(1);
	CHECK(stop_until(&refuse, &seen_plain) == -TL_E_BUSY);
	CHECK(stop_until(&allow, &seen_plain) == 0);
	pthread_join(t, NULL);
	CHECK(spinner_got == 7);
}

static volatile int in_handler, leave_handler;

static void handler(int sig)
{
	(void)sig;
	in_handler = true;
	while (!leave_handler)
		;
}

static void *spin_on_alternate_stack(void *arg)
{
	stack_t ss = {.ss_sp = arg, .ss_size = 65536}, was;

	sigaltstack(arg ? &ss : NULL, &was);
	spin(NULL);
	if (arg)
		sigaltstack(&was, NULL);
	return NULL;
}

/* A thread interrupted at spin_here by a handler that is still running. */
static void saved_counter(bool alternate)
{
	const struct tl_os_stop refuse = {.pc = out_of_spin, .done = nothing};
	const struct tl_os_stop allow = {.pc = out_of_spin, .done = nothing, .arg = "yes"};
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	void *stack = alternate ? malloc(65536) : NULL;
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	started = spinner_got = seen_plain = 0;
	in_handler = leave_handler = false;
	pthread_create(&t, NULL, spin_on_alternate_stack, stack);
	wait_started(1);
	tl_os_pause(50000); /* the thread has but three instructions to go */
	pthread_kill(t, SIGUSR1);
	while (!in_handler)
		tl_os_pause(100);
	CHECK(stop_until(&refuse, &seen_saved) == -TL_E_BUSY);
	CHECK(stop_until(&allow, &seen_saved) == 0);
	leave_handler = true;
	pthread_join(t, NULL);
	CHECK(spinner_got == 7);
	free(stack);
}

static void a_counter_saved_in_a_signal_frame_is_moved(void)
{
	saved_counter(false);
}

static void also_behind_an_alternate_stack(void)
{
	saved_counter(true);
}

static sigjmp_buf back;

static void on_null(int sig)
{
	handler(sig);
	siglongjmp(back, 1);
}

static void *call_null(void *arg)
{
	void (*volatile null)(void) = NULL;

	if (!sigsetjmp(back, 1))
		null();
	return arg;
}

static void a_thread_that_has_called_null_can_be_stopped(void)
{
	const struct tl_os_stop stop = {.pc = stay, .done = nothing};
	struct sigaction sa = {.sa_handler = on_null}, was;
	pthread_t t;
	int ret;

	sigaction(SIGSEGV, &sa, &was);
	in_handler = leave_handler = false;
	pthread_create(&t, NULL, call_null, NULL);
	while (!in_handler)
		tl_os_pause(100);
	ret = tl_os_stop_all(&stop);
	leave_handler = true;
	pthread_join(t, NULL);
	sigaction(SIGSEGV, &was, NULL);
	CHECK(!ret);
}

static void *block_all(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	while (run_on)
		usleep(1000);
	sigemptyset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL); /* what is pending arrives now */
	return NULL;
}

static void a_thread_that_blocks_signals_makes_it_fail(void)
{
	const struct tl_os_stop stop = {.pc = stay, .done = nothing};
	pthread_t t;
	int i, ret = 0;

	run_on = true;
	started = 0;
	pthread_create(&t, NULL, block_all, NULL);
	wait_started(1);
	for (i = 0; i < 20; i++)
		ret |= tl_os_stop_all(&stop) != -TL_E_BUSY;
	run_on = false;
	pthread_join(t, NULL);
	CHECK(!ret);
	CHECK(!tl_os_stop_all(&stop));
}

/* They block all signals, and their program counters are those of who has made them. */
static void threads_that_the_kernel_has_made_need_not_come(void)
{
	const struct tl_os_stop stop = {.pc = stay, .done = nothing};
	struct ring polled, ring;
	int i, ret = 0;

	if (ring_make(&polled, 1) || ring_make(&ring, 0) || ring_turn(&ring) || ring_turn(&polled))
		SKIP("no io_uring here");
	for (i = 0; i < 5 && !ret; i++)
		ret = ring_turn(&ring) || tl_os_stop_all(&stop);
	ring_end(&ring);
	ring_end(&polled);
	CHECK(!ret);
}

static void *call_through(void *arg)
{
	((int (*)(void *))(uintptr_t)calls_out)(arg);
	return NULL;
}

static int sleep_in_call(void)
{
	struct timespec ts = {0, 300000000};

	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	bad_results += nanosleep(&ts, NULL) != 0;
	return 0;
}

static int spin_in_call(void)
{
	__atomic_fetch_add(&started, 1, __ATOMIC_RELAXED);
	while (run_on)
		;
	return 0;
}

enum { STACK_SIZE = 1 << 20 };

/* A stack that nothing ran on before: what is left there would count as the new thread's own. */
static void *map_stack(pthread_attr_t *attr)
{
	char *room =
		mmap(NULL, STACK_SIZE + 2 * TL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(room + TL_PAGE, STACK_SIZE, PROT_READ | PROT_WRITE);
	pthread_attr_init(attr);
	pthread_attr_setstack(attr, room + TL_PAGE, STACK_SIZE);
	return room;
}

static void quiet_sees(int_fn *fn)
{
	uintptr_t lo = (uintptr_t)calls_back, hi = lo + 4;
	int inside, outside, after;
	pthread_attr_t attr;
	void *stack = map_stack(&attr);
	void *nowhere = mmap(NULL, TL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t;

	run_on = true;
	started = 0;
	bad_results = 0;
	pthread_create(&t, &attr, call_through, (void *)fn);
	wait_started(1);
	tl_os_pause(20000);
	inside = tl_os_quiet(lo, hi);
	outside = tl_os_quiet((uintptr_t)nowhere, (uintptr_t)nowhere + 1);
	run_on = false;
	pthread_join(t, NULL);
	after = tl_os_quiet(lo, hi);
	munmap(stack, STACK_SIZE + 2 * TL_PAGE);
	munmap(nowhere, TL_PAGE);
	CHECK(inside == -TL_E_BUSY);
	CHECK(outside == 0);
	CHECK(after == 0);
	CHECK(!bad_results);
}

static void quiet_sees_a_return_address_of_a_running_thread(void)
{
	quiet_sees(spin_in_call);
}

static void quiet_sees_a_sleeping_thread_and_lets_it_sleep(void)
{
	quiet_sees(sleep_in_call);
}

/* --- threads --------------------------------------------------------------------- */

static volatile int thread_ok;

static void *know_thyself(void *arg)
{
	uintptr_t key = tl_os_thread_key(false), main_key = (uintptr_t)arg;
	uint32_t tid = tl_os_thread_id(key);

	thread_ok = key == tl_os_thread_key(true) && key != main_key && tid == tl_gettid() &&
		    tl_os_thread_same(key, tid) && !tl_os_thread_same(key, tid + 1) &&
		    tl_os_thread_alive(tid);
	return NULL;
}

static void threads_know_themselves(void)
{
	uintptr_t key = tl_os_thread_key(false);
	int32_t offset;
	bool fast;
	pthread_t t;

	pthread_create(&t, NULL, know_thyself, (void *)key);
	pthread_join(t, NULL);
	CHECK(thread_ok);
	tl_os_thread_layout(&offset, &fast);
	CHECK(offset > 0);
	CHECK(*(uint32_t *)(key + (uintptr_t)offset) == tl_gettid());
	CHECK(!tl_os_on_signal_stack());
}

static void a_fork_child_finds_the_gate_closed(void)
{
	volatile uint32_t *gate = tl_os_alloc_wiped();
	int st;
	pid_t pid;

	CHECK(gate && !*gate);
	*gate = 1;
	pid = fork();
	if (!pid)
		_exit((int)*gate);
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 0);
	CHECK(*gate == 1);
	tl_os_free_wiped((void *)gate);
}

static long held_count;

static void *take_lock(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 20000; i++) {
		tl_os_lock();
		held_count += tl_os_lock_held();
		tl_os_unlock();
	}
	return NULL;
}

static void the_lock_excludes(void)
{
	pthread_t t[4];
	int i;

	held_count = 0;
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, take_lock, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(held_count == 80000);
	CHECK(!tl_os_lock_held());
}

int main(void)
{
	if (tl_os_init()) {
		printf("not ok init: membarrier is not there\n");
		return 1;
	}
	RUN(mappings_are_counted_once_for_many_places);
	RUN(code_is_never_writable_and_executable);
	RUN(live_code_pages_change_under_running_threads);
	RUN(rewritten_pages_do_not_pile_up_mappings);
	RUN(scattered_pages_stay_one_mapping);
	RUN(detours_survive_in_a_fork_child);
	RUN(text_changes_and_gets_its_protection_back);
	RUN(reading_text_stops_at_a_hole);
	RUN(the_trap_table_keeps_many);
	RUN(breakpoints_lead_to_their_detour_and_others_to_the_program);
	RUN(breakpoints_come_and_go_under_running_threads);
	RUN(stopped_threads_stand_still);
	RUN(a_program_counter_is_moved_or_the_stop_refused);
	RUN(a_counter_saved_in_a_signal_frame_is_moved);
	RUN(also_behind_an_alternate_stack);
	RUN(a_thread_that_has_called_null_can_be_stopped);
	RUN(a_thread_that_blocks_signals_makes_it_fail);
	RUN(threads_that_the_kernel_has_made_need_not_come);
	RUN(quiet_sees_a_return_address_of_a_running_thread);
	RUN(quiet_sees_a_sleeping_thread_and_lets_it_sleep);
	RUN(threads_know_themselves);
	RUN(a_fork_child_finds_the_gate_closed);
	RUN(the_lock_excludes);
	tl_os_exit();
	return UNIT_RESULT();
}
