/* SPDX-License-Identifier: MIT */
/* Thread records, the guard, nested and abandoned handlers, grace periods. */
#include "../../../engine/core/ret/ret.h"
#include "machine.h"

static struct cpu cpu;

static void program(void)
{
	world();
	E(TOY_ADDI, 0, 7, 0, 0, 0, TOY_ADDI, 1, 5, 0, 0, 0, TOY_RET);
	hits = 0;
}

static bool clean(void)
{
	for (unsigned i = 0; i < FAKE_THREADS; i++)
		fake.threads[i].used = false;
	tl_engine_exit();
	return !fake.live && !fake.code_used;
}

static struct tl_thread *thread_of(uintptr_t key)
{
	for (unsigned i = 0; i < TL_THREADS; i++)
		if (tl_core.env.threads[i].key == key)
			return &tl_core.env.threads[i];
	return NULL;
}

static struct tl_probe inner, outer;

/* A handler that runs into a probe itself, deeper on the stack. */
static int nesting(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	struct tl_thread *t = tl_thread_enter_slow(inner.site, TL_REGS_SP(regs) - 64, self->key);

	(void)p;
	hits += t ? 100 : 1;
	return 0;
}

static void nested_hits_are_missed_and_counted(void)
{
	program();
	outer = probe_at(0, 13, nesting);
	inner = probe_at(6, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0 && tl_probe_register(&inner) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 2); /* the nested one missed, the ordinary one counted */
	CHECK(inner.nmissed == 1 && outer.nmissed == 0);
	CHECK(thread_of(cpu.key)->nmissed == 1 && !thread_of(cpu.key)->guard);
	CHECK(tl_probe_unregister(&outer) == 0 && tl_probe_unregister(&inner) == 0);
	CHECK(clean());
}

static void an_abandoned_handler_does_not_lock_its_thread_out(void)
{
	struct tl_thread *t;

	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 1);
	t = thread_of(cpu.key);
	t->guard = (uintptr_t)&cpu.stack[STACK - 9]; /* siglongjmp left it from down there */
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 2 && !t->guard);
	t->guard = (uintptr_t)&cpu.stack[STACK - 1]; /* from the very same depth */
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 3 && !t->guard);
	t->guard = (uintptr_t)&cpu.stack[STACK - 9];
	fake.on_signal_stack =
		true; /* there the comparison says nothing: the handler may still run */
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 3 && t->guard && outer.nmissed == 1);
	t->guard = 0;
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(clean());
}

static void a_reused_thread_pointer_starts_anew(void)
{
	struct tl_thread *t;

	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu));
	t = thread_of(cpu.key);
	*tl_thread_local(t, 3) = &cpu;
	t->guard = 5;
	CHECK(tl_thread_tid(t) == 100 && !tl_thread_local(t, TL_LOCALS));
	cpu_init(&cpu, 1, 0);
	cpu.key = 0x7000;
	fake.threads[0].used = false;
	CHECK(run(&cpu) && hits == 2);
	CHECK(thread_of(0x7000) == t && t->tid == 101 && !t->local[3] && !t->guard);
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(clean());
}

static void dead_threads_are_swept(void)
{
	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	for (unsigned i = 0; i < 3 * TL_THREADS; i++) {
		cpu_init(&cpu, 0, 0);
		cpu.thread->tid = 1000 + i;
		cpu.key = 0x100000 + 0x40 * i;
		CHECK(run(&cpu));
		if (i % 64 == 0)
			CHECK(tl_probe_disable(&outer) == 0 && tl_probe_enable(&outer) == 0);
		if (i % 1024 == 1023) {
			fake.threads[0].used = false;
			inner = probe_at(6, 13, count_hit);
			CHECK(tl_probe_register(&inner) == 0 && tl_probe_unregister(&inner) == 0);
		}
	}
	CHECK(hits == 3 * TL_THREADS && outer.nmissed == 0);
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(clean());
}

static void a_full_table_is_counted(void)
{
	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	for (unsigned i = 0; i < TL_THREADS; i++)
		if (!tl_core.env.threads[i].key)
			tl_core.env.threads[i].key = 8;
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu) && hits == 0);
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(outer.nmissed == 1);
	CHECK(clean());
}

static void half_as_many_threads_as_records_are_served(void)
{
	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	for (unsigned i = 0; i < TL_THREADS / 2; i++) {
		fake.key = 0x100000 + 0x10840 * (uintptr_t)i;
		fake.tid = 1000 + i;
		CHECK(tl_thread_enter_slow(outer.site, 1000, fake.key) != NULL);
	}
	CHECK(tl_probe_unregister(&outer) == 0 && outer.nmissed == 0);
	CHECK(clean());
}

static void numbers_are_given_once(void)
{
	static struct tl_thread t[TL_RET_THREADS + 1];

	program();
	for (unsigned i = 0; i < TL_RET_THREADS; i++)
		CHECK(tl_ret_number_take(&t[i]) && t[i].ret_at == (i + 1) * TL_RET_STEP);
	CHECK(!tl_ret_number_take(&t[TL_RET_THREADS]) && !t[TL_RET_THREADS].ret_at);
	CHECK(tl_ret_numbers() == TL_RET_THREADS && tl_ret_numbered(7) == &t[6]);
	tl_os_lock();
	tl_ret_number_give(&t[6]);
	tl_os_unlock();
	CHECK(!t[6].ret_at && !tl_ret_numbered(7));
	CHECK(tl_ret_number_take(&t[TL_RET_THREADS]) && tl_ret_numbered(7) == &t[TL_RET_THREADS]);
	tl_ret_numbers_deinit();
	CHECK(clean());
}

static void big_stacks_come_from_the_pool(void)
{
	struct tl_thread *t;

	program();
	outer = probe_at(0, 13, count_hit);
	outer.flags = TL_PROBE_BIG_STACK;
	CHECK(tl_probe_register(&outer) == 0);
	t = tl_thread_enter_slow(outer.site, 1000, fake.key);
	CHECK(t && t->stack);
	for (unsigned i = 1; i < TL_STACKS; i++) {
		fake.key += 64;
		fake.tid++;
		t = tl_thread_enter_slow(outer.site, 1000, fake.key);
		CHECK(t && t->stack);
	}
	fake.key += 64;
	fake.tid++;
	CHECK(!tl_thread_enter_slow(outer.site, 1000, fake.key));
	CHECK(tl_probe_unregister(&outer) == 0 && outer.nmissed == 1);
	CHECK(clean());
}

/* --- grace periods ------------------------------------------------------------- */

static struct tl_thread *busy;
static unsigned pauses_left;

static void handler_ends(void)
{
	if (pauses_left && !--pauses_left)
		busy->guard = 0;
}

static void unregister_waits_for_running_handlers(void)
{
	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu));
	busy = thread_of(cpu.key);
	busy->guard = 0x4000;
	fake.threads[0].holds = outer.site->patch->detour->at + 4; /* it will return there */
	pauses_left = 777;
	fake.on_pause = handler_ends;
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(!busy->guard && !pauses_left && fake.pauses >= 777);
	CHECK(clean());
}

static void a_stale_guard_does_not_block_for_ever(void)
{
	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	cpu_init(&cpu, 0, 0);
	CHECK(run(&cpu));
	busy = thread_of(cpu.key);
	busy->guard = 0x4000; /* left behind; nobody is in the detour */
	CHECK(tl_probe_unregister(&outer) == 0);
	CHECK(busy->guard == 0x4000);
	CHECK(clean());
}

static void the_store_comes_before_the_barrier(void)
{
	size_t i, synced = 0;

	program();
	outer = probe_at(0, 13, count_hit);
	CHECK(tl_probe_register(&outer) == 0);
	fake.nlog = 0;
	CHECK(tl_probe_unregister(&outer) == 0);
	for (i = 0; i < fake.nlog; i++)
		if (fake.log[i].what == FAKE_SYNC_MEMORY)
			synced++;
	CHECK(synced == 1 && fake.log[fake.nlog - 1].what == FAKE_SYNC_MEMORY);
	CHECK(clean());
}

int main(void)
{
	RUN(nested_hits_are_missed_and_counted);
	RUN(an_abandoned_handler_does_not_lock_its_thread_out);
	RUN(a_reused_thread_pointer_starts_anew);
	RUN(dead_threads_are_swept);
	RUN(a_full_table_is_counted);
	RUN(half_as_many_threads_as_records_are_served);
	RUN(numbers_are_given_once);
	RUN(big_stacks_come_from_the_pool);
	RUN(unregister_waits_for_running_handlers);
	RUN(a_stale_guard_does_not_block_for_ever);
	RUN(the_store_comes_before_the_barrier);
	return UNIT_RESULT();
}
