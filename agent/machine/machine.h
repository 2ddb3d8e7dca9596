/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the agent asks of a machine; the runtime asks more (runtime/machine), the engine most (engine/arch). NAME/numbers.h
 * has constants, the sources beside it the rest; runner/files.mk chooses them.
 */
#ifndef TRAPLESS_AGENT_MACHINE_H
#define TRAPLESS_AGENT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "x86_64/numbers.h"
#else
#include "unported/numbers.h"
#endif

/* --- entry.c: where the guardian sends the helper ------------------------------------------------ */

/* With the control block as its first argument and any stack: on to tl_agent_main(), which never returns. */
extern char tl_agent_entry[];
/* A system call, behind which the thread ends: registers as the kernel wants them. */
extern char tl_agent_call[];

/* --- ask.c: what a handler has of the guardian ----------------------------------------------------- */

/*
 * Copy, a number of 2, 4 or 8 bytes at once; either end is the program's. 0, or -1 where any byte is missing: a fault
 * between tl_peek and tl_peek_end is led on at tl_peek_fault by the guardian, which must be there. Without a frame, so
 * that it may end anywhere.
 */
int tl_peek(uint64_t dst, uint64_t src, uint32_t n);
extern char tl_peek_end[], tl_peek_fault[];
/* A breakpoint, at tl_ask_at; the guardian answers in registers. Fills `a` in where `answered` is left nonzero. */
struct tl_answer;
void tl_ask(struct tl_answer *a, uint32_t what, int64_t of);
extern char tl_ask_at[];

/* --- text.c ------------------------------------------------------------------------------------------- */

/* Is that, `len` bytes and no more, a system call? Control comes back behind it. */
bool tl_machine_is_syscall(const uint8_t *text, size_t len);
/*
 * A breakpoint is about to stand at addr. Can who has hit it be told by the program counter alone? Not where something
 * else may leave a thread there. Engine lock held.
 */
bool tl_machine_trap_is_sure(uintptr_t addr);

/* --- preload.c: without a guardian ----------------------------------------------------------------------- */

/* Of our own helper: TL_THREAD_BLOCK bytes in which C libraries find themselves. */
void tl_machine_thread_block(uintptr_t *block);
/* As clone(): the new thread runs tl_helper() on the stack below `top`, and ends. The thread's id, or an error. */
long tl_clone_helper(long flags, void *top, void *tls);
/* In place of a function that does nothing: calls tl_news(), and changes only what a function may. */
void tl_news_entry(void);

#endif
