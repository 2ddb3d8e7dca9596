/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * System calls that are under way, by thread. The instruction behind the call is reached by others, too: a new
 * thread or process begins there, and the program may jump there. What counts is the note that the call itself has left,
 * found by the place and the stack pointer. Calls that never return leave theirs, until it is in the way.
 */
#include "internal.h"

/*
 * The latest of this place and stack pointer that is `wanted` by any of these, or -1. The one behind the last is that
 * of the latest return, which all probes there are to find.
 */
static int find(const struct tl_block_own *own, uint64_t sp, uint64_t ip, uint64_t wanted)
{
	int n = (int)(own->nsyscalls < TL_SYSCALLS ? own->nsyscalls : TL_SYSCALLS - 1);

	for (; n >= 0; n--) {
		const struct tl_syscall *call = &own->syscalls[n];

		if (call->sp == sp && call->ip == ip && call->wanted & wanted)
			break;
	}
	return n;
}

/* Of too many the earliest is given up. */
static uint32_t place_for_another(struct tl_block_own *own)
{
	if (own->nsyscalls < TL_SYSCALLS)
		return own->nsyscalls;
	for (uint32_t n = 1; n < TL_SYSCALLS; n++)
		own->syscalls[n - 1] = own->syscalls[n];
	return TL_SYSCALLS - 1;
}

void tl_syscall_note(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint64_t number)
{
	struct tl_block *b = tl_count_enter(env, self);
	struct tl_block_own *own;
	int found;
	uint32_t n;

	if (!b)
		return;
	tl_count_hit(b, env);
	own = tl_block_own(b);
	found = find(own, TL_REGS_SP(regs), TL_REGS_IP(regs), UINT64_MAX);
	n = found < 0 ? place_for_another(own) : (uint32_t)found;
	/* the kernel goes on with an interrupted one by this */
	if (found >= 0 && (uint32_t)number == TL_SYSCALL_RESTART) {
		number = own->syscalls[n].number;
		own->serial = own->syscalls[n].serial;
	} else {
		own->serial = ++own->noted;
	}
	own->syscalls[n] = (struct tl_syscall){
		TL_REGS_SP(regs), TL_REGS_IP(regs), UINT64_MAX, own->serial, (uint32_t)number, 0};
	own->nsyscalls = n + 1;
}

bool tl_syscall_noted(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint32_t nth, uint32_t *number)
{
	struct tl_block *b = tl_count_enter(env, self);
	const uint64_t bit = (uint64_t)1 << nth;
	struct tl_block_own *own;
	struct tl_syscall *call;
	int n;

	if (!b)
		return false;
	own = tl_block_own(b);
	n = find(own, TL_REGS_SP(regs), TL_REGS_IP(regs) - TL_SYSCALL_SIZE, bit);
	if (n < 0)
		return false;
	call = &own->syscalls[n];
	if (tl_syscall_is_child(call->number, regs))
		return false;
	call->wanted &= ~bit;
	own->nsyscalls = (uint32_t)n;
	own->serial = call->serial;
	*number = call->number;
	return true;
}

uint64_t tl_syscall_serial(const struct tl_run *run)
{
	return tl_block_own(run->block)->serial;
}
