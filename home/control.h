/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What guardian and agent share, in memory mapped by both: one control block
 * per target, and a smaller one for each session on it (arm.h). The former is
 * also the registry by which a later session finds what a dead one left behind,
 * so its start never changes its layout.
 *
 * The agent runs only in a helper thread that the guardian traces. It asks for
 * things by filling `svc` and sending itself a signal that the program ignores;
 * the guardian sees that stop, serves the request and lets the helper go on.
 * Where the guardian was killed, nothing happens, and the helper ends.
 */
#ifndef TRAPLESS_HOME_CONTROL_H
#define TRAPLESS_HOME_CONTROL_H

#include <stdint.h>
#include <trapless/probe.h>

#include "arm.h"

#define TL_CTL_MAGIC   0x746c6331u /* "tlc1" */
#define TL_CTL_VERSION 26

enum {
	TL_CTL_MAPS = 65536,
	TL_CTL_IMAGES = 16384, /* of files that have code */
	TL_CTL_AREAS = 65536, /* as many mappings as a process may have */
	TL_CTL_TRAPS = 1 << 18, /* a power of two */
	TL_CTL_PLACES = 1 << 20, /* a power of two: some four for each probe */
	TL_CTL_PCS = 65536,
	TL_CTL_STACKS = 1 << 16, /* as the engine has records of threads */
	TL_CTL_WATCHED = 32,
	TL_CTL_THREADS = 1 << 16, /* a power of two */
	TL_CTL_SHARED = 64, /* thread pointers */
	TL_CTL_VFORKS = 64, /* children at once */
};

enum tl_command {
	TL_CMD_INIT = 1, /* engine and os up; addresses of the agent's data into the registry */
	TL_CMD_ENTER, /* room for a session's module: module_size, module_at */
	TL_CMD_WATCH, /* probes of our own: the loader's, and where the program changes what it does with signals */
	/* of the session in `slot`: */
	TL_CMD_ARM, /* probes[first, first + count): register, or take away those that are off; per-probe results */
	TL_CMD_DISARM, /* unregister everything, counts into probes[]; 0: no handler runs any more */
	TL_CMD_FOLLOW, /* look again at functions that return probes are left to by a jump, and at probes that may stand better */
	TL_CMD_LEAD_OUT, /* after EXIT: pcs[] in detours to where they belong in the text */
	TL_CMD_EXIT, /* engine and os down; result: pieces of memory that somebody still stands in */
	TL_CMD_UNMAP, /* leaving[] of areas[], which may be all but what the agent itself lies in */
};

enum tl_service {
	TL_SVC_DONE = 1, /* the command is done: result is set */
	TL_SVC_MAPS, /* fill maps[] and images[] anew */
	TL_SVC_STOP, /* stop everyone else, fill pcs[] */
	TL_SVC_RESUME, /* arg[0] nonzero: first apply changed pcs; let everyone run */
	TL_SVC_QUIET, /* svc_arg: lo, hi; svc_ret 0 or -TL_E_BUSY */
	TL_SVC_STACKS, /* fill stacks[]; who does not sleep is stopped */
	TL_SVC_STACKS_END, /* take back who has run since, let everyone run */
	TL_SVC_BROKEN, /* a broken promise: text at svc_arg[0] of the target */
	TL_SVC_COPY, /* svc_arg: to, from, size: past protections; svc_ret: how many bytes, or -TL_E_TEXT_RO */
	TL_SVC_SEEN, /* svc_arg: lo, hi; pcs[]: what threads hold of it, svc_ret as tl_os_seen() */
};

struct tl_ctl_map {
	uint64_t lo, hi;
	uint32_t prot, reserved;
};

struct tl_ctl_image {
	uint64_t bias, lo, hi, eh_frame_hdr, eh_frame_hdr_size;
	uint32_t flags;
	char name[60];
};

/* Memory of ours in the target. */
struct tl_ctl_area {
	uint64_t lo, size; /* size 0: free */
	/* A session's: nobody stands there, and what stacks hold of it means nothing */
	uint64_t shared;
};

struct tl_ctl_trap {
	uint64_t addr; /* 0: never used */
	uint64_t detour; /* 0: removed */
	uint64_t sure; /* nobody stands a byte behind it but by the breakpoint */
};

/*
 * A copy of an instruction, in a detour, and its place in the text (with
 * TL_CTL_PUSHED: the copy has pushed a return address before). Or a place
 * inside a window's jump, and where its instruction is to be run meanwhile.
 */
struct tl_ctl_place {
	uint64_t from; /* 0: never used */
	uint64_t to; /* 0: gone */
};
#define TL_CTL_PUSHED (1ull << 63)

struct tl_ctl_pc {
	uint64_t pc, to;
	uint64_t where; /* address of a saved program counter; 0: a thread's own */
	uint32_t tid;
	uint32_t fixed; /* it cannot go on elsewhere */
};

/* A thread's stack, as struct tl_os_stack. */
struct tl_ctl_stack {
	uint64_t sp, lo, hi;
	uint32_t number, tid; /* as it sees itself, and as the guardian does */
	uint64_t sleeps; /* how often it has gone to sleep; 0: it is stopped */
};

/* A vfork child, or one of its own: until it is another program it runs on the record of who waits for it. */
struct tl_ctl_vfork {
	uint32_t record; /* whose; 0: this place is free */
	uint32_t tid, pid; /* the child's, all as they see themselves */
};

struct tl_ctl {
	/* registry */
	uint32_t magic, version;
	uint32_t guardian; /* its pid, as the target's tracer */
	uint32_t target;
	uint64_t size; /* of this memory */
	uint64_t self; /* address of this block in the target */
	uint64_t agent, agent_size; /* the agent's own region there */
	uint64_t journal; /* address there of the variable that points to the journal */
	uint64_t opened; /* address there of the list of text that is open for writing */
	uint64_t gate; /* address there of the variable that points to the gate */
	uint64_t records; /* of threads, there: see runner/guardian/family/sharing.c */
	/* Thread pointers that more than one thread has, plus 1; 0: free */
	uint64_t shared[TL_CTL_SHARED];
	uint32_t nvforks; /* of vforks[], in use */
	struct tl_ctl_vfork vforks[TL_CTL_VFORKS];
	uint64_t marker; /* a private word there: tells whether a child shares our memory */
	/* command */
	uint32_t command, slot; /* of the session that it is about */
	int64_t result;
	uint64_t module_size, module_at; /* ENTER: wanted, and where it is */
	uint32_t fsgsbase, shadow_stack; /* does the target have them? */
	/* INIT, and only then: id of the thread whose thread block the helper shares */
	uint32_t lender;
	uint32_t tid_offset; /* where the coming libc keeps the thread id, 0: unknown */
	/* ARM: where the loader comes by when it has mapped images; 0: not watched */
	uint64_t dl_state;
	/* ARM: system calls that set what a signal does, or who blocks it; 0: none */
	uint64_t watched_at[TL_CTL_WATCHED];
	uint32_t images_stale; /* objects were unmapped since TL_SVC_MAPS */
	uint32_t own_number; /* the target's, as it sees itself */
	/* Robust futex of the guardian: the kernel tells handlers when nobody answers any more */
	uint32_t watcher;
	uint32_t max_maps; /* mappings that the kernel allows the target */
	uint32_t helper; /* as the guardian sees it; 0: there is none */
	struct tl_arming arming;
	/* service */
	uint32_t svc; /* 0: none */
	uint32_t svc_signal;
	/* Addresses that ever held a breakpoint, if only while a jump was written */
	uint32_t ntraps;
	uint32_t standing; /* breakpoints, after a command */
	uint64_t svc_arg[4];
	int64_t svc_ret;
	/* tables; offsets from the start */
	uint32_t nmaps, nimages, npcs, nareas, nstacks;
	uint32_t area_free; /* below it there is no free entry in areas */
	uint32_t area_dropped; /* the last one: the next is often its neighbour */
	uint32_t nleaving;
	uint32_t nunplaced; /* what places[] had no room for */
	struct tl_ctl_image images[TL_CTL_IMAGES];
	struct tl_ctl_area areas[TL_CTL_AREAS];
	uint32_t leaving[TL_CTL_AREAS]; /* UNMAP: numbers of areas, by address */
	struct tl_ctl_map maps[TL_CTL_MAPS];
	struct tl_ctl_pc pcs[TL_CTL_PCS];
	struct tl_ctl_stack stacks[TL_CTL_STACKS];
	struct tl_ctl_trap traps[TL_CTL_TRAPS];
	struct tl_ctl_place places[TL_CTL_PLACES];
	/* Threads that live, by their ids' low bits: the id, and its process's in the upper half. */
	uint64_t threads[TL_CTL_THREADS];
};

/* An entry that is torn is worse than none: the size goes in last, and out first. 0, -1: no room. */
static inline int tl_ctl_area_add(struct tl_ctl *c, uint64_t lo, uint64_t size, int shared)
{
	uint32_t i = c->area_free;
	struct tl_ctl_area *a;

	while (i < TL_CTL_AREAS && c->areas[i].size)
		i++;
	c->area_free = i;
	if (i >= TL_CTL_AREAS)
		return -1;
	a = &c->areas[i];
	a->lo = lo;
	a->shared = (uint64_t)shared;
	__atomic_store_n(&a->size, size, __ATOMIC_RELEASE);
	if (i >= c->nareas)
		c->nareas = i + 1;
	return 0;
}

static inline void tl_ctl_area_drop(struct tl_ctl *c, uint64_t lo)
{
	uint32_t n = c->nareas < TL_CTL_AREAS ? c->nareas : TL_CTL_AREAS, i = c->area_dropped, k;

	for (k = 0; k < n; k++, i++) {
		if (i >= n)
			i = 0;
		if (!c->areas[i].size || c->areas[i].lo != lo)
			continue;
		__atomic_store_n(&c->areas[i].size, 0, __ATOMIC_RELEASE);
		c->area_dropped = i;
		if (i < c->area_free)
			c->area_free = i;
		return;
	}
}

enum { TL_CTL_FUTEX_DIED = 0x40000000 }; /* FUTEX_OWNER_DIED */

/* A handler's questions, and what comes back. */
enum tl_question {
	TL_ASK_WHO, /* who am I? */
	TL_ASK_STACK, /* am I on the alternate signal stack? */
	TL_ASK_RAISE, /* send me a signal */
	TL_ASK_FACT, /* and up to the last enum tl_fact: of a process */
};
enum tl_answered {
	TL_ANSWERED = 1,
	TL_ANSWER_ASK_KERNEL = 2, /* it may make the system call that tells */
	TL_ANSWER_PLAIN_STACK = 4, /* not on the alternate one */
	TL_ANSWER_NONE = 8, /* the fact is not known, the signal not sent */
};

static inline uint32_t tl_ctl_trap_hash(uint64_t addr)
{
	return (uint32_t)((addr * 0x9e3779b97f4a7c15ull) >> 46) & (TL_CTL_TRAPS - 1);
}

/*
 * What lies in a page has a page of the table, which takes few of them then; the pages lie anywhere in it, so that areas
 * at equal distances do not meet. (Fibonacci hashing: Knuth, volume 3, 6.4.)
 */
static inline uint32_t tl_ctl_place_hash(uint64_t from)
{
	const uint32_t page = 12, near = 4;
	uint32_t in_page = (uint32_t)(from & ((1u << page) - 1)) >> near;

	return (uint32_t)(((from >> page) * 0x9e3779b97f4a7c15ull) >> 32) << (page - near) |
	       in_page;
}

/* NULL: not there; `spare`: could be, NULL where there is no room for it. */
static inline struct tl_ctl_place *tl_ctl_place_find(
	struct tl_ctl *c, uint64_t from, struct tl_ctl_place **spare)
{
	const uint32_t tries = 1024;
	uint32_t i = tl_ctl_place_hash(from), n;
	struct tl_ctl_place *p;

	*spare = 0;
	for (n = 0; n < tries; n++, i++) {
		p = &c->places[i & (TL_CTL_PLACES - 1)];
		if (__atomic_load_n(&p->from, __ATOMIC_ACQUIRE) == from)
			return p;
		if (!*spare && !__atomic_load_n(&p->to, __ATOMIC_RELAXED))
			*spare = p;
		if (!p->from)
			break;
	}
	return 0;
}

#endif
