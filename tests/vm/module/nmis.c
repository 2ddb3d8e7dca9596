/* SPDX-License-Identifier: MIT */
/* NMIs on all processors, without a pause, in functions whose text is changed meanwhile. */
#define pr_fmt(fmt) fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include "vm.h"

enum { ROUNDS = 40, SETTLE_MS = 20, STOP_MS = 10000 };

/* One for each rung; the second calls stand so that their target lies in one word, and over two. */
VM_FUNCTIONS(
	"FUNCTION nmi_short\n\tlea 2(%rdi), %rax\n\tEND nmi_short\n"
	"FUNCTION nmi_whole\n\tmov $2, %eax\n\tadd %edi, %eax\n\tEND nmi_whole\n"
	"FUNCTION nmi_across\n\tlea 1(%rdi), %rax\n\tcmp %eax, %eax\n\tadd $1, %rax\n\tnop\n\tEND "
	"nmi_across\n"
	"FUNCTION nmi_call\n\tcall nmi_short\n\tnop\n\tEND nmi_call\n"
	"FUNCTION nmi_call_across\n\tnop\n\tnop\n\tnop\n\tnop\n\tcall nmi_short\n\tnop\n\tEND "
	"nmi_call_across\n"
	"FUNCTION nmi_barred\n\tlea 2(%rdi), %rax\n1:\tcmp %eax, %eax\n\tjne 1b\n\tEND "
	"nmi_barred\n");
asmlinkage long nmi_short(long x);
asmlinkage long nmi_whole(long x);
asmlinkage long nmi_across(long x);
asmlinkage long nmi_call(long x);
asmlinkage long nmi_call_across(long x);
asmlinkage long nmi_barred(long x);

static const struct place {
	long (*fn)(long x);
	size_t off;
	enum tl_rung rung;
} places[] = {
	{nmi_short, 0, TL_RUNG_WINDOW},
	{nmi_whole, 0, TL_RUNG_WHOLE},
	{nmi_across, 6, TL_RUNG_WINDOW},
	{nmi_call, 0, TL_RUNG_RETARGET},
	{nmi_call_across, 4, TL_RUNG_WHOLE},
	{nmi_barred, 0, TL_RUNG_TRAP},
};

/* --- a storm of them ---------------------------------------------------------------- */

static struct apic **sender;
static bool storm;
static atomic_t hits, nmis, under_way, wrong;

/* Sends one to the next processor; so as many are under way as were sent first. */
static void pass_on(void)
{
	unsigned int to = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (to >= nr_cpu_ids)
		to = cpumask_first(cpu_online_mask);
	if (READ_ONCE(storm))
		(*sender)->send_IPI(to, NMI_VECTOR);
	else
		atomic_dec(&under_way);
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	long x = atomic_inc_return(&nmis);

	if (!atomic_read(&under_way))
		return NMI_DONE;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].fn(x) != x + 2)
			atomic_inc(&wrong);
	pass_on();
	return NMI_HANDLED;
}

static int hit(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	atomic_inc(&hits);
	return 0;
}

static void storm_begins(void)
{
	WRITE_ONCE(storm, true);
	atomic_set(&under_way, 1);
	(*sender)->send_IPI(cpumask_first(cpu_online_mask), NMI_VECTOR);
}

/* All that were sent have been taken. */
static bool storm_ends(void)
{
	WRITE_ONCE(storm, false);
	for (int ms = 0; ms < STOP_MS && atomic_read(&under_way); ms++)
		msleep(1);
	return !atomic_read(&under_way);
}

/* --- under it -------------------------------------------------------------------------- */

static struct tl_probe probes[ARRAY_SIZE(places)];

/* All at once, and away: what is stopped for and written. */
static const char *change(uint32_t flags)
{
	struct tl_probe *list[ARRAY_SIZE(places)];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		probes[i] = (struct tl_probe){
			.addr = (u8 *)places[i].fn + places[i].off, .pre = hit, .flags = flags};
		list[i] = &probes[i];
	}
	CHECK(tl_probes_register(list, ARRAY_SIZE(list), NULL) == 0);
	CHECK(tl_probes_optimize(false) == 0 && tl_probes_optimize(true) == 0);
	CHECK(tl_probes_unregister(list, ARRAY_SIZE(list)) == 0);
	return NULL;
}

static const char *change_often(void)
{
	const char *why = NULL;

	for (int i = 0; i < ROUNDS && !why; i++)
		why = change(i & 1 ? TL_PROBE_NO_JUMP : 0);
	return why;
}

static const char *text_changes_under_nmis(void)
{
	const char *why;
	int before;

	storm_begins();
	msleep(SETTLE_MS);
	before = atomic_read(&nmis);
	why = change_often();
	before = atomic_read(&nmis) - before;
	if (!storm_ends())
		return "NMIs are under way still";
	if (why)
		return why;
	pr_info("# %d NMIs while text changed, %d hits\n", before, atomic_read(&hits));
	CHECK(before > ROUNDS && atomic_read(&hits) > 0 && !atomic_read(&wrong));
	return NULL;
}

/* Each place is changed in the way that it stands here for. */
static const char *every_rung_is_there(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct tl_probe p = {.addr = (u8 *)places[i].fn + places[i].off, .pre = hit};
		enum tl_rung rung;

		CHECK(tl_probe_register(&p) == 0);
		rung = info_of_probe(&p).rung;
		CHECK(tl_probe_unregister(&p) == 0);
		CHECK(rung == places[i].rung);
	}
	return NULL;
}

static const struct test tests[] = {
	{TEST(every_rung_is_there)},
	{TEST(text_changes_under_nmis)},
};

static int __init nmis_init(void)
{
	sender = find("apic");
	if (!sender || register_nmi_handler(NMI_LOCAL, on_nmi, 0, "trapless_nmis"))
		return -ENOENT;
	run_all(tests, ARRAY_SIZE(tests));
	unregister_nmi_handler(NMI_LOCAL, "trapless_nmis");
	return 0;
}

/* It was loaded to run. */
static void __exit nmis_exit(void)
{
}

module_init(nmis_init);
module_exit(nmis_exit);
MODULE_DESCRIPTION("trapless: NMIs in text that changes");
MODULE_LICENSE("Dual MIT/GPL");
