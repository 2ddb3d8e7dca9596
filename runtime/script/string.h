/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * String functions. dst always has room for TL_MAXSTRING bytes and may be one of the sources, but
 * not for tl_str_replace(), tl_text_str(), tl_text_strn() and tl_sprintf().
 */
#ifndef TRAPLESS_RUNTIME_SCRIPT_STRING_H
#define TRAPLESS_RUNTIME_SCRIPT_STRING_H

#include "run.h"

void tl_str_set(struct tl_run *run, struct tl_str *dst, const struct tl_str *src);
void tl_str_set_c(struct tl_run *run, struct tl_str *dst, const char *text);
void tl_str_cat(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *a, const struct tl_str *b);
int tl_str_cmp(const struct tl_str *a, const struct tl_str *b); /* <0, 0, >0 as strcmp */
static inline int64_t tl_strlen(const struct tl_str *s)
{
	return s->len;
}
void tl_substr(struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t start,
	int64_t length);
int64_t tl_isinstr(const struct tl_str *s, const struct tl_str *sub);
int64_t tl_stringat(struct tl_run *run, const struct tl_str *s, int64_t pos); /* may fail */
int64_t tl_strtol(const struct tl_str *s, int64_t base);
int64_t tl_strpos(const struct tl_str *s, const struct tl_str *sub); /* -1: not there */
void tl_str_replace(struct tl_run *run, struct tl_str *dst, const struct tl_str *s,
	const struct tl_str *old, const struct tl_str *now);
void tl_text_str(struct tl_run *run, struct tl_str *dst, const struct tl_str *s);
/* text_strn(): len 0: as long as may be. */
void tl_text_strn(
	struct tl_run *run, struct tl_str *dst, const struct tl_str *s, int64_t len, bool quoted);
/*
 * By a list "HEX NAME|HEX NAME|...": the name of a value, false and "" without
 * one; flags as "A|B|0x40", what has no name as a number. All zero is a flag, too.
 */
bool tl_name_str(struct tl_run *run, struct tl_str *dst, uint64_t value, const char *list);
void tl_flags_str(struct tl_run *run, struct tl_str *dst, uint64_t flags, const char *list);
/* The other way round; -1: none has it. */
int64_t tl_name_value(const struct tl_str *name, const char *list);
/* tokenize(): input not empty starts anew, empty goes on with the thread's latest. */
void tl_tokenize(struct tl_run *run, struct tl_str *dst, const struct tl_str *input,
	const struct tl_str *delim);
/* sprintf(); fmt is a script's format, checked by the compiler. */
void tl_sprintf(struct tl_run *run, struct tl_str *dst, const char *fmt,
	const struct tl_value *args, uint32_t n);

bool tl_errno_known(int64_t err); /* negative, and has a name */
void tl_errno_str(struct tl_run *run, struct tl_str *dst, int64_t err);

#endif
