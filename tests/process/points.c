/* SPDX-License-Identifier: MIT */
/*
 * Part of an agent with race points: at each of them it writes the point's
 * number to one descriptor of the program, and goes on when it could read a
 * byte from another, threads of the program (CLAIMED) from a third. Programs
 * that have no such descriptors are not held up. The byte 'x' makes the agent
 * fail there.
 */
#include "../../agent/agent.h"
#include "../../engine/core/base/race.h"
#include "../../engine/os/process/process.h"

enum { TELL = 100, WAIT = 101, PROGRAM_WAITS = 102, NR_WRITE = 1 };

static void tell_and_wait(enum tl_race point)
{
	uint8_t byte = (uint8_t)point;

	if (tl_syscall3(NR_WRITE, TELL, (long)&byte, 1) != 1)
		return;
	tl_syscall3(TL_NR_read, point == RP_CLAIMED ? PROGRAM_WAITS : WAIT, (long)&byte, 1);
	if (byte == 'x')
		__builtin_trap();
}

void tl_agent_test_begin(void)
{
	tl_race_hook = tell_and_wait;
}
