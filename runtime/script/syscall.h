/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Returns of system calls: a probe at the instruction notes the call, and one behind it asks whether it was
 * noted, once for each of the script's probes (`nth`, below 64). False: it is no return. To be called in handlers.
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_SYSCALL_H
#define TRAPLESS_RUNTIME_SCRIPT_SYSCALL_H

#include "run.h"

void tl_syscall_note(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint64_t number);
bool tl_syscall_noted(const struct tl_env *env, struct tl_thread *self, const struct tl_regs *regs,
	uint32_t nth, uint32_t *number);
/* Behind either: which of the thread's calls that is; no two have the same. */
uint64_t tl_syscall_serial(const struct tl_run *run);

#endif
