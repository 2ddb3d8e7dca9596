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

enum { ADDRESS_BITS = 56 }; /* of the largest address space; what is no address faults, too */

/*
 * tl_peek(dst, src, n): 0, or -1. Without a frame, so that the guardian can have it end at any place.
 * tl_ask(answer, what): fills it in where `answered` is left nonzero.
 */
__asm__(".text\n.globl tl_peek, tl_peek_end, tl_peek_fault, tl_ask, tl_ask_at\n"
	".hidden tl_peek, tl_peek_end, tl_peek_fault, tl_ask, tl_ask_at\n"
	".type tl_peek, @function\n"
	"tl_peek:\n"
	"	cmp $8, %edx\n"
	"	jne 1f\n"
	"	mov (%rsi), %rax\n"
	"	mov %rax, (%rdi)\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"1:	mov %edx, %ecx\n"
	"	rep movsb\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	"tl_peek_end:\n"
	"tl_peek_fault:\n"
	"	mov $-1, %eax\n"
	"	ret\n"
	".size tl_peek, . - tl_peek\n"
	".type tl_ask, @function\n"
	"tl_ask:\n"
	"	mov %esi, %eax\n"
	"tl_ask_at:\n"
	"	int3\n"
	"	mov %rax, (%rdi)\n"
	"	mov %rsi, 8(%rdi)\n"
	"	mov %rdx, 16(%rdi)\n"
	"	mov %rcx, 24(%rdi)\n"
	"	ret\n"
	".size tl_ask, . - tl_ask\n");

int tl_peek(void *dst, uint64_t src, uint32_t n);
void tl_ask(struct tl_answer *a, uint32_t what);

/* A guardian that was killed answers nothing, and leads nobody on. */
bool tl_agent_guarded(void)
{
	return !(__atomic_load_n(&tl_ctl->watcher, __ATOMIC_RELAXED) & TL_CTL_FUTEX_DIED);
}

bool tl_agent_asks(struct tl_answer *a, enum tl_question what)
{
	a->answered = 0;
	if (tl_agent_guarded())
		tl_ask(a, what);
	return a->answered != 0;
}

int tl_agent_read(void *dst, uint64_t addr, uint32_t size)
{
	if (addr < TL_PAGE || addr >> ADDRESS_BITS || !tl_agent_guarded())
		return -1;
	return tl_peek(dst, addr, size);
}

uint32_t tl_agent_pid_known(uint32_t tid)
{
	uint64_t known =
		__atomic_load_n(&tl_ctl->threads[tid & (TL_CTL_THREADS - 1)], __ATOMIC_ACQUIRE);

	return (uint32_t)known == tid ? (uint32_t)(known >> 32) : 0;
}

uint32_t tl_agent_pid(uint32_t tid)
{
	uint32_t pid = tl_agent_pid_known(tid);
	struct tl_answer a;

	return pid || !tl_agent_asks(&a, TL_ASK_WHO) ? pid : a.pid;
}

void tl_agent_comm(char comm[16])
{
	struct tl_answer a;

	if (tl_agent_asks(&a, TL_ASK_WHO))
		__builtin_memcpy(comm, a.comm, sizeof(a.comm));
}
