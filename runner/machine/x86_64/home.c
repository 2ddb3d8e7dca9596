/* SPDX-License-Identifier: MIT */
/* The way home: a `syscall` with a `ret` behind it, a `pop %rax; ret`, and a frame for rt_sigreturn(2). */
#define _GNU_SOURCE
#include <elf.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "x86_64.h"

enum {
	POPS_MAX = LEAD_WORDS - 3,
	XSTATE_MAX = 2816, /* where the tiles of AMX begin */
	XSTATE_MASK = 464, /* what ptrace(2) tells there, and a signal's frame its size */
	XSTATE_HEADER = 512,
	SIGFRAME_FLAGS = 7, /* UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS */
};

/* See asm/sigcontext.h, which does not go with ucontext.h. */
struct xstate_words {
	uint32_t magic, extended_size;
	uint64_t features;
	uint32_t size, padding[7];
};

#define XSTATE_MAGIC1 0x46505853u
#define XSTATE_MAGIC2 0x46505845u
#define XSTATE_TILES  (3ull << 17)

static const uint8_t lead_code[LEAD_SIZE] = {0x58, 0xc3}; /* pop %rax; ret */

int home_returns(const uint8_t *code, size_t size)
{
	int pops = 0;
	size_t i = 0;

	while (i < size) {
		size_t rex = (code[i] & 0xf0) == 0x40;
		const uint8_t *p = code + i + rex;

		if (i + rex + 1 >= size)
			break;
		if (*p == 0xc3)
			return pops <= POPS_MAX ? pops : -1;
		if (*p == 0x90) {
			i += rex + 1;
		} else if ((*p & 0xf8) == 0x58 && (*p != 0x5c || rex)) { /* pop, not %rsp */
			pops++;
			i += rex + 1;
		} else if ((*p == 0x31 || *p == 0x33) && p[1] >> 6 == 3 &&
			   (p[1] >> 3 & 7) == (p[1] & 7) && (p[1] & 7) != 4) {
			i += rex + 2; /* xor of a register with itself */
		} else {
			break;
		}
	}
	return -1;
}

const uint8_t *home_find_lead(const uint8_t *code, size_t size)
{
	return memmem(code, size, lead_code, sizeof(lead_code));
}

size_t home_words(uint64_t words[LEAD_WORDS], int pops, uint64_t lead, uint64_t call, long nr)
{
	size_t n = 0;

	while (n < (size_t)pops)
		words[n++] = 0;
	words[n++] = lead;
	words[n++] = (uint64_t)nr;
	words[n++] = call;
	return n;
}

size_t home_float(pid_t tid, uint8_t *to, size_t room)
{
	struct iovec io = {to, room};
	struct xstate_words w = {.magic = XSTATE_MAGIC1};
	const uint32_t end = XSTATE_MAGIC2;
	uint64_t used;

	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &io) ||
		io.iov_len < XSTATE_HEADER + sizeof(used))
		return 0;
	memcpy(&used, to + XSTATE_HEADER, sizeof(used));
	memcpy(&w.features, to + XSTATE_MASK, sizeof(w.features));
	if (used & XSTATE_TILES)
		return 0;
	w.features &= ~XSTATE_TILES;
	w.size = io.iov_len < XSTATE_MAX ? (uint32_t)io.iov_len : XSTATE_MAX;
	w.extended_size = w.size + sizeof(end);
	memcpy(to + XSTATE_MASK, &w, sizeof(w));
	memcpy(to + w.size, &end, sizeof(end));
	return w.extended_size;
}

/* Its alternate stack stays what it is: these flags are none. */
size_t home_frame(
	uint8_t to[HOME_FRAME_MAX], const struct machine_regs *home, uint64_t mask, uint64_t fp)
{
	const size_t size = offsetof(ucontext_t, uc_sigmask) + sizeof(mask);
	const struct user_regs_struct *r = user_regs_const(home);
	ucontext_t uc = {.uc_flags = SIGFRAME_FLAGS, .uc_stack.ss_flags = 0x7f};
	greg_t *gregs = uc.uc_mcontext.gregs;

	gregs[REG_R8] = (greg_t)r->r8;
	gregs[REG_R9] = (greg_t)r->r9;
	gregs[REG_R10] = (greg_t)r->r10;
	gregs[REG_R11] = (greg_t)r->r11;
	gregs[REG_R12] = (greg_t)r->r12;
	gregs[REG_R13] = (greg_t)r->r13;
	gregs[REG_R14] = (greg_t)r->r14;
	gregs[REG_R15] = (greg_t)r->r15;
	gregs[REG_RDI] = (greg_t)r->rdi;
	gregs[REG_RSI] = (greg_t)r->rsi;
	gregs[REG_RBP] = (greg_t)r->rbp;
	gregs[REG_RBX] = (greg_t)r->rbx;
	gregs[REG_RDX] = (greg_t)r->rdx;
	gregs[REG_RAX] = (greg_t)r->rax;
	gregs[REG_RCX] = (greg_t)r->rcx;
	gregs[REG_RSP] = (greg_t)r->rsp;
	gregs[REG_RIP] = (greg_t)r->rip;
	gregs[REG_EFL] = (greg_t)r->eflags;
	gregs[REG_CSGSFS] = (greg_t)(r->cs | r->ss << 48);
	uc.uc_mcontext.fpregs = (void *)(uintptr_t)fp;
	memcpy(&uc.uc_sigmask, &mask, sizeof(mask));
	memcpy(to, &uc, size);
	return size;
}
