/* SPDX-License-Identifier: MIT */
/* A session in ordinary memory, with the test as the traced program. */
#ifndef TRAPLESS_TESTS_RUNTIME_HOME_H
#define TRAPLESS_TESTS_RUNTIME_HOME_H

#include <stdlib.h>
#include <string.h>

#include "../../runtime/internal.h"
#include "../unit.h"
#include "cycles.h"

#define BLOCKS 20

static struct tl_view home;
static struct tl_tap_options home_options;
static struct tl_env home_env = {.view = &home,
	.number = 7,
	.kind = TL_TAP_SITE,
	.point = "process(\"x\").function(\"f\")",
	.func = "f"};
static void *home_memory;

/* Own memory is readable where it is not inside [hole, hole + 4096). */
static uint64_t home_hole;
static int home_read(struct tl_view *v, void *dst, uint64_t addr, uint32_t size)
{
	(void)v;
	if (addr < 4096 || (home_hole && addr < home_hole + 4096 && addr + size > home_hole))
		return -1;
	memcpy(dst, (const void *)(uintptr_t)addr, size);
	return 0;
}
static int home_write(struct tl_view *v, uint64_t addr, const void *src, uint32_t size)
{
	(void)v;
	if (addr < 4096 || (home_hole && addr < home_hole + 4096 && addr + size > home_hole))
		return -1;
	memcpy((void *)(uintptr_t)addr, src, size);
	return 0;
}
static uint32_t home_symbol(
	struct tl_view *v, uint64_t addr, char *buf, uint32_t room, uint64_t *off, uint64_t *size)
{
	(void)v, (void)room;
	if (addr < 0x1000 || addr >= 0x1060)
		return 0;
	*off = addr - 0x1000;
	*size = 0x60;
	memcpy(buf, "func", 5);
	return 4;
}
static uint32_t home_image(struct tl_view *v, uint64_t addr, char *buf, uint32_t room)
{
	(void)v, (void)room;
	if (addr < 0x1000 || addr >= 0x3000)
		return 0;
	memcpy(buf, "prog", 5);
	return 4;
}
static const struct tl_view_ops home_ops = {
	.read = home_read, .write = home_write, .symbol = home_symbol, .image = home_image};

/* A fresh session with these areas; the test is block 1. */
static void home_open(uint32_t globals, uint32_t shards, uint32_t ring)
{
	struct tl_session s;

	free(home_memory);
	home_options = (struct tl_tap_options){.globals_size = globals,
		.shard_size = shards,
		.nlocks = 4,
		.max_string = TL_MAXSTRING,
		.ring_size = ring,
		.ring_pool = 1};
	if (tl_session_layout(&home_options, BLOCKS, &s))
		abort();
	home_memory = aligned_alloc(4096, (size_t)s.size);
	memset(home_memory, 0, (size_t)s.size);
	tl_session_init(home_memory, &s);
	if (tl_view_attach(&home, home_memory, s.size, &home_options))
		abort();
	home.ops = &home_ops;
	home.session->live = 1;
	home.own = tl_block_claim(&home, 100, 99, "test");
	tl_clock_set(&home, tl_cycles(), 1000000000ull * 1700000000u, 1ull << 32);
}

#define ENTER(run)                                                                                 \
	struct tl_run run;                                                                         \
	CHECK(tl_run_enter(&run, &home_env, NULL, tl_view_self(&home)))

/* A script string from text. */
static inline struct tl_str *home_str(const char *text)
{
	static uint64_t room[8][1200];
	static int turn;
	struct tl_str *s = (struct tl_str *)room[turn++ % 8];

	s->len = (uint32_t)strlen(text);
	memcpy(s->b, text, s->len + 1);
	return s;
}
static inline bool home_is(const struct tl_str *s, const char *text)
{
	return s->len == strlen(text) && !strcmp(s->b, text);
}

#endif
