/* SPDX-License-Identifier: MIT */
/* The kernel's kprobes in functions that are probed by us: who comes first, who goes first. */
#define pr_fmt(fmt) fmt

#include <linux/module.h>
#include "vm.h"

enum { CALLS = 1000, JUMP = 0xe9, INT3 = 0xcc };

/* Its first instruction has room for a jump; the next one has a long branch to its second instruction. */
VM_FUNCTIONS("FUNCTION near_long\n\tmov $0x100, %eax\n\tadd %edi, %eax\n\tEND near_long\n"
	     "FUNCTION near_loop\n\tlea 2(%rdi), %rax\n1:\tcmp %eax, %eax\n"
	     "\t.byte 0x0f, 0x85\n\t.long 1b - . - 4\n\tEND near_loop\n"
	     "FUNCTION near_free\n\tlea 2(%rdi), %rax\n\tcmp %eax, %eax\n\tEND near_free\n");
asmlinkage long near_long(long x);
asmlinkage long near_loop(long x);
asmlinkage long near_free(long x);
enum { LOOP_BRANCH = 6 };

static atomic_t ours, theirs;

static int our_hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_inc(&ours);
	return 0;
}

static int their_hit(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&theirs);
	return 0;
}

static u8 byte_at(long (*fn)(long x))
{
	return READ_ONCE(*(const u8 *)fn);
}

static struct tl_probe probe_at(long (*fn)(long x), size_t off)
{
	return (struct tl_probe){.addr = (u8 *)fn + off, .pre = our_hit};
}

static struct kprobe kprobe_at(long (*fn)(long x), size_t off)
{
	return (struct kprobe){.addr = (void *)fn + off, .pre_handler = their_hit};
}

static const char *call(long (*fn)(long x), long plus, int by_us, int by_them)
{
	atomic_set(&ours, 0);
	atomic_set(&theirs, 0);
	for (long i = 0; i < CALLS; i++)
		CHECK(fn(i) == i + plus);
	CHECK(atomic_read(&ours) == by_us && atomic_read(&theirs) == by_them);
	return NULL;
}

#define TRY(call)                                                                                  \
	do {                                                                                       \
		const char *why_ = call;                                                           \
                                                                                                   \
		if (why_)                                                                          \
			return why_;                                                               \
	} while (0)

/* Any work of the engine tries what was left once more. */
static const char *work(void)
{
	struct tl_probe p = probe_at(near_free, 0);

	CHECK(tl_probe_register(&p) == 0 && tl_probe_unregister(&p) == 0);
	return NULL;
}

/* --- it comes after us, at our place ----------------------------------------------------- */

static struct tl_probe on_long;
static struct kprobe over_us;

static const char *leave_before_it(u32 flags, int hits)
{
	u8 first = byte_at(near_long);

	on_long = probe_at(near_long, 0);
	over_us = kprobe_at(near_long, 0);
	over_us.flags = flags;
	CHECK(tl_probe_register(&on_long) == 0 && byte_at(near_long) == JUMP);
	CHECK(register_kprobe(&over_us) == 0);
	TRY(call(near_long, 0x100, CALLS, hits));
	CHECK(tl_probe_unregister(&on_long) == 0);
	TRY(call(near_long, 0x100, 0, hits));
	TRY(work());
	CHECK(byte_at(near_long) == (hits ? INT3 : JUMP));
	if (!hits)
		CHECK(enable_kprobe(&over_us) == 0);
	TRY(call(near_long, 0x100, 0, CALLS));
	unregister_kprobe(&over_us);
	CHECK(byte_at(near_long) == JUMP);
	TRY(call(near_long, 0x100, 0, 0));
	TRY(work());
	CHECK(byte_at(near_long) == first);
	return call(near_long, 0x100, 0, 0);
}

static const char *our_jump_stays_for_a_kprobe_on_it(void)
{
	return leave_before_it(0, CALLS);
}

static const char *our_jump_stays_for_a_kprobe_that_is_off(void)
{
	return leave_before_it(KPROBE_FLAG_DISABLED, 0);
}

static const char *a_kprobe_on_our_jump_goes_before_us(void)
{
	u8 first = byte_at(near_long);

	on_long = probe_at(near_long, 0);
	over_us = kprobe_at(near_long, 0);
	CHECK(tl_probe_register(&on_long) == 0 && register_kprobe(&over_us) == 0);
	TRY(call(near_long, 0x100, CALLS, CALLS));
	unregister_kprobe(&over_us);
	TRY(call(near_long, 0x100, CALLS, 0));
	CHECK(tl_probe_unregister(&on_long) == 0 && byte_at(near_long) == first);
	return call(near_long, 0x100, 0, 0);
}

/* The kernel takes no breakpoint of others for an instruction. */
static const char *a_kprobe_on_our_breakpoint_is_refused(void)
{
	struct tl_probe p = probe_at(near_loop, 0);
	struct kprobe kp = kprobe_at(near_loop, 0);

	CHECK(tl_probe_register(&p) == 0 && byte_at(near_loop) == INT3);
	CHECK(register_kprobe(&kp) != 0);
	CHECK(tl_probe_unregister(&p) == 0);
	return call(near_loop, 2, 0, 0);
}

/* --- elsewhere in the function -------------------------------------------------------------- */

/* It stands on the branch, which leads into what a window of ours would replace. */
static const char *no_window_covers_what_a_branch_under_a_kprobe_leads_to(void)
{
	struct tl_probe p = probe_at(near_loop, 0);
	struct kprobe kp = kprobe_at(near_loop, LOOP_BRANCH);
	enum tl_rung rung;

	CHECK(register_kprobe(&kp) == 0 && tl_probe_register(&p) == 0);
	rung = info_of_probe(&p).rung;
	TRY(call(near_loop, 2, CALLS, CALLS));
	CHECK(tl_probe_unregister(&p) == 0);
	unregister_kprobe(&kp);
	CHECK(rung == TL_RUNG_TRAP);
	return NULL;
}

/* What a kprobe at fn is when the kernel has had the time to make a jump of it. */
static const char *kprobe_becomes(u8 wanted, long (*fn)(long x), int by_us)
{
	void (*wait)(void) = find("wait_for_kprobe_optimizer");
	struct kprobe kp = kprobe_at(fn, 0);
	u8 byte;

	CHECK(wait && register_kprobe(&kp) == 0);
	wait();
	byte = byte_at(fn);
	TRY(call(fn, 2, by_us, CALLS));
	unregister_kprobe(&kp);
	CHECK(byte == wanted);
	return NULL;
}

/* The branch is in our detour: the kernel does not see where it leads. */
static const char *no_kprobe_jumps_over_what_a_moved_branch_leads_to(void)
{
	struct tl_probe p = probe_at(near_loop, LOOP_BRANCH);

	TRY(kprobe_becomes(JUMP, near_free, 0));
	CHECK(tl_probe_register(&p) == 0 && *((const u8 *)near_loop + LOOP_BRANCH) == JUMP);
	TRY(kprobe_becomes(JUMP, near_free, 0));
	TRY(kprobe_becomes(INT3, near_loop, CALLS));
	CHECK(tl_probe_unregister(&p) == 0);
	return call(near_loop, 2, 0, 0);
}

/* --- all of them --------------------------------------------------------------------------------- */

static const struct test tests[] = {
	{TEST(our_jump_stays_for_a_kprobe_on_it)},
	{TEST(our_jump_stays_for_a_kprobe_that_is_off)},
	{TEST(a_kprobe_on_our_jump_goes_before_us)},
	{TEST(a_kprobe_on_our_breakpoint_is_refused)},
	{TEST(no_window_covers_what_a_branch_under_a_kprobe_leads_to)},
	{TEST(no_kprobe_jumps_over_what_a_moved_branch_leads_to)},
};

static int __init neighbours_init(void)
{
	run_all(tests, ARRAY_SIZE(tests));
	return 0;
}

/* It was loaded to run. */
static void __exit neighbours_exit(void)
{
}

module_init(neighbours_init);
module_exit(neighbours_exit);
MODULE_DESCRIPTION("trapless: kprobes beside our probes");
MODULE_LICENSE("Dual MIT/GPL");
