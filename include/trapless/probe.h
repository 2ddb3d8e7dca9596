/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Probes: run a handler whenever the program reaches an instruction.
 *
 * Functions marked "sleeps" take locks, map memory and may wait for other
 * threads: call them from ordinary code, never from a handler, a signal
 * handler or inside vfork. Handlers run in the thread that hits the probe, may
 * be interrupted by signals, must not block, allocate or call the C library,
 * and must be compiled without vector registers (-mgeneral-regs-only).
 *
 * Code can be probed that belongs to an ELF file which the program has mapped
 * (itself, its libraries), and lies in a function that the file's unwind table
 * names, or whose bounds the caller gives. Memory that was filled at run time
 * (JIT) is refused with NOT_TEXT, bounds or not.
 *
 * Pointers must not be NULL but where it is said. What -TL_E_INVAL refuses:
 * a NULL address, no handler at all, unknown flags, flags that exclude each
 * other, bounds that do not hold the address, and numbers beyond their limits.
 */
#ifndef TRAPLESS_PROBE_H
#define TRAPLESS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/error.h>
#include <trapless/regs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tl_probe;
struct tl_thread; /* the engine's record of the calling thread; opaque */

/*
 * Called before the instruction. Return 0 to go on with it; nonzero to go on
 * at regs->ip instead, the instruction not executed. Changed registers are
 * honoured on every rung (call-preserved ones and sp with TL_PROBE_REGS only).
 * On a shadow stack one thing can be done to frames: to leave the function as
 * its return does (ip from the stack, sp behind it). Calls that are taken away
 * or added in other ways stay unknown to it, and the next return that does not
 * match ends the program.
 * A probed instruction, and the few right behind that the probe's own jump may
 * cover, run from a copy. A signal handler that one of them makes run by a
 * fault, or that interrupts a handler of ours, finds the program counter there:
 * it cannot tell the instruction, nor throw. TL_PROBE_NO_JUMP leaves those
 * behind where they are.
 * regs->ip must not be one of the few instructions right behind that the
 * probe's own jump may cover (tl_probe_info.patch_len); TL_PROBE_NO_JUMP
 * leaves all of them where they are.
 */
typedef int (*tl_pre_fn)(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);
/* Called after the instruction, with the registers it left. */
typedef void (*tl_post_fn)(struct tl_probe *p, struct tl_regs *regs, struct tl_thread *self);

enum tl_probe_flag {
	TL_PROBE_REGS	   = 1 << 0, /* handlers read or write call-preserved registers or sp */
	TL_PROBE_BIG_STACK = 1 << 1, /* handlers need more than 1 KiB of stack: use the private one (64 KiB) */
	TL_PROBE_DISABLED  = 1 << 2, /* register without arming */
	TL_PROBE_NO_JUMP   = 1 << 3, /* stay on the trap rung */
	TL_PROBE_NO_TRAP   = 1 << 4, /* refuse rather than fall back to the trap rung */
	TL_PROBE_RESULT	   = 1 << 5, /* return probes: on_return reads the result; do not call it where that is not known */
	TL_PROBE_NO_VECTORS = 1 << 6, /* argument probes: the handler is built without vector and x87 registers: they need not be saved */
	TL_PROBE_COUNT	   = 1 << 7, /* count hits into nhits: an atomic add each, some 20 cycles */
	TL_PROBE_FLAGS	   = (1 << 8) - 1, /* all of them */
};

/* Rungs of the placement ladder, cheapest first. */
enum tl_rung { TL_RUNG_NONE, TL_RUNG_RETARGET, TL_RUNG_WHOLE, TL_RUNG_PUN, TL_RUNG_EVICT, TL_RUNG_WINDOW, TL_RUNG_TRAP };

enum tl_probe_state { TL_PROBE_NEW, TL_PROBE_PREPARED, TL_PROBE_ARMED, TL_PROBE_OFF, TL_PROBE_GONE };

/* Why a hit was missed, where it was not inside another handler. */
enum tl_missed {
	TL_MISSED_STRANGE, /* the thread pointer does not tell which thread it is */
	TL_MISSED_RECORD, /* more threads than there are records for */
	TL_MISSED_NUMBER, /* more threads than return probes, and handlers on stacks of their own, serve */
	TL_MISSED_CALL, /* of a return probe: more calls under way than maxactive */
	TL_MISSED_KINDS,
};

struct tl_probe {
	/* Set by the caller before registering, then left alone. */
	void *addr;		/* first byte of the instruction */
	tl_pre_fn pre;		/* may be NULL */
	tl_post_fn post;	/* may be NULL */
	void *data;		/* the caller's */
	uint32_t flags;		/* enum tl_probe_flag */
	uint32_t func_size;	/* with func_start: bounds of the function, which hold addr, where the caller knows them; else 0 */
	uintptr_t func_start;

	/* The engine's. May be read; zero before registering. */
	uint32_t state;		/* enum tl_probe_state */
	uint32_t reserved;
	uint64_t nmissed;	/* hits inside another handler, or in threads that could not be served */
	struct tl_site *site;
	struct tl_probe *next;	/* next probe at this address */
	uint64_t nhits;		/* TL_PROBE_COUNT: hits since it was registered */
	uint64_t missed[TL_MISSED_KINDS]; /* of nmissed, by enum tl_missed */
};

/* What the listing and --explain say of a probe. */
struct tl_probe_info {
	const struct tl_probe *probe;
	uintptr_t addr;
	uint32_t rung;		/* enum tl_rung, where it stands now */
	uint32_t state;		/* enum tl_probe_state */
	uintptr_t detour;	/* address of its detour, 0: none */
	uint32_t detour_size;	/* bytes of memory that it takes; probes close together may share one */
	bool optimized;		/* reached by a jump: any rung but the trap */
	uintptr_t patch;	/* first changed byte, and how many */
	uint32_t patch_len;
	int why[TL_RUNG_TRAP + 1]; /* for each better rung: 0 not tried, or -TL_E_ why not */
	uint64_t nhits, nmissed;
};

/* What the engine takes of the program, all probes together. */
struct tl_usage {
	size_t probes, gone;	/* registered; of these: their library was unmapped */
	size_t armed[TL_RUNG_TRAP + 1]; /* places, by rung */
	size_t waiting;		/* places that the optimizer is going to plan anew */
	size_t detours;		/* bytes of detours, those included that somebody may still stand in */
	size_t detours_reserved; /* bytes of address space kept for them */
	size_t text_pages;	/* pages of text that hold a changed byte: private copies, no longer shared */
	size_t mappings, mappings_max; /* of ours, at most; a quarter of what the kernel allows the program. 0: no limit */
};

/*
 * Register (and arm, unless TL_PROBE_DISABLED) one or many. With many, all or
 * nothing: on failure *failed (may be NULL) is the index of the first one
 * refused, and nothing has changed. Sleeps. Returns 0 or -TL_E_.
 */
int tl_probe_register(struct tl_probe *p);
int tl_probes_register(struct tl_probe **probes, size_t n, size_t *failed);

/*
 * Many, each for itself: whoever is refused is left out, and results[i] says
 * why (0: registered). Sleeps. Returns 0, or the first refusal.
 */
int tl_probes_register_each(struct tl_probe **probes, size_t n, int *results);

/*
 * Take away. When these return no handler of the probe runs or will run, and
 * its memory is the caller's again; the text is byte for byte what it was
 * unless other probes remain there. A probe whose library was unmapped is
 * GONE by itself and stays so when mapped again; unregister it all the same.
 * Sleeps.
 */
int tl_probe_unregister(struct tl_probe *p);
int tl_probes_unregister(struct tl_probe **probes, size_t n);

/* Switch one or many on or off while they stay registered. To enable many: all or nothing, as above. Sleeps. */
int tl_probe_enable(struct tl_probe *p);
int tl_probe_disable(struct tl_probe *p);
int tl_probes_enable(struct tl_probe **probes, size_t n, size_t *failed);
int tl_probes_disable(struct tl_probe **probes, size_t n);
/* All at once: disabled probes go silent without their text changing. Any context. */
void tl_probes_silence(bool silent);
/*
 * The knob: false takes every jump down to the trap rung, at once. true lets
 * the optimizer bring all of them up again, in the background. Sleeps.
 */
int tl_probes_optimize(bool on);
/*
 * The optimizer: probes that may stand better than they do (a neighbour has
 * left, a post handler is gone, a thread stood in the way) wait in a queue and
 * are planned anew in the background, many at a time. This does the next of
 * them now and returns how many wait still. Sleeps.
 */
size_t tl_optimizer_run(void);
/*
 * How text is changed while other threads run through it. One aligned store
 * of several bytes is seen whole on all processors that we know, but no
 * manual promises it: AUTO uses it where the vendor is known, STORE
 * everywhere, SPIN never (steps that no processor can misread), STOP neither
 * (everyone is stopped for every change). For changes from now on. Sleeps.
 */
enum tl_patching { TL_PATCHING_AUTO, TL_PATCHING_STORE, TL_PATCHING_SPIN, TL_PATCHING_STOP };
int tl_probes_patching(enum tl_patching how);

/*
 * Call fn for every registered probe, in address order, those that are GONE
 * by themselves last; stops when fn returns nonzero. Sleeps.
 */
int tl_probes_list(int (*fn)(const struct tl_probe_info *info, void *arg), void *arg);
int tl_probes_usage(struct tl_usage *usage); /* sleeps */

/* How long a thread of the program was held while text changed, or while we looked where it stands. */
struct tl_held {
	uint32_t tid;
	uint32_t stops;
	uint64_t longest_ns, all_ns; /* from when it was told to stop until it was let go */
};
/*
 * libtrapless only: call fn for every thread that was ever stopped, of 1,024
 * the last ones; ends when fn returns nonzero, and returns that. fn must not
 * call the engine. Sleeps.
 */
int tl_threads_held(int (*fn)(const struct tl_held *held, void *arg), void *arg);

/*
 * Return probes. The exits of the function are probed (returns, tail calls,
 * its .cold parts); no return address is touched. An exit pairs with its entry
 * by thread and stack pointer: where a scheduler moves stacks between threads
 * (goroutines) a call that goes on in another thread is not paired reliably.
 *
 * A function that ends with a jump to another one (a tail call) returns when
 * that one does: its exits are probed too. Where they cannot be, on_return
 * runs at the jump, with tail_to set and no result to be seen; with
 * TL_PROBE_RESULT it does not run. Both are counted in ntails.
 *
 * A jump that names the function's own entry is a turn of a loop: the call
 * goes on, with the data of its entry, and on_entry does not run again (an
 * ordinary probe at the entry is hit every turn). A function that calls itself
 * last looks the same and is the same, once compiled: one call. Only a
 * computed jump to the entry begins a call of its own, and both return at once.
 */
struct tl_retprobe;
struct tl_ret_call { /* one call under way */
	struct tl_retprobe *rp;
	uintptr_t sp;	/* stack pointer at entry; where calls push the return address it points at that */
	uintptr_t ret_ip; /* where the function returns to */
	void *data;	/* rp->data_size bytes, zero at entry, the handlers' */
	uintptr_t tail_to; /* 0: returns now. Else it jumps to there, and what that will return is not known */
};
/* Entry: return nonzero to skip this call (no exit handler for it). */
typedef int (*tl_ret_entry_fn)(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self);
typedef void (*tl_ret_fn)(struct tl_ret_call *c, struct tl_regs *regs, struct tl_thread *self);

struct tl_func_part { uintptr_t start; size_t size; };

struct tl_retprobe {
	void *entry;
	tl_ret_entry_fn on_entry; /* may be NULL */
	tl_ret_fn on_return;
	void *data;
	uint32_t data_size;	/* bytes a call, at most 2048 */
	uint32_t flags;		/* enum tl_probe_flag */
	const struct tl_func_part *parts; /* all parts of the function where the caller knows them (.cold), else NULL */
	size_t nparts;
	uint32_t maxactive;	/* calls under way at once, at most 1048576 (more: -TL_E_INVAL); 0: 4096 */

	/* The engine's. */
	uint64_t nmissed;	/* exits without entry, calls beyond maxactive */
	uint64_t nabandoned;	/* calls left by throw or longjmp */
	struct tl_ret_state *state;
	uintptr_t bad_exit;	/* after -TL_E_NO_EXIT: the jump that cannot be probed as an exit; 0: not decoded */
	uint64_t ntails;	/* calls left by a jump to a function whose exits are not probed */
	uint64_t ncrowded;	/* of ntails: 126 return probes had calls waiting in the thread, which is the limit */
	uint64_t nunpaired;	/* of nmissed: exits without entry */
	uint64_t missed[TL_MISSED_KINDS]; /* of nmissed, by enum tl_missed */
};

/* What --explain says of a return probe. */
struct tl_retprobe_info {
	const struct tl_probe *entry; /* as tl_probes_list() shows it */
	uint32_t nexits, ntrapped; /* exits of its own; those on the trap rung */
	uint32_t ncomputed;	/* exits of its own that lead to a computed place */
	uint32_t nfollowed;	/* functions that it ends in by a jump, their exits probed too */
	int tail_why;		/* -TL_E_: why those of tail_to are not */
	uintptr_t tail, tail_to; /* a jump to such a function; 0: none is known */
};

int tl_retprobe_register(struct tl_retprobe *rp);   /* sleeps */
int tl_retprobe_unregister(struct tl_retprobe *rp); /* sleeps */
/*
 * Many at once, which is far quicker than one after the other. Each stands for
 * itself: results[i] is 0, or -TL_E_ why that one was refused. Returns 0, or
 * the first refusal. To unregister all must be registered. Both sleep.
 */
int tl_retprobes_register(struct tl_retprobe **rps, size_t n, int *results);
int tl_retprobes_unregister(struct tl_retprobe **rps, size_t n);
int tl_retprobe_describe(const struct tl_retprobe *rp, struct tl_retprobe_info *info); /* sleeps */
/*
 * Look again at jumps that could not be followed when their probe was
 * registered: functions that the dynamic loader had not looked up, computed
 * jumps. Returns how many more functions are watched, or -TL_E_. Sleeps.
 */
int tl_retprobe_follow(void);

/* Engine life cycle in the own process: first use calls init by itself. -TL_E_SESSION: a session is in it. Sleeps. */
int tl_engine_init(void);
/* Unregisters everything and gives memory back. false: somebody still stands in a detour, or text could not be
 * restored; what they need stays, and it may be called again. Sleeps. */
bool tl_engine_exit(void);

/* Thread local value `slot` (0 to 7) of the calling thread; starts NULL. From a handler. In a kernel it is the processor's,
 * one for what it runs: a task, or a softirq, an interrupt, an NMI in one. */
void **tl_thread_local(struct tl_thread *self, unsigned slot);
uint32_t tl_thread_tid(const struct tl_thread *self);

#ifdef __cplusplus
}
#endif
#endif
