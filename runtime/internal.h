/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the files of the runtime, not by anybody else. */
#ifndef TRAPLESS_RUNTIME_INTERNAL_H
#define TRAPLESS_RUNTIME_INTERNAL_H

#include "machine/machine.h"
#include "mem.h"
#include "session.h"

/* How long a lock is waited for: its owner may have lost the processor for some turns. */
#define TL_LOCK_NS 100000000ull

#define TL_BARRIER() __asm__ volatile("" ::: "memory")

/* A system call that has not returned, for those who want to see it return. */
struct tl_syscall {
	uint64_t sp, ip; /* of the instruction */
	uint64_t wanted; /* by the script's probes; a bit each */
	uint64_t serial; /* of the thread's calls */
	uint32_t number;
	uint32_t reserved;
};
#define TL_SYSCALLS 8 /* handlers of signals make calls while one is under way */

/* Behind struct tl_block: what its thread keeps from run to run. */
struct tl_block_own {
	uint64_t last_time; /* of the records of its latest run: no coming one is older */
	struct tl_indent indent; /* thread_indent() */
	uint32_t token_at, token_end; /* tokenize(): what is left of text */
	uint32_t nsyscalls;
	uint32_t reserved;
	uint64_t noted; /* serial numbers given */
	uint64_t serial; /* of the call that has been noted, or has returned, last */
	struct tl_syscall syscalls[TL_SYSCALLS]; /* the latest last */
	char text[]; /* max_string bytes */
};
static inline struct tl_block_own *tl_block_own(struct tl_block *b)
{
	return (struct tl_block_own *)(b + 1);
}

/* run->error of a handler that abort() ends: neither caught nor reported. */
extern const char tl_aborted[];

/* Longest string. */
static inline uint32_t tl_max_len(const struct tl_run *run)
{
	return run->view->max_string - 1;
}

/* dst = n bytes at s, cut (and counted) at MAXSTRINGLEN. */
void tl_str_put(struct tl_run *run, struct tl_str *dst, const char *s, uint32_t n);
/* At its end; false: it is full, and has what fits. */
bool tl_str_add(struct tl_run *run, struct tl_str *dst, const char *s, uint32_t n);
int tl_digit(char c); /* of bases up to 36; above 35: none */
/* dst = a string in shared memory, whose length may be anything. */
void tl_str_take(struct tl_run *run, struct tl_str *dst, const struct tl_str *shared);
/* Store into shared memory. */
void tl_str_store(struct tl_run *run, struct tl_str *shared, const struct tl_str *src);
static inline uint32_t tl_str_shared_len(const struct tl_run *run, const struct tl_str *shared)
{
	uint32_t n = *(const volatile uint32_t *)&shared->len;

	return n <= tl_max_len(run) ? n : tl_max_len(run);
}

/* The program's memory: 0, or -1 when any byte cannot be read. */
int tl_read(struct tl_run *run, void *dst, uint64_t addr, uint32_t size);
/* The same of a string of up to max bytes, and no further than its NUL. */
int tl_read_string(struct tl_run *run, struct tl_str *dst, uint64_t addr, uint32_t max);

/* Along the stack (unwind.c). */
struct tl_walk {
	struct tl_run *run;
	uint64_t n, max; /* frames */
	uint64_t reg[TL_FRAME_REGS]; /* DWARF's numbers; the last: where the frame's code is */
	struct tl_from from; /* where it began */
	bool told; /* the home knows all frames */
	bool called; /* it stands behind a call, which may be its function's last instruction */
};

/* From the probed place on, or from another one. */
void tl_walk_begin(struct tl_walk *w, struct tl_run *run, const struct tl_from *from, int64_t max);
/* Where the running thread has left its program for a kernel. 1; 0: it has none; -1: handlers stand in programs, or nowhere. */
int tl_left(struct tl_run *run, struct tl_from *at);
/* The next frame's address; false: there is no more. */
bool tl_walk_next(struct tl_walk *w, uint64_t *pc);

/*
 * "name+0x2a/0x60 [image]", "0xADDR [image+0x2a/0x5000]" without symbol, "0xADDR" without image.
 * Brief: "name+0x2a" or "0xADDR". Lines: "... at file:line [image]" where that is known.
 * Called: the address is where a call returns to.
 */
void tl_usymdata_of(
	struct tl_run *run, struct tl_str *dst, uint64_t addr, bool called, enum tl_shown how);

/* Numbers as text; return the length. */
uint32_t tl_text_dec(char *buf, int64_t v); /* 20 */
uint32_t tl_text_hex(char *buf, uint64_t v); /* 18, with 0x */

/* ring.c */
struct tl_slot {
	uint8_t *data; /* payload */
	uint32_t size; /* of the whole record */
};
/* False: no room, counted as lost. */
bool tl_ring_begin(
	struct tl_run *run, struct tl_slot *s, unsigned kind, unsigned id, uint32_t payload);
static inline void tl_ring_end(struct tl_run *run, const struct tl_slot *s)
{
	tl_word_store(&run->block->head, tl_word_load(&run->block->head) + s->size);
}
/* Text of any length, split where it must be. */
void tl_ring_text(struct tl_run *run, unsigned kind, unsigned id, const char *text, uint32_t n);

#endif
