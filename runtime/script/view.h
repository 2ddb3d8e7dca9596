/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A session, as this address space sees it (private memory), and what a handler is told of its probe. */
#ifndef TRAPLESS_RUNTIME_SCRIPT_VIEW_H
#define TRAPLESS_RUNTIME_SCRIPT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trapless/probe.h>
#include <trapless/wire.h>

#include "value.h"

struct tl_view;
struct tl_value_text {
	char *text;
	uint32_t len, room;
};
struct tl_ids {
	uint32_t tid, pid;
};
struct tl_from; /* stack.h */
struct tl_indent; /* session.h */

struct tl_view_ops {
	/* Slow path of the first hit of a thread: the block for it, or NULL. May be NULL in the runner. */
	struct tl_block *(*join)(struct tl_view *v, struct tl_thread *self);
	/* Copy memory of the traced program. Returns 0, or -1 when any byte cannot be read. */
	int (*read)(struct tl_view *v, void *dst, uint64_t addr, uint32_t size);
	/* The other way round; a number of 2, 4 or 8 bytes at once. */
	int (*write)(struct tl_view *v, uint64_t addr, const void *src, uint32_t size);
	/* Name of the function around addr into buf (NUL-terminated); bytes, 0: unknown. May be NULL. */
	uint32_t (*symbol)(struct tl_view *v, uint64_t addr, char *buf, uint32_t room,
		uint64_t *offset, uint64_t *size);
	/* Name of the image around addr. May be NULL. */
	uint32_t (*image)(struct tl_view *v, uint64_t addr, char *buf, uint32_t room);
	/* The source file of the code at addr, likewise, and the line in it. May be NULL. */
	uint32_t (*line)(
		struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint32_t *line);
	/* The rule that finds the caller of code at addr, NULL: none is known. May be NULL. */
	const struct tl_tap_frame *(*frame)(struct tl_view *v, uint64_t addr);
	/*
	 * Of a stack whose registers are `from` the n-th frame, 0: that very place. False: there is none, or `frame` has
	 * to be asked. May be NULL.
	 */
	bool (*caller)(struct tl_view *v, const struct tl_from *from, uint32_t n, uint64_t *pc);
	/* pc, or what it runs a copy of. May be NULL. */
	uint64_t (*original)(struct tl_view *v, uint64_t pc);
	/* Where the running thread has left its program for a kernel. 1; 0: it has none; -1: handlers stand in programs. May be NULL. */
	int (*left)(struct tl_view *v, struct tl_from *at);
	/* Is pc in a program's own code, not in a kernel? 0: no place at all. NULL: there is nothing but programs. */
	bool (*of_program)(struct tl_view *v, uint64_t pc);
	/* A moment's rest while waiting for a lock. May be NULL. */
	void (*relax)(struct tl_view *v);
	/* Fill in the running thread's comm, which is still empty, or may be another one's (view->guests). May be NULL. */
	void (*name)(struct tl_view *v, struct tl_block *b);
	/* Some threads run on others' blocks (view->guests): whose runs, where the block's owner is *who. May be NULL. */
	void (*ids)(struct tl_view *v, struct tl_ids *who);
	/* What /proc tells (enum tl_fact) of process `of`, 0: the running thread's. False: not told. May be NULL. */
	bool (*fact)(struct tl_view *v, uint32_t what, int64_t of, uint64_t value[2]);
	/*
	 * Where blocks are not threads': thread_indent() of the running thread, as tl_indent_change() says it. 1; 0: they
	 * are; -1: too many threads are indented. May be NULL.
	 */
	int (*indent)(const struct tl_view *v, int64_t delta, int64_t now, struct tl_indent *at);
	/* Send the running thread a signal. False: it cannot be. May be NULL. */
	bool (*raise)(struct tl_view *v, int64_t sig);
	/* Where no target can change it: keep a command's text for tl_command(). Its number, or -1. NULL: nobody does. */
	int (*command)(struct tl_view *v, const struct tl_str *text);
	/* What $value stands for in the handler that runs, NULL: nothing. May be NULL. */
	struct tl_value_text *(*value)(struct tl_view *v);
	/* The own ring is full: has it been read now? NULL: somebody else reads it. */
	bool (*make_room)(struct tl_view *v);
};

struct tl_view {
	struct tl_session *session; /* start of the shared memory */
	uint32_t local_off; /* where a struct tl_thread keeps this view's block pointer */
	uint32_t
		outside; /* what a stack pointer leads to may not be there: of another process, or a kernel's user */
	const volatile uint32_t *on; /* nonzero: handlers run */
	/* nonzero: a block may be used by another than its owner, see ops->ids */
	const volatile uint32_t *guests;
	struct tl_block *own; /* runner: of all its handlers, see tl_view_self() */
	uint8_t *globals;
	uint8_t *blocks;
	uint8_t *locks;
	uint64_t size, globals_size;
	uint32_t block_stride, nblocks, nlocks;
	uint32_t shard_off, shard_size;
	/* records: see wire.h */
	uint8_t *chunks; /* number 2 on */
	uint32_t *owners;
	uint32_t ring_off, own_size, chunk_size, chunk_shift, nchunks, chunks_most;
	uint32_t max_string, max_action, max_nesting, max_errors;
	uint64_t lock_cycles; /* how long a lock is waited for */
	const struct tl_view_ops *ops;
	/* by IMAGES number, each image_words words: what is added to ELF vaddrs, the first
	 * address, the end (the same: not mapped here) ...; NULL in the runner */
	const uint64_t *images;
	uint32_t nimages, image_words;
	void *home; /* the home's own */
};

/* What a probe's `data` points at. */
struct tl_env {
	struct tl_view *view;
	const volatile uint32_t *on; /* the view's, for handlers that only count */
	uint32_t local_off, shard_off;
	uint32_t number; /* index in PROBES */
	uint32_t kind; /* enum tl_tap_probe_kind */
	uint32_t image; /* index in IMAGES of the file that it stands in, or TL_NONE */
	uint64_t bias; /* ... of the copy that it stands in */
	const char *point; /* pp() */
	const char *func; /* probefunc(), "" unknown */
	const char *name; /* pn(), "": as `point` */
	uint64_t hits_at; /* its count of hits in a block, see tl_hits_at() */
	bool at_syscall; /* TL_TAP_PROBE_SYSCALL */
};

/* With TL_USES_HITS: where a block counts the hits of a probe. */
static inline uint64_t tl_hits_at(const struct tl_view *v, uint32_t probe)
{
	return v->shard_off + (uint64_t)probe * sizeof(uint64_t);
}

/* What a handler's data says of a probe and of the view it is in, which is complete. */
static inline void tl_env_fill(struct tl_env *env, struct tl_view *v, uint32_t number)
{
	env->view = v;
	env->on = v->on;
	env->local_off = v->local_off;
	env->shard_off = v->shard_off;
	env->number = number;
	env->image = TL_NONE;
	env->hits_at = tl_hits_at(v, number);
}

#endif
