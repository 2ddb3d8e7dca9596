/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A deterministic world for unit tests: one real thread, simulated ones whose
 * program counters a test sets, memory whose n-th request can fail, and a log
 * of everything that the engine does to the text.
 */
#ifndef TRAPLESS_ENGINE_OS_FAKE_H
#define TRAPLESS_ENGINE_OS_FAKE_H

#include "../os.h"

#define FAKE_THREADS 8
#define FAKE_LOG     4096
#define FAKE_TRAPS   512
#define FAKE_TEXT    16384
#define FAKE_CODE    (1 << 20)
#define FAKE_TAKEN   64

enum fake_event {
	FAKE_OPEN,
	FAKE_STORE,
	FAKE_CLOSE,
	FAKE_SYNC_CORES,
	FAKE_SYNC_MEMORY,
	FAKE_STOP,
	FAKE_STOPPED_STORE,
	FAKE_STOP_SYNC,
	FAKE_TRAP_ADD,
	FAKE_TRAP_REMOVE,
	FAKE_CODE_WRITE,
	FAKE_QUIET,
	FAKE_STACKS,
};

struct fake_log {
	enum fake_event what;
	uintptr_t addr;
	size_t len;
};

struct fake_thread {
	bool used, blocks_traps;
	uint32_t tid;
	uintptr_t pc, saved, holds; /* 0: none; holds: an address on its stack */
	struct tl_os_stack stack; /* hi 0: not told */
};

struct fake {
	/* The world: set by the test. */
	struct fake_thread threads[FAKE_THREADS];
	uintptr_t key; /* thread pointer of whoever runs now */
	uint32_t tid;
	unsigned fail_alloc; /* fail this allocation, counted from 1; 0: none */
	bool fail_text, fail_sync; /* text cannot be opened, memory cannot be synchronized */
	bool trap_may_kill, trap_forbidden, no_spin, on_signal_stack, read_anything, no_stop;
	bool interrupted; /* somebody runs text while all are stopped */
	bool no_move; /* threads stay where they are */
	bool blind; /* tl_os_seen() is not to be had */
	uintptr_t reserved_lo, reserved_hi; /* text that others change */
	uintptr_t borrowed; /* somebody's breakpoint; 0: none */
	void (*on_pause)(void); /* others run while the engine waits */
	void (*on_event)(enum fake_event what); /* after each event: look at the text */
	int (*images)(void); /* adds the images */
	uintptr_t entry; /* control arrives there, as only this world knows; 0: nowhere */
	/* Of listed images: where each begins, and the last ends; 0: no more */
	uintptr_t functions[8];
	bool images_stale;
	bool has_later; /* the optimizer is run by the test */
	size_t code_reach; /* at most so many bytes of detours; 0: all */
	size_t page; /* 0: memory is sparse by itself */
	unsigned pages, pages_max; /* that handlers have, and may have */
	uintptr_t free_lo, free_hi; /* where detours may lie, which nobody runs; 0: in fake_code */

	/* What happened. */
	struct fake_log log[FAKE_LOG];
	unsigned nlater; /* how often it was asked for */
	struct fake_taken {
		uintptr_t lo, hi;
	} taken[FAKE_TAKEN]; /* of [free_lo, free_hi) */
	size_t nlog, nallocs, live, live_bytes, pauses, code_used;
	uintptr_t trap_addr[FAKE_TRAPS], trap_to[FAKE_TRAPS];
	bool locked, up, stopped, text_open;
	size_t bad_stores; /* stores while the text was not open */
};

extern struct fake fake;
extern uint8_t fake_text[FAKE_TEXT], fake_code[FAKE_CODE];

void fake_reset(void);
uintptr_t fake_trap_target(uintptr_t addr); /* 0: none */
size_t fake_count(enum fake_event what);

#endif
