/* SPDX-License-Identifier: MIT */
/* The rules of the x86 port, one by one: plans, patches, ways to write them, exits. Code is bytes at 0x400000. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>
#include "../../../engine/arch/arch.h"
#include "../../../engine/core/detour/site.h"
#include "../../../engine/core/detour/thread.h"
#include "../../../engine/insn/x86/insn.h"
#include "../../unit.h"

#define AT	  0x400000ul
#define HIGH	  0x7f0000400000ul /* all within 2 GiB is there */
#define BIT(rung) (1u << TL_RUNG_##rung)
#define ALL	  (tl_arch_rungs & ~(BIT(PUN) | BIT(EVICT))) /* those two have their own tests */
#define NO_TRAP	  (ALL & ~BIT(TRAP))

static uint8_t text[256], boundary[32], target[32];
static struct tl_code code;
static struct tl_plan plan;
static uintptr_t claimed_lo, claimed_hi;

static bool claimed(void *arg, uintptr_t lo, uintptr_t hi)
{
	(void)arg;
	return lo < claimed_hi && claimed_lo < hi;
}

static const struct tl_ground ground = {.claimed = claimed};

/* A part of `n` bytes, of which the last `after` are padding behind it. */
static void part_at(uintptr_t start, const char *bytes, size_t n, size_t after)
{
	memset(text, 0xcc, sizeof(text));
	memcpy(text, bytes, n);
	claimed_lo = claimed_hi = 0;
	code = (struct tl_code){.start = start,
		.size = n - after,
		.after = after,
		.known = n,
		.text = text,
		.boundary = boundary,
		.target = target};
	tl_arch_code_walk(&code);
}

#define PART(bytes)	   part_at(AT, bytes, sizeof(bytes) - 1, 0)
#define PADDED(bytes, pad) part_at(AT, bytes pad, sizeof(bytes pad) - 1, sizeof(pad) - 1)

static int plan_points(unsigned allowed, unsigned n, const unsigned *offs, bool post)
{
	memset(&plan, 0, sizeof(plan));
	plan.npoints = (uint8_t)n;
	for (unsigned i = 0; i < n; i++)
		plan.points[i] = (struct tl_point){.addr = code.start + offs[i], .post = post};
	return tl_arch_plan(&plan, &code, allowed, &ground);
}

static int plan_at(unsigned allowed, unsigned off)
{
	return plan_points(allowed, 1, &off, false);
}

static bool placed(enum tl_rung rung, unsigned start, unsigned end, unsigned changed)
{
	return plan.rung == rung && plan.start == code.start + start && plan.len == end - start &&
	       plan.changed == changed;
}

#define PUSH "\x55" /* push %rbp */
#define MOV3 "\x48\x89\xe5" /* mov %rsp,%rbp */
#define NOP5 "\x0f\x1f\x44\x00\x00" /* one 5-byte nop */
#define MOV5 "\xb8\x01\x02\x03\x04" /* mov $,%eax */
#define CALL "\xe8\x10\x00\x00\x00" /* call +16 */
#define RET  "\xc3"
#define NOP2 "\x66\x90"
#define SUB4 "\x48\x83\xec\x18" /* sub $24,%rsp */
#define NOP  "\x90"

static void cheapest_rung_first(void)
{
	PART(CALL MOV5 PUSH MOV3 NOP NOP RET);
	CHECK(plan_at(ALL, 0) == 0 && placed(TL_RUNG_RETARGET, 0, 5, 5));
	CHECK(plan_at(ALL & ~(1u << TL_RUNG_RETARGET), 0) == 0 && placed(TL_RUNG_WHOLE, 0, 5, 5));
	CHECK(plan_at(ALL, 5) == 0 && placed(TL_RUNG_WHOLE, 5, 10, 5));
	CHECK(plan.why[TL_RUNG_RETARGET] == -TL_E_NOT_CALL);
	CHECK(plan_at(ALL, 10) == 0 && placed(TL_RUNG_WINDOW, 10, 15, 5));
	CHECK(plan.why[TL_RUNG_WHOLE] == -TL_E_SHORT_INSN);
	CHECK(plan_at(1u << TL_RUNG_TRAP, 10) == 0 && placed(TL_RUNG_TRAP, 10, 11, 1));
	CHECK(plan.why[TL_RUNG_WINDOW] == -TL_E_OPT_OFF);
	CHECK(plan_at(NO_TRAP, 11) == 0 && plan_at(0, 0) == -TL_E_OPT_OFF);
}

static void boundaries_only(void)
{
	PART(MOV5 RET);
	CHECK(plan_at(ALL, 1) == -TL_E_NOT_BOUNDARY);
	CHECK(plan_at(ALL, 6) == -TL_E_NOT_BOUNDARY);
}

static void branch_into_window(void)
{
	PART(PUSH MOV3 NOP5 "\x75\xf6" RET); /* jne to the mov: byte 1 */
	CHECK(code.complete && plan_at(NO_TRAP, 0) == -TL_E_BRANCH_INTO);
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_TRAP &&
		plan.why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	/* the mov itself may start a window: a target is welcome at the first byte */
	CHECK(plan_at(NO_TRAP, 1) == 0 && placed(TL_RUNG_WINDOW, 1, 9, 5));
}

static void branch_into_whole(void)
{
	PART("\xf0\x48\x0f\xb1\x0d\x00\x00\x00\x00\x75\xf6" RET); /* jne past the lock prefix */
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_BRANCH_INTO &&
		plan.why[TL_RUNG_WHOLE] == -TL_E_BRANCH_INTO);
}

/* Go's runtime.goexit: threads begin as if called by its nop. */
static void planted_return_address(void)
{
	PART(NOP CALL NOP NOP RET);
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_BRANCH_INTO);
	CHECK(plan_at(NO_TRAP, 1) == 0 && plan.start == AT + 1);
	PART(PUSH CALL NOP NOP RET);
	CHECK(plan_at(NO_TRAP, 0) == 0 && plan.rung == TL_RUNG_WINDOW);
}

/* A call from a detour pushes no address that the processor would find again. */
static void calls_under_a_shadow_stack(void)
{
	PART(CALL MOV5 PUSH "\xff\xd0" NOP5 RET); /* call *%rax: byte 11 */
	CHECK(plan_at(BIT(WHOLE), 0) == 0 && plan_at(BIT(TRAP), 11) == 0);
	code.shadow_stack = true;
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_RETARGET);
	CHECK(plan_at(ALL & ~BIT(RETARGET), 0) == -TL_E_SHADOW_STACK);
	CHECK(plan_at(tl_arch_rungs, 11) == -TL_E_SHADOW_STACK);
	CHECK(plan_at(NO_TRAP, 13) == 0 && plan.rung == TL_RUNG_WHOLE);
	PART(PUSH CALL NOP NOP RET);
	CHECK(plan_at(BIT(WINDOW), 0) == 0);
	code.shadow_stack = true;
	CHECK(plan_at(BIT(WINDOW), 0) == -TL_E_SHADOW_STACK);
	PART(PUSH "\xff\xd0\xff\xd0\xff\xd0" RET);
	code.shadow_stack = true;
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_NO_MOVE);
}

/* AT is a multiple of 16. Four bytes of the target: 1 to 4, 5 to 8. */
static void calls_over_two_words(void)
{
	PART(CALL CALL RET);
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_RETARGET);
	CHECK(plan_at(ALL, 5) == 0 && plan.rung == TL_RUNG_RETARGET);
	code.run_stopped = true;
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_RETARGET);
	CHECK(plan_at(ALL, 5) == 0 && plan.rung == TL_RUNG_WHOLE);
	CHECK(plan.why[TL_RUNG_RETARGET] == -TL_E_TWO_WORDS);
}

static void landing_pad_in_window(void)
{
	static const uintptr_t pad[] = {AT + 4};

	PART(PUSH MOV3 NOP NOP NOP NOP RET);
	code.pads = pad;
	code.npads = 1;
	tl_arch_code_walk(&code);
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_LANDING_PAD);
	CHECK(plan_at(NO_TRAP, 4) == 0 && plan.start == AT + 4);
}

static void windows_start_earlier(void)
{
	PART(NOP NOP NOP NOP PUSH NOP5 "\x74\xfa" RET); /* je to the nop5: byte 5 */
	CHECK(plan_at(NO_TRAP, 4) == 0 && placed(TL_RUNG_WINDOW, 0, 5, 5));
	CHECK(plan.points[0].addr == AT + 4);
}

static void several_points(void)
{
	static const unsigned offs[] = {0, 1, 4};

	PART(PUSH MOV3 NOP NOP NOP RET);
	CHECK(plan_points(ALL, 3, offs, false) == 0 && placed(TL_RUNG_WINDOW, 0, 5, 5));
	CHECK(plan_points(1u << TL_RUNG_TRAP, 3, offs, false) == -TL_E_NEIGHBOUR);
}

static void operands_relative_to_eip_stay_where_they_are(void)
{
	PART("\x67\x8b\x05\x00\x01\x00\x00" RET); /* mov 0x100(%eip),%eax */
	CHECK(plan_at(ALL, 0) == -TL_E_NO_RELOCATE);
	PART("\x67\x8b\x80\x00\x01\x00\x00" RET); /* mov 0x100(%eax),%eax may go */
	CHECK(plan_at(ALL, 0) == 0);
}

static void nobody_waits_inside(void)
{
	PART(PUSH "\x0f\x05" NOP NOP NOP NOP NOP RET); /* syscall */
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_NO_RELOCATE && plan_at(NO_TRAP, 1) == -TL_E_NO_RELOCATE);
	CHECK(plan_at(ALL, 1) == 0 && plan.rung == TL_RUNG_TRAP);
	PART(PUSH "\xff\xd0" NOP NOP NOP NOP
			RET); /* call *%rax, its return address would be an inner byte */
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_NO_RELOCATE && plan_at(NO_TRAP, 1) == -TL_E_NO_RELOCATE);
	PART(PUSH CALL RET); /* as the last one it is fine */
	CHECK(plan_at(NO_TRAP, 0) == 0 && placed(TL_RUNG_WINDOW, 0, 6, 5));
}

static void padding_is_room(void)
{
	PADDED(PUSH RET, "\x90\x90\x90");
	CHECK(plan_at(NO_TRAP, 1) == 0 && placed(TL_RUNG_WINDOW, 0, 5, 5));
	PADDED(RET, "\xcc\xcc\xcc\xcc");
	CHECK(plan_at(NO_TRAP, 0) == 0 && placed(TL_RUNG_WHOLE, 0, 5, 5));
	CHECK(plan_at(BIT(WINDOW), 0) == 0 && placed(TL_RUNG_WINDOW, 0, 5, 5));
	PADDED(RET, "\xcc\xcc\xcc");
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_TOO_SHORT);
	PADDED(RET, "\xcc\xcc\xcc\xcc\x55"); /* something stands there */
	CHECK(code.after == 0 && plan_at(NO_TRAP, 0) == -TL_E_TOO_SHORT);
	PADDED(PUSH, "\x90\x90\x90\x90\x90"); /* runs into what follows */
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_TOO_SHORT);
}

/* As kernels have it behind each return: more code follows. */
static void padding_amid_a_part_is_room(void)
{
	PART("\x31\xc0" RET "\xcc\xcc\xcc\xcc" MOV5 RET);
	CHECK(plan_at(NO_TRAP, 0) == 0 && placed(TL_RUNG_WINDOW, 0, 5, 5));
	CHECK(plan_at(NO_TRAP, 2) == 0 && plan.rung == TL_RUNG_WINDOW);
	PART("\x31\xc0" RET "\xcc" MOV5 RET); /* what follows is entered from somewhere */
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_BRANCH_INTO);
	PART("\x31\xc0\xcc\xcc\xcc\xcc\xcc" RET); /* these are run */
	CHECK(plan_at(NO_TRAP, 0) != 0);
}

static void indirect_jumps(void)
{
	PART(PUSH NOP NOP NOP NOP MOV5 "\xff\xe0"); /* jmp *%rax */
	CHECK(code.indirect && plan_at(NO_TRAP, 0) == -TL_E_INDIRECT);
	CHECK(plan_at(NO_TRAP, 5) == 0 && plan.rung == TL_RUNG_WHOLE);
	PART(PUSH NOP NOP NOP NOP
		"\xff\x25\x00\x00\x00\x00"); /* jmp *(%rip) leaves through the GOT */
	CHECK(!code.indirect && plan_at(NO_TRAP, 0) == 0);
}

static uintptr_t left_to[4];
static unsigned nleft;

static void note(void *arg, uintptr_t to)
{
	(void)arg;
	if (nleft < 4)
		left_to[nleft++] = to;
}

/* Data behind the part, at AT + 0x1000. */
static uint8_t data[128];
static size_t readable = sizeof(data);

static size_t read_data(uintptr_t addr, void *buf, size_t len)
{
	if (addr - (AT + 0x1000) + len > readable)
		return 0;
	memcpy(buf, data + (addr - (AT + 0x1000)), len);
	return len;
}

static void offsets(const int32_t *to, unsigned n)
{
	int32_t v;

	memset(data, 0x7f, sizeof(data));
	for (unsigned i = 0; i < n; i++)
		v = to[i] - 0x1000, memcpy(data + 4 * i, &v, 4);
}

/* cmp $2,%al; ja; lea table(%rip),%rdx; movzbl %al,%eax; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax; cases */
#define SWITCH(cmp)                                                                                \
	cmp "\x77\x1a"                                                                             \
	    "\x48\x8d\x15\xf5\x0f\x00\x00"                                                         \
	    "\x0f\xb6\xc0"                                                                         \
	    "\x48\x63\x04\x82"                                                                     \
	    "\x48\x01\xd0"                                                                         \
	    "\xff\xe0" NOP NOP NOP NOP NOP NOP RET RET

static void switch_with(const char *bytes, size_t n)
{
	PART("");
	memcpy(text, bytes, n);
	code.size = code.known = n;
	code.read = read_data;
	tl_arch_code_walk(&code);
}

/* lea descriptor(%rip),%rax; mov %rax,8(%rsi); a sequence of two instructions; its abort handler is not here */
#define SEQUENCE                                                                                   \
	"\x48\x8d\x05\xf9\x0f\x00\x00"                                                             \
	"\x48\x89\x46\x08"                                                                         \
	"\x48\x8b\x02\x48\x89\x02" RET

static void announced(uint64_t start, uint64_t length)
{
	const uint64_t descriptor[] = {0, start, length, start ? start + 0x100 : 0};

	memset(data, 0x7f, sizeof(data));
	memcpy(data, descriptor, sizeof(descriptor));
	switch_with(SEQUENCE, sizeof(SEQUENCE) - 1);
}

static void sequences(void)
{
	announced(AT + 11, 6);
	CHECK(tl_arch_can_probe(&code, AT + 11) == -TL_E_IN_RSEQ);
	CHECK(tl_arch_can_probe(&code, AT + 7) == -TL_E_IN_RSEQ);
	CHECK(tl_arch_can_probe(&code, AT) == 0);
	announced(0, 6); /* not relocated yet */
	CHECK(tl_arch_can_probe(&code, AT + 14) == -TL_E_IN_RSEQ);
	announced(AT + 12, 6); /* other data */
	CHECK(tl_arch_can_probe(&code, AT + 14) == 0);
	announced(0, 8);
	CHECK(tl_arch_can_probe(&code, AT + 14) == 0);
}

/* --- stacks ------------------------------------------------------------------- */

static struct tl_stack_use use;
static unsigned ncalls, nblind;

static void count_leaving(void *arg, uint32_t at, uintptr_t target, bool call)
{
	(void)arg;
	(void)at;
	ncalls += call;
	nblind += !target;
}

#define USE(bytes) use_of(bytes, sizeof(bytes) - 1)
static void use_of(const char *bytes, size_t n)
{
	uint8_t text[64] = {0};

	memcpy(text, bytes, n);
	ncalls = nblind = 0;
	tl_arch_stack_use(text, n, AT, &use, count_leaving, NULL);
}

#define CHECKS	"\x49\x3b\x66\x10\x76\x07" /* cmp 0x10(%r14),%rsp; jbe */
#define FRAME	"\x55\x48\x83\xec\x20" /* push %rbp; sub $32,%rsp */
#define CALLS	"\xe8\x00\x10\x00\x00" /* elsewhere */
#define LEA_R12 "\x4c\x8d\x64\x24\xa0" /* lea -96(%rsp),%r12 */

static void goroutines_stacks(void)
{
	USE(CHECKS FRAME "\xc9\xc3" CALLS "\xeb\xec");
	CHECK(use.checked == 6 && use.spare == 0 && use.depth == 40 && ncalls == 1);
	CHECK(use.cold == 13);
	USE(LEA_R12 "\x4d\x3b\x66\x10\x76\x07" FRAME "\xc9\xc3" CALLS);
	CHECK(use.checked == 11 && use.spare == 96 && use.cold == 18 && use.depth == 40);
	USE(LEA_R12 "\x4d\x39\xe6" FRAME "\xc3");
	CHECK(!use.checked);
	USE("\x64\x48\x8b\x0c\x25\xf8\xff\xff\xff\x48\x3b\x61\x10\x76\x01\xc3" CALLS);
	CHECK(use.checked == 15 && use.cold == 16 && use.depth == 0); /* mov %fs:-8,%rcx */
	USE("\x48\x3b\x61\x10\x76\x01\xc3" CALLS);
	CHECK(!use.checked); /* what is rcx? */
	USE(FRAME CHECKS CALLS CALLS);
	CHECK(!use.checked); /* its frame is there already */
	USE("\x48\x83\xe4\xf0\xff\xd0\xff\xe1"); /* and $-16,%rsp; call *%rax; jmp *%rcx */
	CHECK(use.depth == 15 && ncalls == 1 && nblind == 2);
	USE("\x48\x83\xc4\x80\x48\x8d\x64\x24\xf8\x48\x89\xc4"); /* add $-128; lea -8(%rsp); mov %rax,%rsp */
	CHECK(use.depth == 136);
	USE("\x48\x29\xc4"); /* sub %rax,%rsp */
	CHECK(use.depth == TL_STACK_UNKNOWN);
	USE("\x90\x06"); /* no instruction */
	CHECK(use.depth == TL_STACK_UNKNOWN);
}

static void switch_tables(void)
{
	static const int32_t in[] = {23, 26, 30}, out[] = {23, -0x200, 30}, wrong[] = {23, 25, 5};

	offsets(in, 3);
	switch_with(SWITCH("\x3c\x02"), sizeof(SWITCH("\x3c\x02")) - 1);
	CHECK(code.complete && !code.indirect);
	CHECK(plan_at(NO_TRAP, 24) == -TL_E_BRANCH_INTO); /* a case starts at 26 */
	CHECK(plan_at(NO_TRAP, 0) == 0);
	nleft = 0;
	tl_arch_code_leaves(&code, note, NULL);
	CHECK(nleft == 0);
	offsets(out, 3); /* one case stands in another part */
	switch_with(SWITCH("\x3c\x02"), sizeof(SWITCH("\x3c\x02")) - 1);
	CHECK(!code.indirect);
	tl_arch_code_leaves(&code, note, NULL);
	CHECK(nleft == 1 && left_to[0] == AT - 0x200);
	offsets(wrong, 3); /* into the middle of an instruction: no table */
	switch_with(SWITCH("\x3c\x02"), sizeof(SWITCH("\x3c\x02")) - 1);
	CHECK(code.indirect && plan_at(NO_TRAP, 0) == -TL_E_INDIRECT);
	offsets(in, 3);
	switch_with(SWITCH("\xa8\x02"), sizeof(SWITCH("\xa8\x02")) - 1); /* test, no bound */
	CHECK(code.indirect);
	switch_with(
		SWITCH("\x3c\x03"), sizeof(SWITCH("\x3c\x03")) - 1); /* longer than the table is */
	CHECK(code.indirect);
	readable = 8;
	switch_with(SWITCH("\x3c\x02"), sizeof(SWITCH("\x3c\x02")) - 1);
	CHECK(code.indirect);
}

/* The function that has these bytes, and a variable that holds `v`: does its indirect jump surely leave? */
static bool leaves_with(const char *bytes, size_t n, uintptr_t v)
{
	memset(data, 0, sizeof(data));
	memcpy(data, &v, sizeof(v));
	readable = sizeof(data);
	switch_with(bytes, n);
	return !code.indirect;
}

static bool hot(void)
{
	const struct tl_func_part whole = {AT, 64};
	struct tl_exit e[4];
	int n = tl_arch_exits(&code, &whole, 1, AT, e, 4);

	for (int i = 0; i < n; i++)
		if (e[i].kind == TL_EXIT_COMPUTED)
			return e[i].hot;
	return false;
}

#define LEAVES(bytes, v) leaves_with(bytes, sizeof(bytes) - 1, v)
#define HOOK(offset)	 "\x48\x8b\x05" offset "\x48\x85\xc0\x74\x04\xff\xe0" NOP2 RET

/* if (hook) hook(); */
static void jumps_that_only_leave(void)
{
	const uintptr_t at = AT + 0x1000;

	CHECK(LEAVES(HOOK("\xf9\x0f\x00\x00"), 0));
	CHECK(plan_at(NO_TRAP, 12) == 0 && placed(TL_RUNG_WINDOW, 10, 16, 5));
	CHECK(LEAVES(HOOK("\xf9\x0f\x00\x00"), AT - 0x100) && !hot());
	CHECK(LEAVES(HOOK("\xf9\x0f\x00\x00"), AT)); /* itself */
	/* `static void *next = &&label`, and one where others point to it */
	CHECK(!LEAVES(HOOK("\xf9\x0f\x00\x00"), AT + 7) && hot());
	CHECK(plan_at(NO_TRAP, 12) != 0);
	memcpy(data + 16, &(uintptr_t){AT + 7}, 8);
	memcpy(data, &(uintptr_t){at + 16}, 8);
	switch_with(HOOK("\xf9\x0f\x00\x00"), sizeof(HOOK("\xf9\x0f\x00\x00")) - 1);
	CHECK(code.indirect && hot());
	/* lea, of a string: no proof, but no label's either */
	CHECK(!LEAVES("\x48\x8d\x3d\xf9\x0f\x00\x00\xff\xe0" RET, 0x74786574) && !hot());
	CHECK(!LEAVES("\x48\x8d\x3d\xf9\x0f\x00\x00\xff\xe0" RET, AT + 7) && hot()); /* a table */
	CHECK(!LEAVES("\x48\x8d\x3d\x00\x00\x00\x00\xff\xe0" RET, 0) && hot()); /* a label */
	/* as immediates, and as a table's address in the operand */
	CHECK(!LEAVES("\xb8\x00\x10\x40\x00\xff\xe0" RET, 0) && !hot());
	CHECK(!LEAVES("\x48\xc7\xc0\x00\x10\x40\x00\xff\xe0" RET, AT + 7) && hot());
	CHECK(!LEAVES("\xff\x24\xfd\x00\x10\x40\x00" RET, AT + 7));
	CHECK(!LEAVES("\x48\xc7\x05\xf5\x0f\x00\x00\x00\x10\x40\x00\xff\xe0", 0)); /* stored */
	CHECK(LEAVES("\xb8\x05\x00\x00\x00\xff\xe7" RET, 0)); /* a small number */
	CHECK(!LEAVES("\xe8\x00\x00\x00\x00\x58\xff\xe0", 0)); /* reads its own address */
	CHECK(!LEAVES("\x74\x40\xff\xe0" RET, 0) && code.complete); /* has a part elsewhere */
	/* a table that somebody else has made: known where nothing can lead in, else it may be an interpreter's */
	CHECK(LEAVES(NOP5 "\xff\x24\xf8" RET, 0) && !hot());
	CHECK(!LEAVES("\x48\x8d\x3d\xf9\x0f\x00\x00\xff\x24\xf8" RET, 0) && hot());
	CHECK(LEAVES(NOP5 "\xff\xe0" RET, 0));
	code.npads = 1;
	code.pads = &(uintptr_t){AT + 5};
	tl_arch_code_walk(&code);
	CHECK(code.indirect); /* others know of places there */
}

static void undecodable_parts(void)
{
	PART(PUSH MOV5 NOP "\x06\x06");
	CHECK(!code.complete && plan_at(NO_TRAP, 0) == -TL_E_BAD_INSN);
	CHECK(plan_at(NO_TRAP, 1) == 0 && plan.rung == TL_RUNG_WHOLE);
}

/* A uprobe over `mov %rsp,%rbp`: its last two bytes decode as an instruction of their own. */
static void breakpoints_of_others(void)
{
	PART(PUSH "\xcc\x89\xe5" SUB4 MOV5 RET);
	CHECK(plan_at(ALL, 0) == 0 && placed(TL_RUNG_TRAP, 0, 1, 1));
	CHECK(plan_at(NO_TRAP, 4) == -TL_E_RESERVED);
	CHECK(plan_at(NO_TRAP, 8) == 0 && placed(TL_RUNG_WHOLE, 8, 13, 5));
	PART(PUSH MOV3 SUB4 RET "\xcc\xcc");
	CHECK(plan_at(NO_TRAP, 0) == 0 && placed(TL_RUNG_WINDOW, 0, 8, 5));
}

static void neighbours(void)
{
	PART(PUSH MOV3 NOP MOV5 RET);
	claimed_lo = AT + 4, claimed_hi = AT + 5;
	CHECK(plan_at(NO_TRAP, 0) == -TL_E_NEIGHBOUR);
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_TRAP);
	claimed_lo = AT + 5, claimed_hi = AT + 10;
	CHECK(plan_at(ALL, 5) == -TL_E_NEIGHBOUR);
}

static void post_handlers(void)
{
	static const unsigned zero;

	PART("\xff\xe0" NOP NOP NOP NOP); /* jmp *%rax */
	CHECK(plan_points(ALL, 1, &zero, true) == -TL_E_POST_HANDLER);
	PART(RET NOP NOP NOP NOP);
	CHECK(plan_points(ALL, 1, &zero, true) == 0);
	PART(MOV5 RET);
	CHECK(plan_points(ALL, 1, &zero, true) == 0);
}

/* --- puns and evictions --------------------------------------------------------- */

#define FAR(bytes) part_at(HIGH, bytes, sizeof(bytes) - 1, 0)

/* A detour's place that suits plan, near `want`. */
static uintptr_t place(const struct tl_plan *p, uintptr_t want)
{
	uint32_t rel = (uint32_t)(want - p->fit.from);

	return p->fit.from + (uintptr_t)(intptr_t)(int32_t)((rel & ~p->fit.mask) | p->fit.match);
}

/* Where the jump leads that stands at `off` once plan p's bytes are written over `now`. */
static uintptr_t leads_to(uint8_t *now, const struct tl_plan *p, uintptr_t at, unsigned off)
{
	unsigned n = off;
	int32_t rel;

	tl_arch_patch_bytes(p, at, now + (p->start - HIGH));
	while (now[n] == 0x2e || now[n] == p->prefix)
		n++;
	if (now[n] != 0xe9)
		return 0;
	memcpy(&rel, now + n + 1, 4);
	return HIGH + n + 5 + (uintptr_t)(intptr_t)rel;
}

static void puns_share_what_follows(void)
{
	static const struct {
		const char *bytes;
		unsigned len, forms;
	} row[] = {{PUSH MOV5 MOV5 RET, 1, 1}, {NOP2 MOV5 MOV5 RET, 2, 2},
		{MOV3 MOV5 MOV5 RET, 3, 3}, {SUB4 MOV5 MOV5 RET, 4, 4}};
	uint8_t now[256];

	for (unsigned i = 0; i < 4; i++) {
		unsigned forms = 0;

		part_at(HIGH, row[i].bytes, strlen(row[i].bytes), 0);
		for (int ret = plan_at(BIT(PUN), 0); !ret;
			ret = tl_arch_plan_next(&plan, &code, BIT(PUN), &ground)) {
			uintptr_t at = place(&plan, 0x500000000);

			memcpy(now, text, sizeof(now));
			CHECK(plan.rung == TL_RUNG_PUN && plan.changed == row[i].len &&
				plan.len == row[i].len && plan.held == plan.form + 5);
			CHECK((uint32_t)leads_to(now, &plan, at, 0) == (uint32_t)at);
			CHECK(!memcmp(now + row[i].len, text + row[i].len, 16));
			forms++;
			plan.why[TL_RUNG_PUN] = -TL_E_OUT_OF_REACH;
		}
		CHECK(forms == row[i].forms && plan.why[TL_RUNG_PUN] == -TL_E_OUT_OF_REACH);
	}
	FAR(PUSH NOP); /* what stands behind is not known */
	CHECK(plan_at(BIT(PUN), 0) == -TL_E_OUT_OF_REACH);
}

static void puns_leave_targets_alone(void)
{
	/* jne past the lock prefix: the prefix alone is ours, the rest is shared */
	FAR("\xf0\x48\x0f\xb1\x0d\x00\x00\x00\x00\x75\xf6" RET);
	CHECK(plan_at(BIT(PUN), 0) == 0 && placed(TL_RUNG_PUN, 0, 9, 1) && plan.held == 9);
	CHECK(plan.fit.mask == 0xffffffff && plan.fit.match == 0x0db10f48);
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_BRANCH_INTO);
	/* one that leads behind the instruction is welcome */
	FAR(MOV3 MOV5 "\x75\xf9" RET);
	CHECK(plan_at(BIT(PUN), 0) == 0 && plan.changed == 3);
}

static void a_wide_pun_comes_before_a_window(void)
{
	FAR(SUB4 MOV3 NOP NOP NOP RET);
	CHECK(plan_at(tl_arch_rungs, 0) == 0 && plan.rung == TL_RUNG_PUN && plan.form == 0);
	plan.why[TL_RUNG_PUN] = -TL_E_OUT_OF_REACH;
	CHECK(tl_arch_plan_next(&plan, &code, tl_arch_rungs, &ground) == 0 &&
		plan.rung == TL_RUNG_WINDOW);
	CHECK(plan.why[TL_RUNG_PUN] == -TL_E_OUT_OF_REACH);
	CHECK(tl_arch_plan_next(&plan, &code, tl_arch_rungs, &ground) == 0 &&
		plan.rung == TL_RUNG_PUN && plan.form == 1);
	FAR(MOV3 SUB4 NOP NOP NOP RET);
	CHECK(plan_at(tl_arch_rungs, 0) == 0 && plan.rung == TL_RUNG_WINDOW);
}

static void puns_hold_what_they_share(void)
{
	FAR(PUSH MOV3 NOP MOV5 RET);
	claimed_lo = HIGH + 4, claimed_hi = HIGH + 5;
	CHECK(plan_at(BIT(PUN), 0) == -TL_E_NEIGHBOUR);
	claimed_lo = HIGH + 5, claimed_hi = HIGH + 10;
	CHECK(plan_at(BIT(PUN), 0) == 0);
}

/* The same for whatever stands at p->start. */
static uintptr_t follow(uint8_t *now, const struct tl_plan *p, uintptr_t at)
{
	unsigned off = (unsigned)(p->start - HIGH);
	struct tl_insn i;

	if (p->rung != TL_RUNG_RETARGET)
		return leads_to(now, p, at, off);
	tl_arch_patch_bytes(p, at, now + off);
	return tl_insn_decode(&i, now + off, 16, TL_INSN_64) == p->len
		       ? (uintptr_t)tl_insn_target(&i, p->start)
		       : 0;
}

enum { MOVES = 3 };
static unsigned moves[MOVES + 1]; /* ways seen with so many */

/* All jumps, written in their order, lead to their detours; everything else is untouched. */
static void all_lead(void)
{
	struct tl_plan jump[1 + MOVES] = {plan};
	uintptr_t at[1 + MOVES] = {place(&plan, 0x400000000 + HIGH)};
	uint8_t now[256];
	unsigned n = 0;

	for (; jump[n].moved; n++) {
		CHECK(n < MOVES && !tl_arch_plan_moved(&jump[n], at[n], &code, &jump[n + 1]));
		CHECK(jump[n + 1].start == jump[n].moved && jump[n + 1].npoints == 0 &&
			jump[n].moved >= jump[n].start + jump[n].len);
		at[n + 1] = place(&jump[n + 1], (n + 6) * 0x100000000 + HIGH);
	}
	memcpy(now, text, sizeof(now));
	for (unsigned k = n + 1; k--;)
		CHECK((uint32_t)follow(now, &jump[k], at[k]) == (uint32_t)at[k]);
	for (unsigned k = 0; k <= n; k++)
		CHECK((uint32_t)follow(now, &jump[k], at[k]) == (uint32_t)at[k]);
	for (unsigned k = 0; k <= n; k++)
		memcpy(now + (jump[k].start - HIGH), jump[k].orig, jump[k].changed);
	CHECK(!memcmp(now, text, sizeof(now)));
	moves[n]++;
}

/* There are many chains of two, and of three: some of them. */
static void ways_to_move(unsigned len)
{
	static const unsigned stride[] = {0, 0, 16, 1000};

	CHECK(plan_at(BIT(EVICT), 0) == 0);
	do {
		unsigned before[MOVES + 1], n = 1;

		memcpy(before, moves, sizeof(moves));
		CHECK(plan.rung == TL_RUNG_EVICT && plan.changed == len);
		all_lead();
		if (unit_why)
			printf("# %u bytes, step %u\n", len, plan.step);
		while (n < MOVES && before[n] == moves[n])
			n++;
		plan.step += stride[n];
	} while (!unit_why && !tl_arch_plan_next(&plan, &code, BIT(EVICT), &ground));
}

static void neighbours_move_away(void)
{
	static const char *const first[] = {PUSH, NOP2, MOV3, SUB4};
	static const char *const second[] = {PUSH, NOP2, MOV3, SUB4, MOV5, CALL,
		"\x0f\x84\x10\0\0\0", "\xff\x15\x10\0\0\0", "\x48\x8b\x05\x10\0\0\0"};
	static const unsigned lens[] = {1, 2, 3, 4, 5, 5, 6, 6, 7};

	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 9 && !unit_why; k++) {
			char bytes[32];

			memset(bytes, 0x90, sizeof(bytes));
			memcpy(bytes, first[i], i + 1);
			memcpy(bytes + i + 1, second[k], lens[k]);
			part_at(HIGH, bytes, sizeof(bytes), 0);
			ways_to_move(i + 1);
		}
	printf("# %u, %u, %u ways to move one, two, three\n", moves[1], moves[2], moves[3]);
	if (!unit_why)
		CHECK(moves[1] > 500 && moves[2] > 500 && moves[3] > 500);
}

/* Nothing lies as far below a program at 4 MiB as most of these bytes lead. */
static void chains_where_half_of_the_reach_is_void(void)
{
	/* push; push; mov; mov; sub: 53 48 89 fb, 48 89 83 ... */
	static const char bytes[] =
		"\x55\x53\x48\x89\xfb\x48\x89\xd7\x48\x83\xec\x18\xc3\x90\x90\x90";

	part_at(AT, bytes, sizeof(bytes) - 1, 0);
	CHECK(plan_at(BIT(PUN), 0) == -TL_E_OUT_OF_REACH);
	CHECK(plan_at(BIT(EVICT), 0) == 0 && plan.moved);
}

/* A return's own bytes end with the padding behind it; the part behind it may be asked for. */
static const struct tl_code *part_behind(const struct tl_code *c)
{
	static uint8_t boundary2[32], target2[32];
	static struct tl_code next;

	next = (struct tl_code){.start = c->start + c->size + c->after,
		.size = 16,
		.known = 16,
		.text = text + c->size + c->after,
		.boundary = boundary2,
		.target = target2};
	tl_arch_code_walk(&next);
	return &next;
}

static void across_the_end_of_a_part(void)
{
	PADDED(RET, NOP5);
	CHECK(plan_at(BIT(WHOLE), 0) == 0 && placed(TL_RUNG_WHOLE, 0, 5, 5));
	PADDED(RET, NOP2);
	CHECK(plan_at(BIT(WHOLE), 0) == -TL_E_SHORT_INSN);
	part_at(HIGH, PUSH RET NOP2, 4, 2);
	CHECK(plan_at(BIT(PUN), 0) == -TL_E_OUT_OF_REACH); /* nothing is known behind */
	part_at(HIGH, RET NOP MOV5 MOV5 MOV5 RET, 18, 17);
	CHECK(code.after == 0);
	part_at(HIGH, RET, 1, 0);
	memcpy(text + 1, MOV5 MOV5 MOV5 RET, 16);
	code.known = 17;
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_NO_MOVE);
	code.behind = part_behind;
	CHECK(plan_at(BIT(EVICT), 0) == 0 && plan.moved == HIGH + 1);
}

static void neighbours_that_stay(void)
{
	FAR(PUSH "\x0f\x0b\x0f\x0b" NOP NOP NOP NOP NOP); /* ud2 */
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_NO_MOVE);
	FAR(PUSH RET);
	CHECK(plan_at(BIT(EVICT), 1) == -TL_E_NO_MOVE); /* the last one */
	FAR(PUSH "\xf0\x48\x0f\xb1\x0d\x00\x00\x00\x00\x75\xf6" RET); /* a branch past its prefix */
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_NO_MOVE);
	FAR(PUSH MOV5 RET);
	claimed_lo = HIGH + 1, claimed_hi = HIGH + 2;
	CHECK(plan_at(BIT(EVICT), 0) == -TL_E_NEIGHBOUR);
	FAR(MOV5 MOV5 RET); /* has room enough */
	CHECK(plan_at(BIT(EVICT), 0) != 0);
}

static void reach_covers_operands(void)
{
	part_at(0x7fff00000000, "\x48\x8b\x05\x00\x00\x00\x70\xc3", 8,
		0); /* mov 0x70000000(%rip),%rax */
	CHECK(plan_at(NO_TRAP, 0) == 0);
	CHECK(plan.reach_lo > 0x7fff00000000 - 0x10000000 &&
		plan.reach_hi < 0x7fff00000000 + 0x80000000);
	CHECK(plan.reach_lo < plan.start && plan.reach_hi > plan.start);
}

/* gs:0x15f20(%rip), as kernels have it: the distance wraps. */
static void reach_wraps_around(void)
{
	const uintptr_t at = 0xffffffff81000000;

	part_at(at, "\x65\x48\x8b\x05\x18\x5f\x01\x7f\xc3", 9, 0);
	CHECK(plan_at(NO_TRAP, 0) == 0 && plan.rung == TL_RUNG_WHOLE);
	CHECK(plan.reach_lo < plan.start && plan.reach_hi > at + 0x40000000);
	part_at(0x1000, "\x48\x8b\x05\x00\xe0\xff\xff\xc3", 8, 0); /* and the other way round */
	CHECK(plan_at(NO_TRAP, 0) == 0 && plan.reach_lo <= 0x10000 && plan.reach_hi > 0x70000000);
}

static void bytes_of_patches(void)
{
	uint8_t b[TL_PATCH_MAX];

	PART("\xff\x15\x00\x10\x00\x00" RET); /* call *0x1000(%rip) */
	CHECK(plan_at(ALL, 0) == 0 && placed(TL_RUNG_RETARGET, 0, 6, 6));
	tl_arch_patch_bytes(&plan, AT + 0x10006, b);
	CHECK(!memcmp(b, "\x67\xe8\x00\x00\x01\x00", 6));
	PART("\x41\xff\x94\x24\x00\x01\x00\x00" RET); /* 8 bytes: no retargeting */
	CHECK(plan_at(ALL, 0) == 0 && plan.rung == TL_RUNG_WHOLE);
	PART("\xff\x94\x23\x00\x01\x00\x00" RET);
	CHECK(plan_at(ALL, 0) == 0 && placed(TL_RUNG_RETARGET, 0, 7, 7));
	tl_arch_patch_bytes(&plan, AT - 0x1000, b);
	CHECK(!memcmp(b, "\x67\x67\xe8\xf9\xef\xff\xff", 7));
	PART(CALL RET);
	CHECK(plan_at(ALL, 0) == 0);
	tl_arch_patch_bytes(&plan, AT + 0x105, b);
	CHECK(!memcmp(b, "\xe8\x00\x01\x00\x00", 5));
}

static void ways_to_write(void)
{
	struct tl_patch_step s;
	const uint8_t *from = (const uint8_t *)MOV5, *jmp = (const uint8_t *)"\xe9\x11\x22\x33\x44";
	const uint8_t *many = (const uint8_t *)PUSH MOV3 NOP, *call = (const uint8_t *)CALL;
	const uint8_t *call2 = (const uint8_t *)"\xe8\x11\x22\x33\x44";

	if (!tl_arch_atomic_ok())
		SKIP("this processor's vendor is not known to fetch words whole");
	CHECK(tl_arch_patch_how(AT + 3, from, jmp, 5, true, &s) == TL_PATCH_ATOMIC && s.word == AT);
	CHECK(tl_arch_patch_how(AT + 8, from, jmp, 5, true, &s) == TL_PATCH_ATOMIC &&
		s.word == AT + 8);
	CHECK(tl_arch_patch_how(AT + 4, from, jmp, 5, true, &s) == TL_PATCH_SPIN &&
		s.spin_len == 2);
	CHECK(s.spin[0] == 0xeb && s.spin[1] == 0xfe);
	CHECK(tl_arch_patch_how(AT + 5, from, jmp, 5, true, &s) == TL_PATCH_SPIN);
	CHECK(tl_arch_patch_how(AT + 7, from, jmp, 5, true, &s) == TL_PATCH_BYPASS);
	CHECK(tl_arch_patch_how(AT + 4, many, jmp, 5, false, &s) == TL_PATCH_BYPASS);
	CHECK(tl_arch_patch_how(AT + 7, from, (const uint8_t *)"\xcc", 1, true, &s) ==
		TL_PATCH_ATOMIC);
	/* only the displacement of a call changes */
	CHECK(tl_arch_patch_how(AT + 7, call, call2, 5, true, &s) == TL_PATCH_ATOMIC &&
		s.word == AT + 8);
}

static void ways_out(void)
{
	static const struct tl_func_part whole = {AT, 64}, parts[] = {{AT, 64}, {AT + 0x100, 64}};
	struct tl_exit e[4];

	part_at(AT,
		PUSH RET "\x74\x7d"
			 "\xe9\xf7\x00\x00\x00" RET NOP,
		11, 0); /* je +0x7d; jmp AT+0x100 */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 4);
	CHECK(e[0].addr == AT + 1 && e[0].kind == TL_EXIT_RETURN);
	CHECK(e[1].addr == AT + 2 && e[1].kind == TL_EXIT_TAIL_COND && e[1].cond == 4);
	CHECK(e[2].addr == AT + 4 && e[2].kind == TL_EXIT_TAIL);
	CHECK(tl_arch_exits(&code, parts, 2, 0, e, 1) == 3); /* the jump stays in the second part */
	PART(NOP "\x74\xfd\xeb\xfb\xe2\xf9" RET); /* je, jmp, loop to the entry */
	CHECK(tl_arch_exits(&code, &whole, 1, AT, e, 4) == 3 && e[0].kind == TL_EXIT_TAIL_COND);
	CHECK(e[0].target == AT && e[1].kind == TL_EXIT_TAIL && e[1].target == AT);
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1);
	PART(NOP "\xff\xe0"); /* jmp *%rax */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].kind == TL_EXIT_COMPUTED);
	CHECK(e[0].addr == AT + 1 && !e[0].all_regs);
	PART(NOP "\x64\xff\x20" RET); /* jmp *%fs:(%rax) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == -TL_E_NO_EXIT && e[0].addr == AT + 1);
	/* movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax: a switch */
	PART("\x48\x63\x04\x82\x48\x01\xd0\xff\xe0" RET);
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].addr == AT + 9);
	PART("\xff\x24\xc5\x00\x10\x40\x00" RET); /* jmp *table(,%rax,8) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1);
	PART("\xff\x25\x00\x10\x00\x00");
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].kind == TL_EXIT_TAIL);
}

/* The last instruction is a conditional jump, and padding leads on to what follows. */
static void ways_out_by_running_on(void)
{
	static const struct tl_func_part whole = {AT, 4};
	struct tl_exit e[4];

	part_at(AT, NOP NOP "\x72\x40" NOP NOP NOP, 7, 3); /* jb +0x40 */
	CHECK(code.after == 3 && tl_arch_exits(&code, &whole, 1, 0, e, 4) == 2);
	CHECK(e[0].addr == AT + 2 && e[0].kind == TL_EXIT_TAIL_COND && e[0].cond == 2 &&
		e[0].target == AT + 0x44);
	CHECK(e[1].addr == AT + 2 && e[1].kind == TL_EXIT_TAIL_COND && e[1].cond == 3 &&
		e[1].target == AT + 7);
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 1) == 2 && e[0].cond == 2);
	part_at(AT, NOP NOP "\x73\xfd" NOP, 5, 1); /* jae, into the function */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].kind == TL_EXIT_TAIL_COND &&
		e[0].cond == 2 && e[0].target == AT + 5);
	part_at(AT, NOP NOP "\xe3\xfd" NOP, 5, 1); /* jrcxz: no condition that can be told */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == -TL_E_NO_EXIT && e[0].addr == AT + 2);
	part_at(AT, NOP NOP "\x73\xfd\xcc", 5, 1); /* whoever falls there is dead */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 0);
	part_at(AT, NOP NOP NOP2 NOP NOP, 6, 2);
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 0); /* nothing but padding */
	part_at(AT, PUSH NOP NOP2 NOP NOP, 6, 2);
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].kind == TL_EXIT_TAIL &&
		e[0].addr == AT + 2 && e[0].target == AT + 6);
}

/* Where a computed jump leads, for each form of its operand. */
static void computed_ways_out(void)
{
	static const struct tl_func_part whole = {AT, 64};
	uintptr_t words[4] = {0x1110, 0x2220, 0x3330, 0x4440};
	struct tl_regs r = {
		.ax = (uintptr_t)words, .cx = 2, .r13 = (uintptr_t)words, .sp = (uintptr_t)words};
	struct tl_exit e[4];

	PART("\xff\x20"); /* (%rax) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 &&
		tl_arch_exit_target(e, &r) == 0x1110);
	PART("\xff\x60\x08"); /* 8(%rax) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 &&
		tl_arch_exit_target(e, &r) == 0x2220);
	PART("\xff\x24\xc8"); /* (%rax,%rcx,8) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 &&
		tl_arch_exit_target(e, &r) == 0x3330);
	PART("\xff\x64\xc8\xf8"); /* -8(%rax,%rcx,8) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 &&
		tl_arch_exit_target(e, &r) == 0x2220);
	PART("\xff\x64\x24\x18"); /* 24(%rsp) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 &&
		tl_arch_exit_target(e, &r) == 0x4440);
	PART("\x41\xff\x65\x00"); /* (%r13) */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].all_regs);
	CHECK(tl_arch_exit_target(e, &r) == 0x1110);
	PART("\x41\xff\xe5"); /* %r13 */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && e[0].all_regs);
	CHECK(tl_arch_exit_target(e, &r) == (uintptr_t)words);
	PART("\x3e\xff\xe1"); /* notrack %rcx */
	CHECK(tl_arch_exits(&code, &whole, 1, 0, e, 4) == 1 && tl_arch_exit_target(e, &r) == 2);
}

static void linkage_tables(void)
{
	static const uint8_t plain[] = "\xff\x25\x10\x00\x00\x00",
			     sec[] = "\xf3\x0f\x1e\xfa\xf2\xff\x25\x10\x00\x00\x00",
			     push[] = "\x68\x01\x00\x00\x00\xe9\xe0\xff\xff\xff",
			     push_sec[] =
				     "\xf3\x0f\x1e\xfa\x68\x45\x23\x01\x00\xf2\xe9\xe0\xff\xff\xff";

	CHECK(tl_arch_stub_slot(plain, sizeof(plain), AT) == AT + 0x16);
	CHECK(tl_arch_stub_slot(sec, sizeof(sec), AT) == AT + 0x1b);
	CHECK(!tl_arch_stub_slot(push, sizeof(push), AT));
	CHECK(tl_arch_stub_unbound(push, sizeof(push)) == 1 &&
		tl_arch_stub_unbound(push_sec, sizeof(push_sec)) == 0x12345);
	CHECK(tl_arch_stub_unbound(plain, sizeof(plain)) == -1);
}

static void sum_up(void *arg, uintptr_t at)
{
	*(uintptr_t *)arg = 10 * *(uintptr_t *)arg + (at - AT);
}

/* As one does that chooses among variants: lea, cmov, and a word that is read. */
static void addresses_in_code(void)
{
	uintptr_t sum = 0;

	PART("\x48\x8d\x05\xfa\xff\xff\xff\x48\x8b\x15\x10\x00\x00\x00"
	     "\x48\x8d\x15\xee\xff\xff\xff\x48\x0f\x44\xc2\xc3");
	tl_arch_code_names(&code, sum_up, &sum);
	CHECK(sum == 13); /* at 1 and 3 */
}

static void jumps_that_leave(void)
{
	PART("\x74\x00"
	     "\x75\x7c" CALL "\xe9\xf3\x00\x00\x00");
	nleft = 0;
	tl_arch_code_leaves(&code, note, NULL);
	CHECK(nleft == 2 && left_to[0] == AT + 0x80 && left_to[1] == AT + 0x101);
}

#define HOLDS(n, set)                                                                              \
	__asm__("push %1; popf; " set " %0" : "=r"(real) : "r"(flags) : "cc", "memory");           \
	CHECK(real == tl_arch_cond_holds(n, &regs))

static void conditions(void)
{
	struct tl_regs regs = {0};
	uint8_t real;

	for (uint64_t n = 0; n < 64; n++) {
		uint64_t flags = 0x202 | (n & 1) | (n & 2) << 1 | (n & 4) << 2 | (n & 8) << 3 |
				 (n & 16) << 3 | (n & 32) << 6;

		regs.flags = flags;
		HOLDS(0, "seto");
		HOLDS(1, "setno");
		HOLDS(2, "setb");
		HOLDS(3, "setae");
		HOLDS(4, "sete");
		HOLDS(5, "setne");
		HOLDS(6, "setbe");
		HOLDS(7, "seta");
		HOLDS(8, "sets");
		HOLDS(9, "setns");
		HOLDS(10, "setp");
		HOLDS(11, "setnp");
		HOLDS(12, "setl");
		HOLDS(13, "setge");
		HOLDS(14, "setle");
		HOLDS(15, "setg");
	}
}

static void stores_forbidden(void)
{
	struct tl_patch_step s;

	tl_arch_atomic_set(-1);
	CHECK(!tl_arch_atomic_ok());
	CHECK(tl_arch_patch_how(AT, (const uint8_t *)MOV5, (const uint8_t *)"\xe9\4\3\2\1", 5, true,
		      &s) != TL_PATCH_ATOMIC);
	CHECK(tl_arch_patch_how(AT + 1, (const uint8_t *)MOV5, (const uint8_t *)"\xe9\4\3\2\1", 5,
		      true, &s) == TL_PATCH_BYPASS);
	CHECK(tl_arch_patch_how(AT, (const uint8_t *)MOV5, (const uint8_t *)"\xcc", 1, true, &s) ==
		TL_PATCH_ATOMIC);
}

/* --- whatever the bytes are --------------------------------------------------------- */

static uint64_t seed;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static struct tl_detour_env env = {
	.gate = (struct tl_gate *)0x123456789000,
	.threads = (struct tl_thread *)0x123456780000,
	.enter_slow =
		(struct tl_thread * (*)(struct tl_site *, uintptr_t, uintptr_t))0x1234567a0000,
};

struct places {
	const struct tl_plan *plan;
	uintptr_t at, size, last;
	unsigned n, pushed;
};

/* Told the same as when asked about that place, which gets the first answer: before a jump, and behind it. */
static void check_place(void *arg, uintptr_t ip, uintptr_t text, enum tl_place what)
{
	struct places *p = arg;

	p->n++;
	CHECK(ip - p->at <= p->size);
	if (what == TL_PLACE_ENTRY)
		CHECK(tl_arch_ip_to_detour(p->plan, &env, p->at, text) == ip);
	if (what == TL_PLACE_COPY && ip != p->last)
		CHECK(tl_arch_ip_to_text(p->plan, &env, p->at, ip) == text);
	p->last = ip;
	if (what == TL_PLACE_PUSHED) {
		p->pushed++;
		CHECK(text - p->plan->start < p->plan->len);
	}
}

/* A call through memory pushes before it reads what it might not: that place is no place of the text. */
static void pushed_place(void)
{
	const uint8_t call[] = {0xff, 0x97, 0, 1, 0, 0}; /* call *0x100(%rdi) */
	struct tl_plan plan = {.rung = TL_RUNG_WHOLE,
		.npoints = 1,
		.len = sizeof(call),
		.start = HIGH,
		.points = {{.addr = HIGH, .site = (void *)0x1234567b0000}}};
	struct places p = {.plan = &plan, .at = HIGH + 0x10000};
	uint8_t detour[TL_DETOUR_MAX];

	memcpy(plan.orig, call, sizeof(call));
	p.size = (uintptr_t)tl_arch_detour_build(&plan, &env, p.at, detour);
	tl_arch_detour_places(&plan, &env, p.at, check_place, &p);
	CHECK(p.n == 3 && p.pushed == 1);
}

/* Random bytes, random wishes: a plan that is given is one that can be built, within its bound, and maps back. */
static void random_code(void)
{
	static uint8_t bytes[64], detour[TL_DETOUR_MAX];
	unsigned built = 0, refused = 0;

	seed = unit_seed(88172645463325252ul);
	for (unsigned n = 0; n < 60000; n++) {
		unsigned points = 0, at = (unsigned)(rnd() % 16);
		uintptr_t there, patched;
		int size;

		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] =
				rnd() % 3 ? (uint8_t)rnd()
					  : (uint8_t) "\x90\xe8\x0f\xff\x48\xc3\x74\xeb"[rnd() % 8];
		part_at(HIGH, (const char *)bytes, sizeof(bytes), rnd() % 8);
		env.tid_offset = rnd() & 1 ? 0x2d0 : 0;
		env.fast_key = rnd() & 1;
		memset(&plan, 0, sizeof(plan));
		plan.early = rnd() & 1;
		for (; at < 40 && points < 1 + n % 3; at++)
			if (!tl_arch_can_probe(&code, HIGH + at))
				plan.points[points++] = (struct tl_point){.addr = HIGH + at,
					.site = (void *)0x1234567b0000,
					.flags = (uint32_t)rnd() & 3,
					.post = !(rnd() & 3)};
		plan.npoints = (uint8_t)points;
		if (!points || tl_arch_plan(&plan, &code, tl_arch_rungs, &ground)) {
			refused++;
			continue;
		}
		there = plan.reach_lo +
			rnd() % 2 * ((plan.reach_hi - plan.reach_lo - TL_DETOUR_MAX) & ~63ul);
		if (plan.fit.mask)
			there = place(&plan, there);
		if (there < plan.reach_lo || there > plan.reach_hi - TL_DETOUR_MAX)
			continue;
		size = tl_arch_detour_build(&plan, &env, there, detour);
		CHECK(size > 0 && (size_t)size <= tl_arch_detour_bound(&plan));
		CHECK(plan.points[0].addr >= plan.start &&
			plan.points[points - 1].addr < plan.start + plan.len);
		patched = tl_arch_ip_to_detour(&plan, &env, there, plan.start);
		CHECK(plan.rung == TL_RUNG_RETARGET ? patched == plan.start : patched == there);
		CHECK(plan.rung == TL_RUNG_RETARGET ||
			tl_arch_ip_to_text(&plan, &env, there, there) == plan.start);
		if (plan.rung != TL_RUNG_RETARGET)
			tl_arch_detour_places(&plan, &env, there, check_place,
				&(struct places){
					.plan = &plan, .at = there, .size = (uintptr_t)size});
		built++;
	}
	printf("# %u built, %u refused\n", built, refused);
	CHECK(built > 10000 && refused > 1000);
}

/* --- is one aligned store seen whole? ---------------------------------------------- */

static uint8_t *page;
static volatile int stop;
static volatile unsigned long calls, wrong;

/* mov $1,%eax; ret against jmp to mov $2,%eax; ret, at every place in a word. */
static void *caller(void *arg)
{
	(void)arg;
	while (!stop) {
		for (unsigned place = 0; place < 4; place++) {
			int got = ((int (*)(void))(uintptr_t)(page + place * 64 + place))();

			wrong += got != 1 && got != 2;
		}
		calls += 4;
	}
	return NULL;
}

static void toggle(unsigned place, bool jump)
{
	uint8_t *at = page + place * 64, w[8];
	int32_t rel = (int32_t)((page + 2048) - (at + place + 5));
	uint64_t word;

	memcpy(w, at, 8);
	w[place] = jump ? 0xe9 : 0xb8;
	memcpy(w + place + 1, jump ? &rel : &(int32_t){1}, 4);
	memcpy(&word, w, 8);
	__atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
}

static void one_store_is_seen_whole(void)
{
	pthread_t t;
	uint64_t end = __rdtsc() + 1500000000ull;

	if (!tl_arch_atomic_ok())
		SKIP("this processor's vendor is not known to fetch words whole");
	page = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	memset(page, 0xc3, 4096);
	memcpy(page + 2048, "\xb8\x02\x00\x00\x00\xc3", 6);
	for (unsigned place = 0; place < 4; place++)
		toggle(place, false);
	pthread_create(&t, NULL, caller, NULL);
	while (__rdtsc() < end || calls < 1000)
		for (unsigned place = 0; place < 4; place++) {
			toggle(place, true);
			toggle(place, false);
		}
	stop = 1;
	pthread_join(t, NULL);
	printf("# %lu calls under change\n", calls);
	CHECK(wrong == 0);
}

int main(void)
{
	RUN(cheapest_rung_first);
	RUN(boundaries_only);
	RUN(branch_into_window);
	RUN(branch_into_whole);
	RUN(planted_return_address);
	RUN(landing_pad_in_window);
	RUN(calls_under_a_shadow_stack);
	RUN(calls_over_two_words);
	RUN(windows_start_earlier);
	RUN(several_points);
	RUN(operands_relative_to_eip_stay_where_they_are);
	RUN(nobody_waits_inside);
	RUN(padding_is_room);
	RUN(padding_amid_a_part_is_room);
	RUN(indirect_jumps);
	RUN(jumps_that_only_leave);
	RUN(sequences);
	RUN(goroutines_stacks);
	RUN(switch_tables);
	RUN(undecodable_parts);
	RUN(breakpoints_of_others);
	RUN(neighbours);
	RUN(post_handlers);
	RUN(puns_share_what_follows);
	RUN(puns_leave_targets_alone);
	RUN(a_wide_pun_comes_before_a_window);
	RUN(puns_hold_what_they_share);
	RUN(neighbours_move_away);
	RUN(chains_where_half_of_the_reach_is_void);
	RUN(across_the_end_of_a_part);
	RUN(neighbours_that_stay);
	RUN(reach_covers_operands);
	RUN(reach_wraps_around);
	RUN(bytes_of_patches);
	RUN(ways_to_write);
	RUN(ways_out);
	RUN(ways_out_by_running_on);
	RUN(computed_ways_out);
	RUN(linkage_tables);
	RUN(addresses_in_code);
	RUN(jumps_that_leave);
	RUN(conditions);
	RUN(pushed_place);
	RUN(random_code);
	RUN(one_store_is_seen_whole);
	RUN(stores_forbidden);
	return UNIT_RESULT();
}
