/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of a target: the input is its memory, .eh_frame_hdr at the
 * start. Reads that leave it end short, as those of unmapped memory do.
 */
#include "../../engine/core/ehframe.h"
#include "fuzz.h"

enum { BASE = 0x10000, ROWS_MAX = 64 };

static const uint8_t *memory;
static size_t memory_size;
static size_t work; /* bytes asked for by one input */

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	must((work += len) < 1u << 28);
	return read_from(memory, memory_size, BASE, addr, buf, len);
}

static void pad(void *arg, uintptr_t at)
{
	*(size_t *)arg += at != 0;
}

static void one(const struct tl_eh_entry *e)
{
	size_t pads = 0;

	must(e->part.size && e->part.start + e->part.size >= e->part.start);
	tl_eh_pads(e, pad, &pads);
	must(pads <= 65536);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_image img = {
		.lo = BASE, .hi = BASE + size, .eh_frame_hdr = BASE, .eh_frame_hdr_size = size};
	struct tl_eh_entry e;
	size_t n, i;

	memory = data;
	memory_size = size;
	work = 0;
	n = tl_eh_count(&img);
	must(n <= size / 8);
	for (i = 0; i < n && i < ROWS_MAX; i++) {
		uintptr_t start = tl_eh_start(&img, i);

		must(tl_eh_upto(&img, start) <= n);
		if (!tl_eh_entry(&img, i, &e))
			one(&e);
		if (!tl_eh_find(&img, start + 1, &e)) {
			must(start + 1 - e.part.start < e.part.size);
			one(&e);
		}
	}
	must(tl_eh_entry(&img, n, &e) != 0);
	return 0;
}
