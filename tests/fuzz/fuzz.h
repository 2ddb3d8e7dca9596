/* SPDX-License-Identifier: MIT */
/* What every fuzzer has: the entry that libFuzzer and driver.c call, and a way to take its input apart. */
#ifndef TRAPLESS_TESTS_FUZZ_H
#define TRAPLESS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What has to hold for any input. */
static inline void must(bool holds)
{
	if (!holds)
		abort();
}

/* All of it is there to be read. */
static inline int readable(const void *at, size_t n)
{
	const volatile uint8_t *p = at;
	int last = 0;

	while (n--)
		last = *p++;
	return last;
}

/* Of size bytes at base, as tl_os_text_read() reads: up to where they end. */
static inline size_t read_from(
	const uint8_t *memory, size_t size, uintptr_t base, uintptr_t addr, void *buf, size_t len)
{
	size_t n;

	if (addr < base || addr - base >= size)
		return 0;
	n = size - (addr - base);
	n = n < len ? n : len;
	memcpy(buf, memory + (addr - base), n);
	return n;
}

struct input {
	const uint8_t *at;
	size_t left;
};

/* The next n bytes; zeros behind the end. */
static inline void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	if (have)
		memcpy(to, in->at, have);
	in->at += have;
	in->left -= have;
}

static inline uint64_t take_number(struct input *in, size_t bytes)
{
	uint64_t v = 0;

	take(in, &v, bytes);
	return v;
}

#endif
