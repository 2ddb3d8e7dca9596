/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A home is a place where a session's probes stand: a process that a guardian
 * has entered (agent/), a program that has loaded us (agent/preload/). What is
 * the same in all of them lies here, beside this header:
 *
 *   arm.h              probes of sessions: what is wanted, and how they stand
 *   fill.c             a module's probes, as that has them
 *   probes.c           ... and as the engine's
 *   view.c             the session as handlers see it: struct tl_view_ops of the runtime
 *   symbols.c unwind.c names and callers of addresses, out of the module
 *   listen.c           semaphores of static marks
 *   process.h          what homes in processes have besides: the control block,
 *                      and places that concern the home itself (watch.c)
 *
 * Calls go both ways. A home calls tl_ctl_*(), and nothing here begins by
 * itself. What is here calls tl_home_*(), which each home has in sources of
 * its own. The engine asks a home for more: os.h, and for homes in processes
 * what process.h marks [home]. docs/porting.md, "A new home", has the steps.
 */
#ifndef TRAPLESS_HOME_H
#define TRAPLESS_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "arm.h"
#include "module.h"

struct tl_ids; /* runtime/script/view.h */

/* --- what a home calls --------------------------------------------------------- */
/* Context: may sleep, engine lock not held, one caller at a time. Results: 0 or more, or -TL_E_. */

/*
 * Make the session's probes [first, first + count) stand as the control block wants them: register those that do not
 * stand yet, take away those that are off or whose library is gone. Each one's result is in its entry. How many stand,
 * or why none could be looked at.
 */
int tl_ctl_arm(struct tl_arming *all, struct tl_ctl_session *s);
/*
 * Take them all away, counts into their entries. 0: no handler of the session runs any more, and none will.
 * -TL_E_BUSY: some still may; to be called again.
 */
int tl_ctl_disarm(struct tl_arming *all, struct tl_ctl_session *s);
/* In a while after arming, as long as all->later says so: probes may stand better by now. */
int tl_ctl_follow(struct tl_arming *all);

/* --- what a home has ------------------------------------------------------------- */
/* Context: as those. */

/* May the word of the program's data that begins there be read and written? */
bool tl_home_writable(uint64_t addr);

/* --- what a home has for handlers ---------------------------------------------------- */
/*
 * Context: a handler, of whatever thread: no lock, no memory taken, no sleep; a system call only where the home is
 * sure that the program may make it.
 */

/* Copy memory of the program. 0, or -1 where any byte is missing; never a fault. A number of 2, 4 or 8 bytes at once. */
int tl_home_read(void *dst, uint64_t addr, uint32_t size);
int tl_home_write(uint64_t addr, const void *src, uint32_t size);
struct tl_from;
/* As tl_view_ops.caller. */
bool tl_home_caller(const struct tl_from *from, uint32_t n, uint64_t *pc);
/* The process of the running thread, which has this id; 0: nobody tells, and the thread's hits are not counted. */
uint32_t tl_home_pid(uint32_t tid);
/* The running thread's name; left as it is where nobody tells. */
void tl_home_comm(char comm[16]);
/* What the kernel tells (enum tl_fact) of process `of`, 0: the running thread's. False: not told. */
bool tl_home_fact(uint32_t what, int64_t of, uint64_t value[2]);
/* Send the running thread a signal. False: it cannot be. */
bool tl_home_raise(int64_t sig);
/* Where the code of a detour at pc belongs in the text; pc where it is none. */
uint64_t tl_home_original(uint64_t pc);
/* Threads that run on others' records are counted here, never NULL; whose runs, where the record's owner is *who. */
const volatile uint32_t *tl_home_guests(void);
/* Where blocks are processors': the one that this runs on, + 1. Else 0. */
uint32_t tl_home_processor(void);
/* Stack pointers that handlers see may lead anywhere: those of a kernel's programs. */
bool tl_home_wild_stacks(void);
void tl_home_ids(struct tl_ids *who);
struct tl_view;
struct tl_indent;
/* As tl_view_ops.indent. */
int tl_home_indent(const struct tl_view *v, int64_t delta, int64_t now, struct tl_indent *at);
/* As tl_view_ops.left. */
int tl_home_left(struct tl_from *at);
/* As tl_view_ops.of_program. */
bool tl_home_of_program(uint64_t pc);

#endif
