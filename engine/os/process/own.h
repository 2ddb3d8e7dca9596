/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the own process's files share. */
#ifndef TRAPLESS_ENGINE_OS_PROCESS_OWN_H
#define TRAPLESS_ENGINE_OS_PROCESS_OWN_H

#include "frame.h"
#include "process.h"

/* own_maps.c: both return what fn returned when not 0; -TL_E_BUSY: /proc does not tell. Threads of the kernel's are left out. */
int tl_own_threads(int (*fn)(void *arg, uint32_t tid), void *arg);
int tl_own_maps(int (*fn)(void *arg, const struct tl_mapping *map), void *arg);
/* As tl_home_map(). */
bool tl_own_map(uintptr_t addr, struct tl_mapping *map);
/* As they are now: 0 or -TL_E_. Then tl_own_kept_map() answers as tl_home_map() would. Engine lock. */
int tl_own_maps_keep(void);
bool tl_own_kept_map(uintptr_t addr, struct tl_mapping *map);

/* Does a mapping's file begin with that, which begins with a slash? */
bool tl_own_mapped(const char *file);
/* What every session shares with the process that it is in, and the sessions' other files. */
#define TL_OWN_SESSION_FILE "/memfd:trapless"

/* The registers with which a thread sleeps in a system call. */
struct tl_own_sleep {
	uintptr_t sp, pc;
};
/* false: it does not sleep, or its memory is in use all the same (vfork), or it is unknown. */
bool tl_own_asleep(uint32_t tid, struct tl_own_sleep *s);
/* How often it has gone to sleep; 0: unknown. */
uint64_t tl_own_sleeps(uint32_t tid);
bool tl_own_blocks(uint32_t tid, int sig);
/* A dead thread that is still listed. */
bool tl_own_zombie(uint32_t tid);

/*
 * own_home.c, or a home of its own: what own_stop.c asks of the process that it is in.
 * tl_home_threads, _asleep: as tl_own_threads() and tl_own_asleep(), of the program's threads alone.
 * tl_home_alone: does no thread but ours run yet? Then nobody is stopped.
 */
int tl_home_threads(int (*fn)(void *arg, uint32_t tid), void *arg);
bool tl_home_asleep(uint32_t tid, struct tl_own_sleep *s);
bool tl_home_alone(void);

/* own_guard.c: the stack pointer that a handler interrupted in the thread with this thread pointer, 0: none runs. */
uintptr_t tl_own_guard(uintptr_t key);

/* Both return 0 or a negative errno. own_signal.c. */
long tl_sigaction_get(int sig, struct tl_sigaction *old);
long tl_sigaction_set(
	int sig, uintptr_t handler, unsigned long flags, uint64_t mask, struct tl_sigaction *old);

/* own_held.c: this thread was held for so long, in a round of this number. */
void tl_own_note_held(uint32_t tid, uint64_t ns, uint32_t round);

/* own_stop.c: give the signal that stops threads back to the program. */
void tl_own_stop_exit(void);

/* own_trap.c: give SIGTRAP back to the program, once no thread can be on its way to us. */
void tl_own_trap_exit(void);

#endif
