/* SPDX-License-Identifier: MIT */
/*
 * How a thread that makes a call for us finds its way when we are killed
 * meanwhile: behind the call it returns, by words that lie ready below its
 * stack, to another call that puts all back as it was (rt_sigreturn), or, in
 * the helper, ends it (exit). All code is the program's own: a `syscall`
 * with a `ret` behind it, and a `pop %rax; ret`.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "guardian.h"
#include "images.h"

enum {
	RED_ZONE = 128,
	LOOK_BYTES = 16 << 20, /* of the program's text, at most */
	CODE_MAX = 48, /* from a `syscall` to its `ret` */
	POPS_MAX = 7,
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

/* --- code of the program's ------------------------------------------------------------------- */

int returns_behind(const uint8_t *code, size_t n)
{
	int pops = 0;
	size_t i = 0;

	while (i < n) {
		size_t rex = (code[i] & 0xf0) == 0x40;
		const uint8_t *p = code + i + rex;

		if (i + rex + 1 >= n)
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

static uint64_t find_pop(struct guardian *g, const struct mapping *m, uint64_t *left)
{
	static uint8_t code[65536];
	const uint8_t pop[] = {0x58, 0xc3};
	uint64_t at;
	size_t n;

	for (at = m->lo; at < m->hi && *left; at += n) {
		const uint8_t *p;

		n = m->hi - at < sizeof(code) ? m->hi - at : sizeof(code);
		if (target_read(g, g->pid, at, code, n) != n)
			break;
		*left -= n < *left ? n : *left;
		p = memmem(code, n, pop, sizeof(pop));
		if (p)
			return at + (uint64_t)(p - code);
	}
	return 0;
}

/* Those of libraries, which most programs have in memory anyhow, come before the program's own, which may be large. */
static void find_code(struct guardian *g)
{
	uint64_t left = LOOK_BYTES;
	const struct mapping *m;
	size_t n, i;

	g->pop_rax = 0;
	if (maps_read(g))
		return;
	m = mappings(&n);
	for (i = n; i-- && left && !g->pop_rax;)
		if (is_text(&m[i]))
			g->pop_rax = find_pop(g, &m[i], &left);
}

/* The program may have changed it since. */
static bool code_stands(struct guardian *g, int *pops)
{
	uint8_t call[2 + CODE_MAX], pop[2];
	size_t n = target_read(g, g->pid, g->syscall_insn, call, sizeof(call));

	*pops = n > 2 && call[0] == 0x0f && call[1] == 0x05 ? returns_behind(call + 2, n - 2) : -1;
	return *pops >= 0 && g->pop_rax &&
	       target_read(g, g->pid, g->pop_rax, pop, sizeof(pop)) == sizeof(pop) &&
	       pop[0] == 0x58 && pop[1] == 0xc3;
}

static bool code_found(struct guardian *g, int *pops)
{
	if (code_stands(g, pops))
		return true;
	if (*pops < 0 && remote_find_syscall(g))
		return false;
	find_code(g);
	return code_stands(g, pops);
}

/* --- words ----------------------------------------------------------------------------------- */

/* By which a thread behind its call makes that one. How many. */
static size_t lead_on(const struct guardian *g, uint64_t *words, int pops, uint64_t nr)
{
	size_t n = 0;

	while (n < (size_t)pops)
		words[n++] = 0;
	words[n++] = g->pop_rax;
	words[n++] = nr;
	words[n++] = g->syscall_insn;
	return n;
}

/* As a signal's frame has it; its size, 0: it cannot be had. */
static size_t xstate_get(const struct thread *t, uint8_t *to, size_t room)
{
	struct iovec io = {to, room};
	struct xstate_words w = {.magic = XSTATE_MAGIC1};
	const uint32_t end = XSTATE_MAGIC2;
	uint64_t used;

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_X86_XSTATE, &io) ||
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
static void frame_fill(
	ucontext_t *uc, const struct user_regs_struct *r, uint64_t mask, uint64_t xstate)
{
	greg_t *to = uc->uc_mcontext.gregs;

	memset(uc, 0, sizeof(*uc));
	uc->uc_flags = SIGFRAME_FLAGS;
	uc->uc_stack.ss_flags = 0x7f;
	to[REG_R8] = (greg_t)r->r8;
	to[REG_R9] = (greg_t)r->r9;
	to[REG_R10] = (greg_t)r->r10;
	to[REG_R11] = (greg_t)r->r11;
	to[REG_R12] = (greg_t)r->r12;
	to[REG_R13] = (greg_t)r->r13;
	to[REG_R14] = (greg_t)r->r14;
	to[REG_R15] = (greg_t)r->r15;
	to[REG_RDI] = (greg_t)r->rdi;
	to[REG_RSI] = (greg_t)r->rsi;
	to[REG_RBP] = (greg_t)r->rbp;
	to[REG_RBX] = (greg_t)r->rbx;
	to[REG_RDX] = (greg_t)r->rdx;
	to[REG_RAX] = (greg_t)r->rax;
	to[REG_RCX] = (greg_t)r->rcx;
	to[REG_RSP] = (greg_t)r->rsp;
	to[REG_RIP] = (greg_t)r->rip;
	to[REG_EFL] = (greg_t)r->eflags;
	to[REG_CSGSFS] = (greg_t)(r->cs | r->ss << 48);
	uc->uc_mcontext.fpregs = (void *)(uintptr_t)xstate;
	memcpy(&uc->uc_sigmask, &mask, sizeof(mask));
}

/* Goroutines have small stacks: what lies below may be anybody's. */
static bool is_of_go(struct guardian *g)
{
	const struct mapped *m;
	size_t n;

	m = images_found(&n);
	if (!n && !images_find(g))
		m = images_found(&n);
	while (n && !m->go)
		m++, n--;
	return n;
}

bool foothold_lay(struct guardian *g, struct thread *t, const struct user_regs_struct *home,
	uint64_t mask, struct foothold *f)
{
	const size_t frame = offsetof(ucontext_t, uc_sigmask) + sizeof(mask);
	uint64_t end = (home->rsp - RED_ZONE - sizeof(f->put)) & ~63ull, words[POPS_MAX + 3];
	struct user_regs_struct stands = *home;
	size_t n, size, at = FOOTHOLD_WORDS;
	ucontext_t uc;
	int pops;

	memset(f, 0, sizeof(*f));
	if (is_of_go(g) || !code_found(g, &pops) ||
		target_read(g, t->tgid, end, f->kept, sizeof(f->kept)) != sizeof(f->kept))
		return false;
	memcpy(f->put, f->kept, sizeof(f->put));
	size = xstate_get(t, f->put + FOOTHOLD_XSTATE, sizeof(f->put) - FOOTHOLD_XSTATE);
	if (!size)
		return false;
	f->helper_sp = end;
	memcpy(f->put, words, sizeof(words[0]) * lead_on(g, words, pops, SYS_exit));
	f->sp = end + at;
	n = sizeof(words[0]) * lead_on(g, words, pops, SYS_rt_sigreturn);
	memcpy(f->put + at, words, n);
	frame_fill(&uc, home, mask, end + FOOTHOLD_XSTATE);
	memcpy(f->put + at + n, &uc, frame);
	if (target_write(g, t->tgid, end, f->put, sizeof(f->put)))
		return false;
	f->at = end;
	t->calls_sp = f->sp;
	stands.rip = g->syscall_insn + 2;
	stands.rsp = f->sp;
	stands.orig_rax = (uint64_t)-1;
	regs_set(t->tid, &stands);
	return true;
}

void foothold_lift(struct guardian *g, struct thread *t, struct foothold *f)
{
	t->calls_sp = 0;
	if (f->at)
		target_write(g, t->tgid, f->at, f->kept, sizeof(f->kept));
	f->at = 0;
}

void foothold_of_helper(struct guardian *g, struct thread *t, uint64_t at)
{
	uint64_t words[POPS_MAX + 3];
	size_t n;
	int pops;

	t->calls_sp = 0;
	if (!code_stands(g, &pops))
		return;
	n = sizeof(words[0]) * lead_on(g, words, pops, SYS_exit);
	if (!target_write(g, g->pid, at, words, n))
		t->calls_sp = at;
}
