/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Own process: breakpoints come back as SIGTRAP. Our handler only changes the
 * saved program counter; every other SIGTRAP goes to the handler that the
 * program had. It is installed with the first breakpoint.
 *
 * Limits, because here nobody watches the program from outside: a thread that
 * blocks SIGTRAP dies at a breakpoint, and a handler that the program installs
 * later replaces ours until the next probe is registered.
 */
#include "../../core/base/race.h"
#include "../traptab.h"
#include "own.h"

static struct tl_sigaction program; /* what we stand before; engine lock to change */

typedef void handler_fn(int sig, struct tl_siginfo *info, struct tl_ucontext *uc);

static void die_by_default(void)
{
	long pid = tl_syscall3(TL_NR_getpid, 0, 0, 0);

	tl_sigaction_set(TL_SIGTRAP, TL_SIG_DFL, 0, 0, NULL);
	tl_syscall3(TL_NR_tgkill, pid, (long)tl_gettid(), TL_SIGTRAP);
}

/* As the kernel would have called it. */
static void to_program(int sig, struct tl_siginfo *info, struct tl_ucontext *uc)
{
	struct tl_sigaction to = program;
	uint64_t mask = to.mask;

	if (to.handler == TL_SIG_IGN && info->code <= 0)
		return;
	if (to.handler == TL_SIG_DFL || to.handler == TL_SIG_IGN) {
		die_by_default();
		return;
	}
	if (to.flags & TL_SA_RESETHAND)
		program.handler = TL_SIG_DFL;
	if (!(to.flags & TL_SA_NODEFER))
		mask |= 1ull << (TL_SIGTRAP - 1);
	tl_syscall4(TL_NR_rt_sigprocmask, TL_SIG_BLOCK, (long)&mask, 0, sizeof(mask));
	((handler_fn *)to.handler)(sig, info, uc);
}

/* Where a thread goes on that has run into a breakpoint of ours, 0: it was none. */
static uintptr_t way_on(uintptr_t at)
{
	uintptr_t detour = tl_traptab_find(at);

	return detour || !tl_breakpoint_gone(at) ? detour : at;
}

/* From the second store on the frame is like any other: see tl_own_trapped(). */
static void go_on(struct tl_ucontext *uc, struct tl_siginfo *info, uintptr_t at)
{
	tl_context_set_ip(uc, at);
	__atomic_signal_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&info->code, 0, __ATOMIC_RELAXED);
}

static void on_trap(int sig, struct tl_siginfo *info, struct tl_ucontext *uc)
{
	uintptr_t to;

	tl_race_point(RP_TRAPPED);
	to = tl_own_trapped(info) ? way_on(tl_context_ip(uc) - TL_BREAKPOINT_STEP) : 0;
	if (to)
		go_on(uc, info, to);
	else
		to_program(sig, info, uc);
}

static bool ours(void)
{
	struct tl_sigaction now;

	return !tl_sigaction_get(TL_SIGTRAP, &now) && now.handler == (uintptr_t)on_trap;
}

int tl_os_trap_add(uintptr_t addr, uintptr_t detour)
{
	const unsigned long flags = TL_SA_SIGINFO | TL_SA_ONSTACK | TL_SA_NODEFER | TL_SA_RESTART;
	int ret = tl_code_seal();

	if (ret)
		return ret;
	if (!ours()) {
		tl_sigaction_get(TL_SIGTRAP, &program);
		if (tl_sigaction_set(TL_SIGTRAP, (uintptr_t)on_trap, flags, 0, NULL))
			return -TL_E_TRAP_FORBIDDEN;
	}
	return tl_traptab_set(addr, detour);
}

/* Signal handlers tell nobody when they end. */
bool tl_traptab_wait(void)
{
	return false;
}

bool tl_os_trap_may_kill(void)
{
	return true;
}

static uintptr_t same(void *arg, uintptr_t pc, bool saved)
{
	(void)arg;
	(void)saved;
	return pc;
}

static void nothing(void *arg)
{
	(void)arg;
}

/*
 * A thread may have run into the last breakpoint and not be in our handler yet.
 * Once it has answered a stop it is; so only after that the program's own
 * handler comes back.
 */
void tl_own_trap_exit(void)
{
	const struct tl_os_stop stop = {.pc = same, .done = nothing};

	if (ours() && !tl_os_stop_all(&stop))
		tl_sigaction_set(TL_SIGTRAP, program.handler, program.flags, program.mask, NULL);
}
