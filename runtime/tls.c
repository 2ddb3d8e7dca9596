/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where thread-local variables of libraries lie. Which block is a library's own its loader has written into a word of
 * the library (System V ABI, thread-local storage); the blocks of a thread are in its vector (dtv).
 */
#include "internal.h"

enum { WORD = sizeof(uintptr_t) };

static uint64_t word(struct tl_run *run, uint64_t addr)
{
	return (uint64_t)tl_load(run, addr, WORD, false);
}

static uint64_t missing(struct tl_run *run, const char *library)
{
	if (!run->error)
		tl_run_error(run, "thread-local storage of %s is not allocated in this thread yet",
			library);
	return 0;
}

/* `since`: which state of the loader's list the module is of; an older vector may have another's block there. */
static uint64_t block(
	struct tl_run *run, uint64_t tp, uint64_t module, uint64_t since, const char *library)
{
	const struct tl_tls_vector v = tl_machine_tls(run, tp);
	const uint64_t step = v.glibc ? 2 * WORD : WORD;
	uint64_t last = word(run, v.glibc ? v.at - step : v.at), at;

	if (run->error || !module || module > last || (v.glibc && word(run, v.at) < since))
		return missing(run, library);
	at = word(run, v.at + module * step);
	return !run->error && at && at != UINT64_MAX ? at : missing(run, library);
}

uint64_t tl_tls_addr(struct tl_run *run, uint64_t tp, enum tl_tls_way way, uint64_t slot,
	uint64_t slot_of, uint64_t offset, const char *library)
{
	uint64_t found = word(run, way == TL_TLS_DESCRIPTOR ? slot + WORD : slot), since = 0;

	if (run->error || !found)
		return missing(run, library);
	if (way == TL_TLS_OFFSET || (way == TL_TLS_DESCRIPTOR && (intptr_t)found < 0))
		return tp + found - slot_of + offset;
	if (way == TL_TLS_DESCRIPTOR) {
		since = tl_machine_tls(run, tp).glibc ? word(run, found + 2 * WORD) : 0;
		found = word(run, found);
	}
	return block(run, tp, found, since, library) + offset;
}
