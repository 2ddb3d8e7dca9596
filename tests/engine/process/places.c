/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The table of places in detours takes all that a large program's probes need, wherever their memory lies. */
#include <stdlib.h>
#include <string.h>

#include "../../../agent/control.h"
#include "../../unit.h"

enum { DETOURS = 160000, COPIES = 4, AREAS = 8, STEP = 112 };

static struct tl_ctl *table;

static uint64_t place(uint64_t distance, uint32_t detour, uint32_t copy)
{
	static const uint64_t off[COPIES] = {41, 46, 71, 103};
	uint64_t in = (uint64_t)detour / AREAS * STEP;

	return 0x7f0000000000ull + detour % AREAS * distance + in + off[copy];
}

static uint32_t set(uint64_t from, uint64_t to)
{
	struct tl_ctl_place *spare, *p = tl_ctl_place_find(table, from, &spare);

	p = p ? p : spare;
	if (!p)
		return 1;
	p->from = from;
	p->to = to;
	return 0;
}

static uint32_t for_all(uint64_t distance, uint32_t (*fn)(uint64_t, uint64_t), uint64_t to)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < DETOURS; i++)
		for (uint32_t k = 0; k < COPIES; k++)
			bad += fn(place(distance, i, k), to ? to + i : 0);
	return bad;
}

static uint32_t differs(uint64_t from, uint64_t to)
{
	struct tl_ctl_place *spare, *p = tl_ctl_place_find(table, from, &spare);

	return !p || p->to != to;
}

/* Areas at equal distances, and the same once more when they are empty. */
static void all_have_room(void)
{
	for (unsigned shift = 24; shift < 34; shift++) {
		uint64_t distance = 1ull << shift;

		memset(table->places, 0, sizeof(table->places));
		CHECK(!for_all(distance, set, 0x1000) && !for_all(distance, differs, 0x1000));
		CHECK(!for_all(distance, set, 0) && !for_all(distance, set, 0x2000));
		CHECK(!for_all(distance, differs, 0x2000));
	}
}

int main(void)
{
	table = calloc(1, sizeof(*table));
	if (!table)
		return 1;
	RUN(all_have_room);
	free(table);
	return UNIT_RESULT();
}
