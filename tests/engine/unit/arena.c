/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Objects of any size: zeroed, apart, in few pieces; a piece goes back with its last object. */
#include "machine.h"

enum { OBJECTS = 3000, LARGE = 300000 };

static uint8_t *objects[OBJECTS];

static size_t size_of(unsigned i)
{
	return i % 100 ? 1 + i * 7 % 5000 : LARGE;
}

static bool is_zero(const uint8_t *obj, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (obj[i])
			return false;
	return true;
}

static void fill_all(void)
{
	for (unsigned i = 0; i < OBJECTS; i++) {
		objects[i] = tl_arena_get(size_of(i));
		CHECK(objects[i] && !((uintptr_t)objects[i] % (2 * sizeof(void *))));
		CHECK(is_zero(objects[i], size_of(i)));
		tl_fill(objects[i], (int)i, size_of(i));
	}
	for (unsigned i = 0; i < OBJECTS; i++) {
		CHECK(objects[i][0] == (uint8_t)i);
		CHECK(objects[i][size_of(i) - 1] == (uint8_t)i);
	}
}

static void objects_of_an_arena(void)
{
	fill_all();
	CHECK(fake.live < 10);
	for (unsigned i = 1; i < OBJECTS; i++)
		tl_arena_put(objects[i]);
	CHECK(fake.live == 1);
	tl_arena_put(objects[0]);
	CHECK(!fake.live && !fake.live_bytes);
}

/* One that comes and goes, beside one that stays, takes no more and more. */
static void comes_and_goes(void)
{
	void *stays = tl_arena_get(LARGE);
	size_t most;

	tl_arena_put(tl_arena_get(LARGE));
	most = fake.live_bytes + 4ul * 64 * 1024 * 1024;
	for (unsigned i = 0; i < 5000; i++) {
		tl_arena_put(tl_arena_get(LARGE));
		CHECK(fake.live <= 2 && fake.live_bytes <= most);
	}
	tl_arena_put(stays);
	CHECK(!fake.live);
}

static void all_at_the_end(void)
{
	fill_all();
	tl_arena_deinit();
	CHECK(!fake.live && !fake.live_bytes);
}

/* Where a large piece cannot be had, one for this object may. */
static void short_of_memory(void)
{
	void *first = tl_arena_get(LARGE), *second;

	fake.fail_alloc = fake.nallocs + 1;
	second = tl_arena_get(LARGE);
	CHECK(second && fake.live_bytes < 3 * LARGE);
	fake.fail_alloc = 0;
	tl_arena_put(first);
	tl_arena_put(second);
	CHECK(!fake.live);
}

int main(void)
{
	RUN(objects_of_an_arena);
	RUN(comes_and_goes);
	RUN(all_at_the_end);
	RUN(short_of_memory);
	return UNIT_RESULT();
}
