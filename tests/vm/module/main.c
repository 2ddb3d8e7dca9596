/* SPDX-License-Identifier: MIT */
/*
 * The kernel home, tested from inside: runs when the module is loaded, and
 * prints `ok NAME` or `not ok NAME: why` into the kernel log. Two probes stay
 * until the module goes: one in a kernel function, which init.c looks for, and
 * one in a module that init.c unloads before this one.
 */
#define pr_fmt(fmt) fmt

#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string_helpers.h>
#include "vm.h"

enum { HITS = 10000, PROBES = 4, STEPS_MAX = 4096 };

asmlinkage long vm_whole(long x);
asmlinkage long vm_across(long x);
asmlinkage long vm_short(long x);
asmlinkage long vm_barred(long x);
asmlinkage long vm_faults(long x, const long *at);
asmlinkage long vm_call(long x);
asmlinkage long vm_endbr(long x);
asmlinkage void vm_int3(void);

long vm_victim(long x);

/* --- probes that count ------------------------------------------------------ */

static struct tl_probe probes[PROBES];
static atomic_t hits[PROBES];

static int count(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_inc(p->data);
	return 0;
}

/* Its size, out of "name+0x0/0xSIZE [module]". */
static uint32_t size_of_function(unsigned long start)
{
	char text[KSYM_SYMBOL_LEN], *slash;
	unsigned long size = 0;

	sprint_symbol(text, start);
	slash = strchr(text, '/');
	if (slash)
		size = simple_strtoul(slash + 1, NULL, 16);
	return (uint32_t)size;
}

/* Offsets count from behind the entry's ENDBR, where it has one. */
static struct tl_probe *prepare(unsigned n, void *func, size_t off, uint32_t flags)
{
	probes[n] = (struct tl_probe){
		.addr = func + pad_of(func) + off,
		.pre = count,
		.data = &hits[n],
		.flags = flags,
		.func_start = (uintptr_t)func,
		.func_size = size_of_function((unsigned long)func),
	};
	atomic_set(&hits[n], 0);
	return &probes[n];
}

static int arm(unsigned n, void *func, size_t off, uint32_t flags)
{
	return tl_probe_register(prepare(n, func, off, flags));
}

static int disarm(unsigned n)
{
	return tl_probe_unregister(&probes[n]);
}

static struct tl_probe_info info_of(unsigned n)
{
	return info_of_probe(&probes[n]);
}

static uint8_t byte_at(void *func, size_t off)
{
	return READ_ONCE(*((const uint8_t *)func + pad_of(func) + off));
}

/* --- one probe of each kind, counted ------------------------------------------- */

static const char *count_calls(long (*fn)(long x), long plus)
{
	for (long i = 0; i < HITS; i++)
		CHECK(fn(i) == i + plus);
	return NULL;
}

/* Registered on the rung that is wanted, hit HITS times, taken away; the text shows each step. */
static const char *one(
	long (*fn)(long x), size_t off, long plus, uint32_t flags, enum tl_rung rung, uint8_t armed)
{
	const char *why;
	uint8_t bare = byte_at(fn, off);

	CHECK(arm(0, fn, off, flags) == 0);
	CHECK(info_of(0).rung == rung);
	CHECK(byte_at(fn, off) == armed);
	why = count_calls(fn, plus);
	if (why)
		return why;
	CHECK(atomic_read(&hits[0]) == HITS && probes[0].nmissed == 0);
	CHECK(disarm(0) == 0);
	CHECK(byte_at(fn, off) == bare);
	why = count_calls(fn, plus);
	CHECK(atomic_read(&hits[0]) == HITS);
	return why;
}

static const char *a_trap_counts_10000_hits(void)
{
	return one(vm_whole, 0, 0x100, TL_PROBE_NO_JUMP, TL_RUNG_TRAP, 0xcc);
}

static const char *a_whole_jump_counts_10000_hits(void)
{
	return one(vm_whole, 0, 0x100, TL_PROBE_NO_TRAP, TL_RUNG_WHOLE, 0xe9);
}

static const char *a_jump_over_two_words_counts_10000_hits(void)
{
	CHECK((((unsigned long)vm_across + pad_of(vm_across)) & 7) == 0);
	return one(vm_across, 4, 0x12346, TL_PROBE_NO_TRAP, TL_RUNG_WHOLE, 0xe9);
}

static const char *a_retargeted_call_counts_10000_hits(void)
{
	return one(vm_call, 0, 0x22, TL_PROBE_NO_TRAP, TL_RUNG_RETARGET, 0xe8);
}

static const char *a_window_counts_10000_hits(void)
{
	return one(vm_short, 0, 2, TL_PROBE_NO_TRAP, TL_RUNG_WINDOW, 0xe9);
}

/* In its copy, as in the text. */
static const char *faults_at(size_t off, uint32_t flags, enum tl_rung rung)
{
	const long *nowhere = (const long *)-PAGE_SIZE, there = 9;

	CHECK(arm(0, vm_faults, off, flags) == 0 && info_of(0).rung == rung);
	for (long i = 0; i < 100; i++)
		CHECK(vm_faults(i, nowhere) == i + 4 && vm_faults(i, &there) == 9);
	CHECK(atomic_read(&hits[0]) == 200);
	CHECK(disarm(0) == 0);
	CHECK(vm_faults(3, nowhere) == 7);
	return NULL;
}

static const char *what_faults_in_a_detour_goes_on_where_it_would(void)
{
	const char *why = faults_at(0, TL_PROBE_NO_TRAP, TL_RUNG_WINDOW);

	why = why ? why : faults_at(4, TL_PROBE_NO_JUMP, TL_RUNG_TRAP);
	return why ? why : faults_at(0, TL_PROBE_NO_JUMP, TL_RUNG_TRAP);
}

static const char *a_short_instruction_takes_a_trap_and_says_why(void)
{
	struct tl_probe_info info;

	CHECK(arm(0, vm_barred, 0, 0) == 0);
	info = info_of(0);
	CHECK(info.rung == TL_RUNG_TRAP);
	CHECK(info.why[TL_RUNG_WHOLE] == -TL_E_SHORT_INSN &&
		info.why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	CHECK(info.why[TL_RUNG_PUN] == -TL_E_OUT_OF_REACH);
	CHECK(disarm(0) == 0);
	return NULL;
}

/* --- functions of the kernel itself ------------------------------------------------ */

static const char *call_kernel(void)
{
	char text[32];

	for (int i = 0; i < HITS; i++) {
		string_get_size(4096, 1024, STRING_UNITS_2, text, sizeof(text));
		CHECK(strcmp(text, "4.00 MiB") == 0);
	}
	return NULL;
}

/* The first instruction behind the entry that takes this rung. */
static size_t arm_kernel(uint32_t flags, enum tl_rung rung)
{
	size_t size = size_of_function((unsigned long)string_get_size);

	for (size_t off = 1; off < size && off < STEPS_MAX; off++) {
		if (arm(0, string_get_size, off, flags))
			continue;
		if (info_of(0).rung == rung)
			return off;
		disarm(0);
	}
	return 0;
}

static const char *kernel_function(uint32_t flags, enum tl_rung rung, uint8_t armed)
{
	size_t off = arm_kernel(flags, rung);
	const char *why;

	CHECK(off);
	CHECK(byte_at(string_get_size, off) == armed);
	why = call_kernel();
	if (why)
		return why;
	CHECK(atomic_read(&hits[0]) >= HITS && probes[0].nmissed == 0);
	CHECK(disarm(0) == 0);
	return call_kernel();
}

static const char *a_kernel_function_by_trap(void)
{
	return kernel_function(TL_PROBE_NO_JUMP, TL_RUNG_TRAP, 0xcc);
}

static const char *a_kernel_function_by_jump(void)
{
	return kernel_function(TL_PROBE_NO_TRAP, TL_RUNG_WHOLE, 0xe9);
}

/* --- refusals -------------------------------------------------------------------------- */

extern void __stack_chk_fail(void); /* noinstr */
static DEFINE_STATIC_KEY_FALSE(some_key);

static const char *text_of_others_is_refused(void)
{
	const struct jump_entry *label = THIS_MODULE->jump_entries;
	unsigned long at;

	/* ftrace's call at the entry of every traced function */
	CHECK(arm(0, kthread_stop, 0, 0) == -TL_E_RESERVED);
	if (static_branch_unlikely(&some_key))
		return "the key is off";
	CHECK(THIS_MODULE->num_jump_entries > 0);
	at = jump_entry_code(label);
	prepare(0, (void *)at, 0, 0);
	CHECK(tl_probe_register(&probes[0]) == -TL_E_RESERVED);
	return NULL;
}

static const char *dangerous_text_is_refused(void)
{
	CHECK(arm(0, __stack_chk_fail, 0, 0) == -TL_E_BLACKLIST);
	CHECK(arm(0, memcpy, 0, 0) == -TL_E_BLACKLIST);
	CHECK(arm(0, tl_probe_register, 0, 0) == -TL_E_SELF);
	CHECK(arm(0, &some_key, 0, 0) == -TL_E_NOT_TEXT);
	CHECK(arm(0, vm_whole, 1, 0) == -TL_E_NOT_BOUNDARY);
	return NULL;
}

/* A task has one stack that the kernel knows. */
static const char *private_stacks_are_refused(void)
{
	CHECK(arm(0, vm_whole, 0, TL_PROBE_BIG_STACK) == -TL_E_LIMIT);
	return NULL;
}

static const char *endbr_is_never_overwritten(void)
{
	const u8 *text = (const u8 *)vm_endbr;

	CHECK(arm(0, vm_endbr, -4, 0) == -TL_E_BLACKLIST);
	CHECK(arm(0, vm_endbr, 0, TL_PROBE_NO_TRAP) == 0);
	CHECK(text[0] == 0xf3 && text[3] == 0xfa);
	CHECK(vm_endbr(1) == 0x301 && atomic_read(&hits[0]) == 1);
	CHECK(disarm(0) == 0);
	return NULL;
}

/* --- handlers ---------------------------------------------------------------------------- */

static int add_to_argument(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	regs->di += 5;
	return 0;
}

static const char *registers_are_honoured(uint32_t flags)
{
	struct tl_probe *p = prepare(0, vm_whole, 0, flags);

	p->pre = add_to_argument;
	CHECK(tl_probe_register(p) == 0);
	CHECK(vm_whole(1) == 0x106);
	CHECK(tl_probe_unregister(p) == 0);
	CHECK(vm_whole(1) == 0x101);
	return NULL;
}

static const char *changed_registers_are_honoured(void)
{
	const char *why = registers_are_honoured(TL_PROBE_NO_TRAP | TL_PROBE_REGS);

	return why ? why : registers_are_honoured(TL_PROBE_NO_JUMP);
}

static int run_into_a_probe(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	vm_short(1);
	return count(p, regs, self);
}

static const char *a_handler_that_runs_into_a_probe_skips_it(void)
{
	struct tl_probe *p = prepare(0, vm_whole, 0, 0);

	p->pre = run_into_a_probe;
	CHECK(tl_probe_register(p) == 0 && arm(1, vm_short, 0, 0) == 0);
	for (long i = 0; i < 100; i++)
		CHECK(vm_whole(i) == i + 0x100);
	CHECK(atomic_read(&hits[0]) == 100 && atomic_read(&hits[1]) == 0);
	CHECK(probes[1].nmissed == 100);
	CHECK(disarm(1) == 0 && disarm(0) == 0);
	return NULL;
}

static atomic_t returned, result_sum;

static void on_return(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_inc(&returned);
	atomic_add((int)regs->ax, &result_sum);
}

static const char *a_return_probe_sees_results(void)
{
	size_t pad = pad_of(vm_call);
	struct tl_func_part part = {
		(uintptr_t)vm_call + pad, size_of_function((unsigned long)vm_call) - pad};
	struct tl_retprobe rp = {
		.entry = (void *)part.start, .on_return = on_return, .parts = &part, .nparts = 1};
	int ret;

	ret = tl_retprobe_register(&rp);
	CHECK(ret == 0);
	for (long i = 0; i < 100; i++)
		vm_call(i);
	ret = tl_retprobe_unregister(&rp);
	CHECK(ret == 0);
	CHECK(atomic_read(&returned) == 100 && rp.nmissed == 0);
	CHECK(atomic_read(&result_sum) == 100 * 99 / 2 + 100 * 0x22);
	return NULL;
}

/* --- what our own work runs through ------------------------------------------------------- */

static int arm_behind_entry(unsigned n, void *func, uint32_t flags)
{
	return arm(n, func, behind_entry(func) - pad_of(func), flags);
}

static unsigned long behind_int3;

/* Somebody's who comes before all others, if he can. */
static noinline int on_die(struct notifier_block *nb, unsigned long what, void *data)
{
	const struct die_args *args = data;

	return what == DIE_INT3 && args->regs->ip == behind_int3 ? NOTIFY_STOP : NOTIFY_DONE;
}

static struct notifier_block die_block = {.notifier_call = on_die, .priority = INT_MAX};

/* A breakpoint in who is asked about breakpoints. */
static const char *breakpoints_on_the_way_of_breakpoints(void)
{
	void *others = find("hw_breakpoint_exceptions_notify");

	behind_int3 = (unsigned long)vm_int3 + pad_of(vm_int3) + 1;
	CHECK(others && arm_behind_entry(0, others, TL_PROBE_NO_JUMP) == 0);
	CHECK(arm_behind_entry(1, on_die, TL_PROBE_NO_JUMP) == 0);
	CHECK(arm(2, vm_whole, 0, TL_PROBE_NO_JUMP) == 0);
	CHECK(register_die_notifier(&die_block) == 0);
	for (long i = 0; i < 100; i++)
		CHECK(vm_whole(i) == i + 0x100);
	vm_int3();
	CHECK(unregister_die_notifier(&die_block) == 0);
	CHECK(atomic_read(&hits[0]) == 1 && atomic_read(&hits[1]) == 1);
	CHECK(atomic_read(&hits[2]) == 100);
	CHECK(disarm(0) == 0 && disarm(1) == 0 && disarm(2) == 0);
	return NULL;
}

/* Each change stops all processors, which are led there through probed code. */
static const char *stops_run_through_probes(uint32_t flags)
{
	void *quiet = find("rcu_momentary_eqs");

	quiet = quiet ? quiet : find("rcu_momentary_dyntick_idle");
	CHECK(arm_behind_entry(1, find("multi_cpu_stop"), flags) == 0);
	CHECK(quiet && arm_behind_entry(2, quiet, flags) == 0);
	for (unsigned i = 0; i < 20; i++) {
		CHECK(arm(0, vm_whole, 0, 0) == 0 && vm_whole(1) == 0x101);
		CHECK(atomic_read(&hits[0]) == 1 && disarm(0) == 0);
	}
	CHECK(atomic_read(&hits[1]) > 20 && atomic_read(&hits[2]) > 20);
	CHECK(disarm(1) == 0 && disarm(2) == 0);
	return NULL;
}

static const char *what_processors_run_when_they_are_stopped_is_probed(void)
{
	const char *why;

	CHECK(tl_probes_patching(TL_PATCHING_STOP) == 0);
	why = stops_run_through_probes(TL_PROBE_NO_JUMP);
	if (!why)
		why = stops_run_through_probes(0);
	tl_probes_patching(TL_PATCHING_AUTO);
	return why;
}

/* --- several processors ---------------------------------------------------------------------- */

static atomic_t wrong, irq_wrong;
static atomic_long_t rounds;

static int call_for_ever(void *unused)
{
	while (!kthread_should_stop()) {
		for (long i = 0; i < 100; i++)
			if (vm_whole(i) != i + 0x100 || vm_across(i) != i + 0x12346 ||
				vm_call(i) != i + 0x22)
				atomic_inc(&wrong);
		atomic_long_inc(&rounds);
		cond_resched();
	}
	return 0;
}

static struct task_struct *callers[2];

static void callers_stop(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		if (!IS_ERR_OR_NULL(callers[i]))
			kthread_stop(callers[i]);
		callers[i] = NULL;
	}
}

static bool callers_start(void)
{
	atomic_set(&wrong, 0);
	for (size_t i = 0; i < ARRAY_SIZE(callers); i++) {
		callers[i] = kthread_create(call_for_ever, NULL, "trapless_vm/%zu", i);
		if (IS_ERR(callers[i]))
			return false;
		kthread_bind(callers[i], (unsigned)i % num_online_cpus());
		wake_up_process(callers[i]);
	}
	return true;
}

/* By one store, by steps with passing breakpoints, with all processors stopped. */
static const enum tl_patching ways[] = {TL_PATCHING_AUTO, TL_PATCHING_SPIN, TL_PATCHING_STOP};

static const char *armed_and_disarmed(void)
{
	struct tl_probe *three[3] = {&probes[0], &probes[1], &probes[2]};
	long seen;

	for (unsigned i = 0; i < 40; i++) {
		CHECK(tl_probes_patching(ways[i % ARRAY_SIZE(ways)]) == 0);
		prepare(0, vm_whole, 0, i % 4 == 3 ? TL_PROBE_NO_JUMP : 0);
		prepare(1, vm_across, 4, 0);
		prepare(2, vm_call, 0, 0);
		CHECK(tl_probes_register(three, 3, NULL) == 0);
		if (i % 5 == 0) {
			CHECK(tl_probes_optimize(false) == 0 && info_of(1).rung == TL_RUNG_TRAP);
			CHECK(tl_probes_optimize(true) == 0 && info_of(1).rung == TL_RUNG_WHOLE);
		}
		seen = atomic_long_read(&rounds);
		/* Two of these may have begun before: one is whole. */
		while (atomic_long_read(&rounds) < seen + 4)
			cond_resched();
		CHECK(atomic_read(&hits[0]) && atomic_read(&hits[1]) && atomic_read(&hits[2]));
		CHECK(tl_probes_unregister(three, 3) == 0);
		CHECK(atomic_read(&wrong) == 0);
	}
	return NULL;
}

static const char *probes_come_and_go_under_two_processors(void)
{
	const char *why = callers_start() ? armed_and_disarmed() : "no threads";

	callers_stop();
	tl_probes_patching(TL_PATCHING_AUTO);
	return why;
}

static atomic_t inside, left;

/* For a time, and not for anybody: a handler may not wait. */
static int stay_inside(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_set(&inside, 1);
	mdelay(100);
	atomic_set(&left, 1);
	return 0;
}

static int call_once(void *unused)
{
	vm_whole(1);
	while (!kthread_should_stop())
		msleep(1);
	return 0;
}

static const char *take_away_while_inside(bool *late)
{
	struct tl_probe *p = prepare(0, vm_whole, 0, TL_PROBE_NO_TRAP);
	struct task_struct *task;
	int ret;

	atomic_set(&inside, 0);
	atomic_set(&left, 0);
	p->pre = stay_inside;
	CHECK(tl_probe_register(p) == 0);
	task = kthread_create(call_once, NULL, "trapless_vm/in");
	CHECK(!IS_ERR(task));
	kthread_bind(task, (raw_smp_processor_id() + 1) % num_online_cpus());
	wake_up_process(task);
	while (!atomic_read(&inside))
		cond_resched();
	*late = atomic_read(&left);
	ret = tl_probe_unregister(p);
	CHECK(atomic_read(&left) && ret == 0);
	kthread_stop(task);
	return NULL;
}

/* The caller may free its probe, and the handler's code, as soon as it is taken away. */
static const char *taking_away_waits_for_a_running_handler(void)
{
	const char *why = NULL;
	bool late = true;

	/* On a slow machine the handler may be through before we look. */
	for (unsigned i = 0; i < 10 && late && !why; i++)
		why = take_away_while_inside(&late);
	if (why)
		return why;
	CHECK(!late);
	return NULL;
}

static void call_in_interrupt(void *unused)
{
	if (!in_hardirq() && !irqs_disabled())
		atomic_inc(&irq_wrong);
	if (vm_whole(7) != 0x107 || vm_across(7) != 0x1234d)
		atomic_inc(&irq_wrong);
}

static const char *interrupts_are_counted_exactly(void)
{
	CHECK(arm(0, vm_whole, 0, TL_PROBE_NO_JUMP) == 0 &&
		arm(1, vm_across, 4, TL_PROBE_NO_TRAP) == 0);
	for (unsigned i = 0; i < 1000; i++)
		on_each_cpu(call_in_interrupt, NULL, 1);
	CHECK(atomic_read(&irq_wrong) == 0);
	CHECK(atomic_read(&hits[0]) == 1000 * num_online_cpus());
	CHECK(atomic_read(&hits[1]) == 1000 * num_online_cpus());
	CHECK(probes[0].nmissed == 0 && probes[1].nmissed == 0);
	CHECK(disarm(0) == 0 && disarm(1) == 0);
	return NULL;
}

/* --- a module that is unloaded ---------------------------------------------------------------- */

/* Without holding on to it. */
static const char *arm_victim(void)
{
	long (*fn)(long x) = symbol_get(vm_victim);
	const char *why;

	CHECK(fn);
	why = arm(1, fn, 0, 0) ? "it is not armed" : NULL;
	if (!why && (fn(2) != 6 || atomic_read(&hits[1]) != 1))
		why = "it is not counted";
	symbol_put(vm_victim);
	return why;
}

static const char *victim_is_gone(void)
{
	CHECK(disarm(0) == 0); /* any work makes the engine look around */
	CHECK(probes[1].state == TL_PROBE_GONE);
	CHECK(disarm(1) == 0);
	return NULL;
}

/* --- all of them -------------------------------------------------------------------------------- */

static const struct test tests[] = {
	{TEST(a_trap_counts_10000_hits)},
	{TEST(a_whole_jump_counts_10000_hits)},
	{TEST(a_jump_over_two_words_counts_10000_hits)},
	{TEST(a_retargeted_call_counts_10000_hits)},
	{TEST(a_window_counts_10000_hits)},
	{TEST(what_faults_in_a_detour_goes_on_where_it_would)},
	{TEST(a_short_instruction_takes_a_trap_and_says_why)},
	{TEST(a_kernel_function_by_trap)},
	{TEST(a_kernel_function_by_jump)},
	{TEST(text_of_others_is_refused)},
	{TEST(dangerous_text_is_refused)},
	{TEST(private_stacks_are_refused)},
	{TEST(endbr_is_never_overwritten)},
	{TEST(changed_registers_are_honoured)},
	{TEST(a_handler_that_runs_into_a_probe_skips_it)},
	{TEST(a_return_probe_sees_results)},
	{TEST(breakpoints_on_the_way_of_breakpoints)},
	{TEST(what_processors_run_when_they_are_stopped_is_probed)},
	{TEST(probes_come_and_go_under_two_processors)},
	{TEST(taking_away_waits_for_a_running_handler)},
	{TEST(interrupts_are_counted_exactly)},
};

/* What a failed test has left. */
static void drop_all(void)
{
	for (unsigned n = 0; n < PROBES; n++)
		if (probes[n].state == TL_PROBE_ARMED || probes[n].state == TL_PROBE_OFF)
			disarm(n);
}

static int __init vm_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		const char *why = tests[i].fn();

		drop_all();
		say(tests[i].name, why);
	}
	arm_kernel(TL_PROBE_NO_TRAP, TL_RUNG_WHOLE);
	say("a_module_is_probed", arm_victim());
	return 0;
}

static void __exit vm_exit(void)
{
	say("a_probe_goes_with_its_module", victim_is_gone());
	drop_all();
}

module_init(vm_init);
module_exit(vm_exit);
MODULE_DESCRIPTION("trapless: tests of the kernel home");
MODULE_LICENSE("Dual MIT/GPL");
