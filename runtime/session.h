/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the homes of the runtime (agent, runner) see beside script.h: session
 * memory, joining threads, breaking locks, reading rings, formatting.
 *
 * A home makes a struct tl_view per session:
 *   runner:  tl_session_layout(), ftruncate + mmap (zero bytes), tl_session_init(),
 *            tl_view_attach(), tl_view_outside(), tl_session_globals(), view->own = tl_block_claim(...)
 *   agent:   mmap, tl_view_attach(), fill ops, local_off; ops->join calls tl_block_claim()
 */
#ifndef TRAPLESS_RUNTIME_SESSION_H
#define TRAPLESS_RUNTIME_SESSION_H

#include "script.h"

/* Sizes and offsets for these options; fills all of `s` but clock, target, live. Returns 0 or -1: too large. */
int tl_session_layout(const struct tl_tap_options *o, uint32_t nblocks, struct tl_session *s);
/* Write the session to fresh zeroed memory of s->size bytes. */
void tl_session_init(void *base, const struct tl_session *s);

/*
 * Look at a session: everything is checked and copied, nothing else of the
 * shared header is trusted later. Sets all of the view but ops, home, own,
 * local_off, always: `self` is tl_view_self() then. Returns 0, or -1 when the memory does not hold a session.
 */
int tl_view_attach(struct tl_view *v, void *base, uint64_t size, const struct tl_tap_options *o);
/* Handlers run in the runner: although the session is not live, and on another process's memory. */
void tl_view_outside(struct tl_view *v);
/* What stands for the thread where handlers run outside of the program: its block is `own`. */
static inline struct tl_thread *tl_view_self(const struct tl_view *v)
{
	return (struct tl_thread *)&v->own;
}

/* Bytes a global takes at its offset, as the compiler must reserve them; 0: damaged description. */
uint64_t tl_global_size(const struct tl_tap_global *g, uint32_t max_string);
/*
 * First values. Returns -1 when a global does not fit its area or overlaps the
 * next one (g is checked here; call before any handler runs).
 */
int tl_session_globals(struct tl_view *v, const struct tl_tap_global *g, uint32_t n,
	const char *strings, uint64_t strings_size);

/* Claim a free block (1 ..) for a thread; NULL and counted when there is none. */
/* thread_indent() of a thread: how deep it is, 0: not at all; and the time when it was not. */
struct tl_indent {
	int64_t level, since;
};
/* Entering counts at once, leaving from the next time on: what is to be shown, and *kept changed. */
struct tl_indent tl_indent_change(struct tl_indent *kept, int64_t delta, int64_t now);

struct tl_block *tl_block_claim(struct tl_view *v, uint32_t tid, uint32_t pid, const char *comm);
static inline struct tl_block *tl_block_at(const struct tl_view *v, uint32_t i)
{
	return (struct tl_block *)(v->blocks + (uint64_t)i * v->block_stride);
}
/* Blocks that were ever claimed have numbers below this; the others' pages are better not touched. */
static inline uint32_t tl_blocks_used(const struct tl_view *v)
{
	uint32_t n = __atomic_load_n(&v->session->blocks_used, __ATOMIC_ACQUIRE);

	return n <= v->nblocks ? n : v->nblocks;
}
uint32_t tl_block_index(const struct tl_view *v, const struct tl_block *b);
/* The thread is gone: its locks are freed, its records stay. Its block may be used again once drained. */
void tl_block_dead(struct tl_view *v, uint32_t index);
/* Free a DEAD block whose records are read (tl_reader_forget()). Shards stay in the block and go on counting. */
void tl_block_recycle(struct tl_view *v, uint32_t index);

/* Was a lock waited for in vain, whose owner has done nothing since? */
bool tl_locks_stuck(const struct tl_view *v);
/* Free them all. Runner only, when nobody else is to take one any more: who has one left it, or was killed with it. */
void tl_locks_break(struct tl_view *v);

/* A handler's sum of all blocks' counters. */
struct tl_totals {
	uint64_t lost, skipped, errors, truncated;
};
void tl_session_totals(const struct tl_view *v, struct tl_totals *t);

/* Hits of a probe in all threads, also those that have ended. For a module of TL_USES_HITS. */
uint64_t tl_session_hits(const struct tl_view *v, uint32_t probe);
/* With TL_USES_TIMES: of all threads together. */
struct tl_time tl_session_times(const struct tl_view *v, uint32_t nprobes, uint32_t probe);

/* --- clock ---------------------------------------------------------------------- */
/* One pair of readings and the rate, under the sequence lock. Runner only. */
void tl_clock_set(struct tl_view *v, uint64_t cycles, uint64_t ns, uint64_t mult);
uint64_t tl_clock_ns(const struct tl_view *v, uint64_t cycles);

/* --- reading rings --------------------------------------------------------------- */
struct tl_cursor {
	uintptr_t tail; /* place of the next record to read */
	uintptr_t head; /* as last seen */
	uint64_t what, time; /* of the record at tail; its size is checked */
	uint64_t held; /* `writing` as it was at held_since */
	uint64_t held_since;
	const uint8_t *at; /* the record at tail, in shared memory */
	uint32_t size; /* its size, checked */
	uint32_t links; /* followed since head was seen */
	uint32_t heap; /* element of the reader's heap of blocks, not of this block */
};
struct tl_reader {
	struct tl_view *view;
	struct tl_cursor *cursor; /* view->nblocks of them, caller's, zero */
	uint8_t *buffer; /* view->chunk_size bytes: private copy of one record */
	uint32_t used; /* blocks seen so far */
	uint64_t damaged; /* times that a ring made no sense and was skipped */
};
/* Into the ring of v->own: what follows there is of the thread that this block names now. */
void tl_ring_thread(struct tl_view *v);
/* Payload of TEXT, ERROR, WARN: the text in it, without padding. */
const char *tl_record_text(const uint8_t *payload, uint32_t size, uint32_t *len);
/* A record: private copy, checked size; time in cycles. Return nonzero to stop (the record counts as read). */
typedef int (*tl_record_fn)(void *arg, uint32_t block, const struct tl_record *r,
	const uint8_t *payload, uint32_t size);
/*
 * Give out, in order of time, all records that nothing older can still come
 * before: older than those of every handler that is writing, and than some
 * microseconds. final: everything. Returns the number of records.
 */
uint64_t tl_reader_pass(struct tl_reader *r, tl_record_fn fn, void *arg, bool final);
/* The same of one block, whatever is older elsewhere; its writer does not write meanwhile. */
uint64_t tl_reader_block(struct tl_reader *r, uint32_t block, tl_record_fn fn, void *arg);
bool tl_reader_waits(struct tl_reader *r, uint32_t block); /* is there a record in it? */
/* Its thread has ended: give back the memory of its ring. False, and nothing done: a record is still to be read. */
bool tl_reader_forget(struct tl_reader *r, uint32_t block);

/* --- formatting ------------------------------------------------------------------- */
/* Where text goes. Return nonzero to stop. */
typedef int (*tl_text_fn)(void *arg, const char *text, size_t n);

struct tl_fmt_arg {
	int64_t l;
	const char *s;
	uint32_t len;
}; /* s NULL: number */

/* Format as SystemTap does. Missing arguments print as 0 and "". */
int tl_format(
	const char *fmt, const struct tl_fmt_arg *args, uint32_t n, tl_text_fn out, void *arg);
/* The same of a script's values. */
int tl_format_values(
	const char *fmt, const struct tl_value *values, uint32_t n, tl_text_fn out, void *arg);
/* Payload of a PRINTF record into args; returns their number, or -1: damaged. Strings point into payload. */
int tl_format_args(const uint8_t *payload, uint32_t size, const char *fmt, struct tl_fmt_arg *args,
	uint32_t max);
#define TL_FMT_ARGS_MAX 64

/*
 * What a format wants, for the compiler's check: one letter an argument into
 * kinds: 'd' number, 's' string, 'm' memory (address; pass bytes), '*' number
 * for width or precision. Returns their number, or -1 and *bad = offset of the bad directive.
 */
int tl_format_kinds(const char *fmt, char *kinds, uint32_t max, uint32_t *bad);

/* Histogram text, as print(@hist_...) writes it. */
int tl_hist_text(const struct tl_stat *s, const struct tl_hist *h, tl_text_fn out, void *arg);

/* Every function of exports.def. */
struct tl_export {
	const char *name;
	void *addr;
};
extern const struct tl_export tl_exports[];
extern const unsigned tl_nexports;
/* The address of the one with that name, or 0. */
uint64_t tl_export_find(const char *name);
/* Of names, also where there is no C library. */
bool tl_same(const char *a, const char *b);

#endif
