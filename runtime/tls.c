/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where thread-local variables of libraries lie. Which block is a library's own its loader has written into a word of
 * the library (System V ABI, thread-local storage, variant II); the blocks of a thread are in its vector (dtv).
 */
#include "internal.h"

/* Of the thread's control block, the same in glibc and musl. */
#define VECTOR_AT 8
/* glibc: itself again, then a flag; musl: the threads before and behind it (none yet, or itself where it is alone). */
#define SELF_AT 16
#define FLAG_AT 24

static uint64_t word(struct tl_run *run, uint64_t addr)
{
	return (uint64_t)tl_load(run, addr, 8, false);
}

static uint64_t missing(struct tl_run *run, const char *library)
{
	if (!run->error)
		tl_run_error(run, "thread-local storage of %s is not allocated in this thread yet",
			library);
	return 0;
}

static bool is_glibc(struct tl_run *run, uint64_t tp)
{
	return word(run, tp + SELF_AT) == tp && (uint32_t)word(run, tp + FLAG_AT) <= 1;
}

/* `since`: which state of the loader's list the module is of; an older vector may have another's block there. */
static uint64_t block(
	struct tl_run *run, uint64_t tp, uint64_t module, uint64_t since, const char *library)
{
	bool glibc = is_glibc(run, tp);
	uint64_t vector = word(run, tp + VECTOR_AT), step = glibc ? 16 : 8;
	uint64_t last = word(run, glibc ? vector - step : vector), at;

	if (run->error || !module || module > last || (glibc && word(run, vector) < since))
		return missing(run, library);
	at = word(run, vector + module * step);
	return !run->error && at && at != UINT64_MAX ? at : missing(run, library);
}

uint64_t tl_tls_addr(struct tl_run *run, uint64_t tp, enum tl_tls_way way, uint64_t slot,
	uint64_t slot_of, uint64_t offset, const char *library)
{
	uint64_t found = word(run, way == TL_TLS_DESCRIPTOR ? slot + 8 : slot), since = 0;

	if (run->error || !found)
		return missing(run, library);
	if (way == TL_TLS_OFFSET || (way == TL_TLS_DESCRIPTOR && (int64_t)found < 0))
		return tp + found - slot_of + offset;
	if (way == TL_TLS_DESCRIPTOR) {
		since = is_glibc(run, tp) ? word(run, found + 16) : 0;
		found = word(run, found);
	}
	return block(run, tp, found, since, library) + offset;
}
