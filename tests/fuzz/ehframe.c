/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of a target: the input is its memory, .eh_frame_hdr at the
 * start, then read once more as if that were .eh_frame alone. Reads that leave it end short, as those of unmapped memory do.
 */
#include "../../engine/core/image/ehframe.h"
#include "../../engine/os/os.h"
#include "fuzz.h"

enum { BASE = 0x10000, ROWS_MAX = 64, PADS = 16 };

static const uint8_t *memory;
static size_t memory_size;
static size_t work; /* bytes asked for by one input */

size_t tl_os_text_read(uintptr_t addr, void *buf, size_t len)
{
	must((work += len) < 1u << 28);
	return read_from(memory, memory_size, BASE, addr, buf, len);
}

void *tl_os_alloc(size_t size)
{
	return calloc(1, size);
}

void tl_os_free(void *mem, size_t size)
{
	(void)size;
	free(mem);
}

/* No image is listed. */
void tl_os_functions(uintptr_t lo, uintptr_t hi,
	void (*fn)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
	(void)lo, (void)hi, (void)fn, (void)arg;
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

static void function_at(struct tl_eh_table *t, uintptr_t addr)
{
	struct tl_func_part part;
	uintptr_t pads[PADS], next;
	size_t npads;

	if (!tl_eh_function(t, addr, &part, pads, PADS, &npads, &next))
		must(addr - part.start < part.size);
	must(npads <= PADS);
}

static void read_as(uint32_t flags)
{
	struct tl_image img = {.lo = BASE,
		.hi = BASE + memory_size,
		.eh_frame_hdr = BASE,
		.eh_frame_hdr_size = memory_size,
		.flags = flags};
	struct tl_eh_table table;
	struct tl_eh_entry e;
	size_t i;

	must(!tl_eh_load(&table, &img) && table.n <= memory_size / 8);
	for (i = 0; i < table.n && i < ROWS_MAX; i++) {
		uintptr_t start = tl_eh_start(&table, i);

		must(tl_eh_upto(&table, start) <= table.n);
		must(!i || !flags || tl_eh_start(&table, i - 1) <= start); /* sorted by us */
		if (!tl_eh_entry(&table, i, &e))
			one(&e);
		function_at(&table, start + 1);
	}
	must(tl_eh_entry(&table, table.n, &e) != 0 && !tl_eh_start(&table, table.n));
	tl_eh_unload(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memory = data;
	memory_size = size;
	work = 0;
	read_as(0);
	read_as(TL_IMAGE_BARE_FRAMES);
	return 0;
}
