/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Small objects: zeroed, apart, and used again; all memory goes back. */
#include "machine.h"

enum { OBJECTS = 60000, SIZE = 104 };

static void *objects[OBJECTS];

static bool is_zero(const uint8_t *obj)
{
	for (size_t i = 0; i < SIZE; i++)
		if (obj[i])
			return false;
	return true;
}

static void objects_of_a_slab(void)
{
	struct tl_slab slab = {.size = SIZE};

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < OBJECTS; i++) {
			objects[i] = tl_slab_get(&slab);
			CHECK(objects[i] && is_zero(objects[i]));
			tl_fill(objects[i], (int)i, SIZE);
		}
		for (unsigned i = 0; i < OBJECTS; i++) {
			CHECK(*(uint8_t *)objects[i] == (uint8_t)i);
			CHECK(((uint8_t *)objects[i])[SIZE - 1] == (uint8_t)i);
		}
		for (unsigned i = 0; i < OBJECTS; i++)
			tl_slab_put(&slab, objects[i]);
	}
	tl_slab_deinit(&slab);
	CHECK(tl_slab_get(&slab) && slab.size == SIZE);
	tl_slab_deinit(&slab);
	CHECK(!fake.live);
}

int main(void)
{
	RUN(objects_of_a_slab);
	return UNIT_RESULT();
}
