/* SPDX-License-Identifier: MIT */
/*
 * The runner's reader of session memory that a target has scribbled on: block
 * headers and rings are the input, changed between two passes. What comes out
 * is formatted as the runner does it. No pass may last or leave its buffers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/types.h>

#include "../../runner/session.h"
#include "../../runtime/internal.h"
#include "fuzz.h"
#include <sanitizer/asan_interface.h>

enum { BLOCKS = 4, STRINGS = 128, GLOBALS = 64 };

static struct session s;
static struct tl_tap mod;
static const struct tl_tap_header header; /* of a module for processes */
static struct tl_tap_options options = {
	.globals_size = GLOBALS, .nlocks = 2, .max_string = 64, .ring_pool = 1};
static struct tl_session layout;
static uint8_t *memory;
static char strings[STRINGS];
static struct tl_tap_print prints[] = {{.format = 0}, {.format = 1}, {.format = 2}, {.format = 3}};

static uint64_t read_rings(struct session *of, bool final)
{
	return tl_reader_pass(&of->reader, drain_record, of, final);
}

static const struct session_backend backend = {.pass = read_rings};

static ssize_t nowhere(void *cookie, const char *text, size_t n)
{
	(void)cookie;
	readable(text, n);
	return (ssize_t)n;
}

static void once(void)
{
	if (memory)
		return;
	must(!tl_session_layout(&options, BLOCKS, &layout));
	memory = aligned_alloc(4096, layout.size);
	s.out = fopencookie(NULL, "w", (cookie_io_functions_t){.write = nowhere});
	must(memory && s.out);
	mod.strings = strings;
	mod.strings_size = STRINGS;
	mod.options = &options;
	mod.prints = prints;
	mod.nprints = sizeof(prints) / sizeof(*prints);
	mod.header = &header;
	s.mod = &mod;
	s.backend = &backend;
	ASAN_POISON_MEMORY_REGION(memory + layout.blocks_off + BLOCKS * layout.block_stride,
		layout.chunks_off - layout.blocks_off - BLOCKS * layout.block_stride);
}

static void scribble(struct input *in)
{
	uint32_t i;

	s.view.session->blocks_used = (uint32_t)take_number(in, 1);
	for (i = 1; i < BLOCKS; i++) {
		uint8_t *b = (uint8_t *)tl_block_at(&s.view, i);
		uint8_t *to = b + layout.ring_off;
		uint32_t chunk = (uint32_t)take_number(in, 1), room = 2 * layout.own_size;
		uint32_t at = (uint32_t)take_number(in, 2), n = (uint32_t)take_number(in, 1) * 4;

		if (chunk & 1) {
			chunk = (chunk >> 1) % layout.nchunks;
			to = s.view.chunks + (uint64_t)chunk * layout.chunk_size;
			s.view.owners[chunk] = i + 1;
			room = layout.chunk_size;
		}
		at %= room;
		take(in, b, sizeof(struct tl_block));
		take(in, to + at, n < room - at ? n : room - at);
	}
}

static void pass(bool final)
{
	drain(&s, final);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const pid_t nobody = 0x7fffffff;
	struct input in = {data, size};
	uint32_t i;

	once();
	memset(memory + layout.owners_off, 0, layout.nchunks * sizeof(uint32_t));
	for (i = 0; i < BLOCKS; i++)
		memset(memory + layout.blocks_off + i * layout.block_stride, 0,
			layout.block_stride);
	tl_session_init(memory, &layout);
	must(!tl_view_attach(&s.view, memory, layout.size, &options) && !drain_start(&s));
	take(&in, strings, STRINGS - 1);
	strings[0] = 0;
	scribble(&in);
	pass(false);
	scribble(&in);
	pass(false);
	session_recycle(&s, &nobody, 1);
	pass(true);
	free(s.reader.cursor);
	free(s.reader.buffer);
	free(s.ready);
	memset(&s.reader, 0, sizeof(s.reader));
	return 0;
}
