/* SPDX-License-Identifier: MIT */
/*
 * What a program does by itself: a child, made before anything is probed, runs
 * it one instruction at a time (the trap flag), does what handlers would do,
 * and counts.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "churn.h"

enum { TRAP_FLAG = 0x100, NONE = 0xffff };

static const struct program *prog;
static struct run *shared;
static uint16_t item_at[TEXT_SIZE];
static int ask[2], answer[2];
static pid_t child;

/* --- the child --------------------------------------------------------------------- */

/* In front of an instruction; where it is skipped, in front of the next one. */
static void on_step(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	for (;;) {
		uint64_t off = (uint64_t)r[REG_RIP] - (uintptr_t)churn_text;
		unsigned i = off < TEXT_SIZE ? item_at[off] : NONE;

		if (i == NONE)
			return;
		shared->count[i]++;
		switch (shared->act[i]) {
		case ACT_TWIST:
			r[REG_RAX] ^= TWIST;
			return;
		case ACT_SKIP:
			r[REG_RIP] += prog->item[i].len;
			break;
		case ACT_LEAVE:
			r[REG_RIP] = *(greg_t *)r[REG_RSP];
			r[REG_RSP] += 8;
			break;
		default:
			return;
		}
	}
}

static void set_trap_flag(bool on)
{
	uint64_t flags = __builtin_ia32_readeflags_u64();

	__builtin_ia32_writeeflags_u64(on ? flags | TRAP_FLAG : flags & ~(uint64_t)TRAP_FLAG);
}

static void serve(void)
{
	struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	char c;

	sigaction(SIGTRAP, &sa, NULL);
	while (read(ask[0], &c, 1) == 1) {
		memset(shared->count, 0, sizeof(shared->count));
		set_trap_flag(true);
		churn_call(churn_at(&prog->item[prog->first[shared->func]]), &shared->w);
		set_trap_flag(false);
		if (write(answer[1], &c, 1) != 1)
			break;
	}
	_exit(0);
}

/* --- the test's side ------------------------------------------------------------------ */

struct run *oracle_start(const struct program *p)
{
	prog = p;
	memset(item_at, 0xff, sizeof(item_at));
	for (unsigned i = p->nitems; i < SITES; i++)
		item_at[p->item[i].off] = (uint16_t)i;
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(ask) || pipe(answer) || (child = fork()) < 0)
		return NULL;
	if (!child) {
		close(ask[1]);
		serve();
	}
	close(ask[0]);
	close(answer[1]);
	return shared;
}

bool oracle_run(void)
{
	char c = 0;

	return write(ask[1], &c, 1) == 1 && read(answer[0], &c, 1) == 1;
}

void oracle_end(void)
{
	close(ask[1]);
	close(answer[0]);
	waitpid(child, NULL, 0);
	munmap(shared, sizeof(*shared));
}
