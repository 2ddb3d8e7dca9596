/* SPDX-License-Identifier: MIT */
/* What the files of this machine share. */
#ifndef TRAPLESS_RUNNER_MACHINE_X86_64_H
#define TRAPLESS_RUNNER_MACHINE_X86_64_H

#include <sys/user.h>

#include "../machine.h"

_Static_assert(
	sizeof(struct user_regs_struct) <= sizeof(struct machine_regs), "they are kept there");

enum { SYSCALL_SIZE = 2 };
enum { CODE_64 = 0x33 }; /* the segment of 64-bit code */

static inline struct user_regs_struct *user_regs(struct machine_regs *r)
{
	return (struct user_regs_struct *)r;
}

static inline const struct user_regs_struct *user_regs_const(const struct machine_regs *r)
{
	return (const struct user_regs_struct *)r;
}

#endif
