/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects that are loaded later. The loader calls an empty function when its
 * list has changed, with all mapped and before any of the new code runs. Our
 * probe there sends the thread on to news_entry(), outside of any handler,
 * where it may wait until the helper has armed what came.
 */
#include "internal.h"
#include "../machine/machine.h"
#include "../../engine/os/process/own.h"

static struct tl_probe probe;
static bool watching;
static uint32_t asked, answered; /* futex: answered */

void tl_news(void);

static int divert(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self)
{
	(void)p, (void)self;
	TL_REGS_IP(regs) = (uintptr_t)tl_news_entry;
	return 1;
}

/* It sleeps on the runner's futex. */
static void wake_helper(void)
{
	struct tl_preload *p = TL_LOAD(&tl_preload);

	if (p) /* may be unmapped by now: the kernel does not mind */
		tl_syscall3(TL_NR_futex, (long)&p->runner, TL_FUTEX_WAKE, 1);
}

/* The loader's thread. The helper may be about to sleep when we wake it: so more than once. */
__attribute__((used)) void tl_news(void)
{
	const struct tl_timespec nap = {0, 2000000};
	uint32_t mine, seen;
	bool consistent = false;

	if (!tl_loader_news(&consistent) || !consistent)
		return;
	mine = __atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
	while (TL_LOAD(&watching) && (int32_t)((seen = TL_LOAD(&answered)) - mine) < 0) {
		wake_helper();
		tl_syscall4(TL_NR_futex, (long)&answered, TL_FUTEX_WAIT_PRIVATE, (long)seen,
			(long)&nap);
	}
}

static uint32_t taken;

bool tl_watch_take(void)
{
	taken = __atomic_load_n(&asked, __ATOMIC_SEQ_CST);
	return taken != answered;
}

void tl_watch_done(void)
{
	TL_STORE(&answered, taken);
	tl_syscall3(TL_NR_futex, (long)&answered, TL_FUTEX_WAKE_PRIVATE, 0x7fffffff);
}

/* Loaders without unwind tables do not tell how long it is: padding up to the next function is no function's. */
static uint32_t size_with_padding(uintptr_t at)
{
	return TL_FUNC_ALIGN - (uint32_t)(at & (TL_FUNC_ALIGN - 1));
}

int tl_watch_start(void)
{
	bool consistent;
	uintptr_t at = tl_loader_news(&consistent);
	int ret;

	if (watching)
		return 0;
	if (!at)
		return -TL_E_NOT_TEXT;
	probe = (struct tl_probe){.addr = (void *)at, .pre = divert, .flags = TL_PROBE_NO_TRAP};
	ret = tl_probe_register(&probe);
	if (ret) {
		probe.func_start = at;
		probe.func_size = size_with_padding(at);
		ret = tl_probe_register(&probe);
	}
	TL_STORE(&watching, !ret);
	return ret;
}

void tl_watch_stop(void)
{
	if (!watching)
		return;
	TL_STORE(&watching, false); /* whoever waits for us goes on */
	tl_watch_done();
	tl_probe_unregister(&probe);
}
