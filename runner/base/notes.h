/* SPDX-License-Identifier: MIT */
/* ELF notes, as they lie in a file or in memory: what toolchains and kernels write about themselves. */
#ifndef TRAPLESS_RUNNER_NOTES_H
#define TRAPLESS_RUNNER_NOTES_H

#include <stddef.h>
#include <stdint.h>

/* Calls fn for each whole note in these bytes; they may be anybody's, and end anywhere. */
void notes_each(const uint8_t *notes, size_t size,
	void (*fn)(void *arg, uint32_t type, const char *name, const uint8_t *desc, size_t n),
	void *arg);

enum { BUILD_ID_MAX = 32 };
/* Is it a GNU build-id? Then it is copied, and so many bytes long; 0: it is something else. */
size_t note_build_id(
	uint8_t id[BUILD_ID_MAX], uint32_t type, const char *name, const uint8_t *desc, size_t n);

#endif
