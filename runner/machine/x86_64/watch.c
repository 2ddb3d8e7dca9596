/* SPDX-License-Identifier: MIT */
/*
 * Debug registers. Intel 64 SDM, volume 3B, 18.2: DR0 to DR3 hold addresses, DR7 says what they are for, DR6 which of
 * them it was.
 */
#include <errno.h>
#include <sys/ptrace.h>

#include "x86_64.h"

enum { STATUS = 6, CONTROL = 7 };

static size_t place_of(int number)
{
	return offsetof(struct user, u_debugreg) + (size_t)number * sizeof(long);
}

static int set(pid_t tid, int number, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, tid, place_of(number), value) ? -errno : 0;
}

static uint64_t get(pid_t tid, int number)
{
	errno = 0;
	return (uint64_t)ptrace(PTRACE_PEEKUSER, tid, place_of(number), 0) & (errno ? 0 : ~0ull);
}

static uint64_t control_of(const struct watchpoint *w, int number)
{
	static const uint64_t kinds[] = {
		[WATCH_WRITES] = 1, [WATCH_ACCESSES] = 3, [WATCH_EXECUTION] = 0};
	static const uint64_t lengths[WATCH_LONGEST + 1] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};

	return 1ull << (2 * number) | (kinds[w->kind] | lengths[w->len] << 2) << (16 + 4 * number);
}

int watch_set(pid_t tid, const struct watchpoint w[WATCHPOINTS])
{
	int ret = set(tid, CONTROL, 0), i;
	uint64_t control = 0;

	for (i = 0; !ret && i < WATCHPOINTS; i++) {
		if (!w[i].len)
			continue;
		ret = set(tid, i, w[i].addr);
		control |= control_of(&w[i], i);
	}
	return ret ? ret : set(tid, CONTROL, control);
}

int watch_off(pid_t tid)
{
	return set(tid, CONTROL, 0);
}

bool watch_any(pid_t tid)
{
	return get(tid, CONTROL);
}

uint32_t watch_hits(pid_t tid)
{
	return get(tid, STATUS) & ((1u << WATCHPOINTS) - 1);
}

void watch_hits_forget(pid_t tid)
{
	set(tid, STATUS, 0);
}
