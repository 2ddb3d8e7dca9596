/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Regular expressions. The compiler makes the tables (crates/sema/src/regex). `next` has a row of
 * `width` entries for each state: one a class of bytes, the last one for the
 * end of the text; TL_REGEX_FAILED and TL_REGEX_MATCHED have no row.
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_REGEX_H
#define TRAPLESS_RUNTIME_SCRIPT_REGEX_H

#include "run.h"

#define TL_REGEX_FAILED	 0xffff
#define TL_REGEX_MATCHED 0xfffe

/* What leads from one op to others, see groups.rs there. */
enum tl_regex_code {
	TL_REGEX_RANGE,
	TL_REGEX_SPLIT,
	TL_REGEX_SLOT,
	TL_REGEX_START,
	TL_REGEX_END,
	TL_REGEX_MATCH,
	TL_REGEX_FAIL,
};
struct tl_regex_op {
	uint8_t code, low, high;
	uint16_t next, other; /* other: of SLOT the slot's number */
};

struct tl_regex {
	const uint8_t *classes; /* 256 */
	const uint16_t *next;
	const struct tl_regex_op *ops; /* NULL where no handler asks for groups */
	uint16_t width, start;
	uint16_t nops, first, groups;
	uint16_t waits; /* ops at which a byte is waited for */
};

/* The latest match of a handler, with `room` for whatever regex of the module. */
struct tl_match {
	const struct tl_regex *regex; /* NULL: there was none, or it failed */
	bool found; /* the slots are computed */
	struct tl_str *text;
	uint32_t *room;
};

/* Keep matches of this run; `words` is the room that the compiler has computed. */
#define TL_KEEP_MATCH(run, words)                                                                  \
	uint32_t match_room[words];                                                                \
	TL_STRING(match_text);                                                                     \
	struct tl_match match = {NULL, false, match_text, match_room};                             \
	(run)->match = &match

/* s =~ regex: 1 or 0. Steps: one a byte. */
int64_t tl_regex_match(struct tl_run *run, const struct tl_regex *regex, const struct tl_str *s);
/* Group n of the latest match, "" when it took no part. May fail. Steps: bytes times ops. */
void tl_matched(struct tl_run *run, struct tl_str *dst, int64_t n);
int64_t tl_ngroups(struct tl_run *run); /* may fail */

#endif
