/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a handler has to know or to read. It makes no system call: the program
 * may have forbidden itself all but a few, at the price of its life (seccomp).
 * Memory is simply read, and who faults is led on by the guardian, which sees
 * the signal before the program does. Questions are a breakpoint, answered in
 * registers.
 */
#include "handler.h"
#include "../engine/os/process/process.h"

/* A guardian that was killed answers nothing, and leads nobody on. */
bool tl_agent_guarded(void)
{
	return !(__atomic_load_n(&tl_ctl->watcher, __ATOMIC_RELAXED) & TL_CTL_FUTEX_DIED);
}

static bool ask(struct tl_answer *a, uint32_t what, int64_t of)
{
	a->answered = 0;
	if (tl_agent_guarded())
		tl_ask(a, what, of);
	return a->answered != 0;
}

bool tl_agent_asks(struct tl_answer *a, enum tl_question what)
{
	return ask(a, what, 0);
}

bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2])
{
	struct tl_answer a;

	if (!ask(&a, TL_ASK_FACT + what, of) || a.answered & TL_ANSWER_NONE)
		return false;
	__builtin_memcpy(value, a.comm, sizeof(a.comm));
	return true;
}

bool tl_home_raise(int64_t sig)
{
	struct tl_answer a;

	return ask(&a, TL_ASK_RAISE, sig) && !(a.answered & TL_ANSWER_NONE);
}

static bool may_touch(uint64_t addr)
{
	return addr >= TL_PAGE && !(addr >> TL_ADDRESS_BITS) && tl_agent_guarded();
}

int tl_home_read(void *dst, uint64_t addr, uint32_t size)
{
	return may_touch(addr) ? tl_peek((uintptr_t)dst, addr, size) : -1;
}

int tl_home_write(uint64_t addr, const void *src, uint32_t size)
{
	return may_touch(addr) ? tl_peek(addr, (uintptr_t)src, size) : -1;
}

uint32_t tl_agent_pid_known(uint32_t tid)
{
	uint64_t known =
		__atomic_load_n(&tl_ctl->threads[tid & (TL_CTL_THREADS - 1)], __ATOMIC_ACQUIRE);

	return (uint32_t)known == tid ? (uint32_t)(known >> 32) : 0;
}

uint32_t tl_home_pid(uint32_t tid)
{
	uint32_t pid = tl_agent_pid_known(tid);
	struct tl_answer a;

	return pid || !tl_agent_asks(&a, TL_ASK_WHO) ? pid : a.pid;
}

void tl_home_comm(char comm[16])
{
	struct tl_answer a;

	if (tl_agent_asks(&a, TL_ASK_WHO))
		__builtin_memcpy(comm, a.comm, sizeof(a.comm));
}
