/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the runtime asks of a machine; nothing else in it knows one. For each there is NAME.h, which compiled scripts
 * see too, and NAME.c, which runtime/files.mk chooses. `none` stands for machines that nobody has described yet: there
 * scripts run, and what concerns registers fails.
 *
 * NAME.h has
 *
 *   TL_DWARF_FP, _SP           DWARF's number of the frame pointer, of the stack pointer
 *   TL_DWARF_IP                the number that stands for where a frame's code is
 *   tl_reg_at(r, n)            where the register of DWARF's number n is kept; NULL: none has it
 *   TL_REG_ARGS                how many arguments of a function are in registers
 *   tl_reg_arg(r, n)           where argument n is, from 0, n < TL_REG_ARGS
 *   tl_reg_result(r)           where a function's result is as it returns; NULL: this machine's calls are not known
 *   TL_RETURN_POPS             bytes that a return takes off the stack
 *   TL_SYSCALL_ARGS            arguments of a system call
 *   TL_SYSCALL_SIZE            bytes of its instruction
 *   TL_SYSCALL_RESTART         the number by which the kernel goes on with one that was interrupted
 *   tl_reg_syscall_arg(r, n)   where argument n is, from 0, n < TL_SYSCALL_ARGS
 *   tl_syscall_is_child(n, r)  call n, made a child: are these the child's registers? It returns from it, too
 *   tl_cycles()                a counter of time, the same on all processors
 *   tl_pause()                 a moment's rest in a loop that waits
 */
#ifndef TRAPLESS_RUNTIME_MACHINE_H
#define TRAPLESS_RUNTIME_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/regs.h>

#if defined(__x86_64__)
#include "x86_64.h"
#else
#include "none.h"
#endif

/* NAME.c; so is tl_cpu(). Context: any, of handlers too. */
struct tl_run;

/* The address of argument n of a function, from TL_REG_ARGS, as the function is entered. */
uint64_t tl_machine_stack_arg(const struct tl_regs *r, uint64_t n);
/* Where the function returns to, as it is entered. May fail (false). */
bool tl_machine_caller(struct tl_run *run, uint64_t *v);
/* By its name: the value, and how many bytes it has. False: there is none of that name. */
bool tl_machine_register(
	const struct tl_regs *r, const char *name, uint64_t *value, uint32_t *size);

/* A thread's vector of blocks (dtv), as its C library keeps it: musl's, or glibc's, whose elements are pairs of words. */
struct tl_tls_vector {
	uint64_t at;
	bool glibc;
};
/* Of the thread whose thread pointer this is. May fail: test run->error. */
struct tl_tls_vector tl_machine_tls(struct tl_run *run, uint64_t tp);

#endif
