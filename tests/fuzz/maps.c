/* SPDX-License-Identifier: MIT */
/*
 * Associative arrays, statistics and strings in session memory that somebody
 * scribbles on between any two operations: nothing outside of the global may
 * be touched, no walk may go on for ever.
 */
#include "../../runtime/internal.h"
#include "fuzz.h"
#include <sanitizer/asan_interface.h>

enum { AREA = 8192, ENTRIES = 12, STEPS = 200, STRING = 32, BLOCKS = 3 };

static struct tl_tap_options options = {.globals_size = AREA,
	.nlocks = 2,
	.max_string = STRING,
	.max_errors = ~0u,
	.ring_size = 4096};
static const struct tl_view_ops ops;
static struct tl_view view;
static struct tl_env env = {.view = &view, .kind = TL_TAP_BEGIN, .point = "begin", .func = ""};
static uint8_t *memory;

static void open_session(void)
{
	struct tl_session layout;

	must(!tl_session_layout(&options, BLOCKS, &layout));
	if (!memory)
		memory = aligned_alloc(4096, layout.size);
	must(memory != NULL);
	ASAN_UNPOISON_MEMORY_REGION(memory, layout.size);
	memset(memory, 0, layout.size);
	tl_session_init(memory, &layout);
	must(!tl_view_attach(&view, memory, layout.size, &options));
	view.ops = &ops;
	tl_view_outside(&view);
	view.own = tl_block_claim(&view, 1, 1, "fuzz");
}

static uint32_t value_size(uint8_t type, const struct tl_hist *h)
{
	return type == TL_VALUE_LONG	 ? 8
	       : type == TL_VALUE_STRING ? TL_STR_SIZE(STRING)
					 : TL_STAT_SIZE(h->buckets);
}

/* The map lies at the end of the globals: what is behind it is not ours. */
static void shape(struct input *in, struct tl_map *m)
{
	uint32_t off = TL_MAP_LINKS, i;
	uint8_t bits = (uint8_t)take_number(in, 1);

	*m = (struct tl_map){
		.name = "a", .capacity = 1 + bits % ENTRIES, .wrap = bits >> 4 & 1, .most = 15};
	m->value = (uint8_t)(TL_VALUE_LONG + (bits >> 5) % 3);
	if (m->value == TL_VALUE_STATS)
		m->hist = (struct tl_hist){.kind = 2, .buckets = 5, .low = 0, .step = 10};
	bits = (uint8_t)take_number(in, 1);
	m->nkeys = 1 + bits % 3;
	m->mask = bits >> 5 & 1 ? 15 : 3; /* it grows, or not */
	for (i = 0; i < m->nkeys; i++) {
		m->key_types[i] = bits >> (2 + i) & 1 ? TL_VALUE_STRING : TL_VALUE_LONG;
		m->key_off[i] = off;
		off += value_size(m->key_types[i], &m->hist);
	}
	m->one_long = m->nkeys == 1 && m->key_types[0] == TL_VALUE_LONG;
	m->value_off = off;
	m->stride = off + value_size(m->value, &m->hist);
	m->entries = TL_MAP_HEAD + 4 * (m->most + 1);
	m->offset = AREA - m->entries - m->capacity * m->stride;
	must(m->offset < AREA);
	ASAN_POISON_MEMORY_REGION(view.globals, m->offset);
	ASAN_POISON_MEMORY_REGION(view.globals + AREA,
		(size_t)(view.blocks + view.block_stride - view.globals) - AREA);
}

static struct tl_value key_of(struct input *in, uint8_t type, struct tl_str *room)
{
	uint8_t n = (uint8_t)take_number(in, 1);

	if (type == TL_VALUE_LONG)
		return (struct tl_value)TL_LONG(n % 20);
	room->len = n % STRING;
	memset(room->b, 'a' + n / STRING, STRING);
	room->b[room->len] = 0;
	return (struct tl_value)TL_STR(room);
}

static int nowhere(void *arg, const char *text, size_t n)
{
	(void)arg;
	readable(text, n);
	return 0;
}

static void look_through(struct tl_run *run, const struct tl_map *m, struct input *in)
{
	uint8_t how = (uint8_t)take_number(in, 1);
	union {
		struct tl_str s;
		uint8_t room[TL_STR_SIZE(STRING)];
	} u;
	struct tl_iter it;
	uint32_t n = 0, i;

	tl_iter_begin(run, &it, m, how & 1 ? TL_SORT_NONE : how >> 2 & 3, how & 2 ? 1 : -1,
		how >> 4, 1000);
	while (tl_iter_next(&it)) {
		must(++n <= m->capacity);
		for (i = 0; i < m->nkeys; i++) {
			if (m->key_types[i] == TL_VALUE_LONG)
				tl_iter_long(&it, i);
			else
				tl_iter_str(&it, i, &u.s);
		}
		if (m->value == TL_VALUE_STRING)
			tl_iter_value_str(&it, &u.s);
		if (m->value == TL_VALUE_STATS)
			tl_hist_text(tl_iter_stat(&it), &m->hist, nowhere, NULL);
	}
}

static void put(
	struct tl_run *run, const struct tl_map *m, const struct tl_value *keys, struct input *in)
{
	union {
		struct tl_str s;
		uint8_t room[TL_STR_SIZE(STRING)];
	} u;

	if (m->value == TL_VALUE_LONG) {
		tl_map_add(run, m, keys, (int64_t)take_number(in, 8));
	} else if (m->value == TL_VALUE_STATS) {
		tl_map_stat_add(run, m, keys, (int64_t)take_number(in, 1));
	} else {
		key_of(in, TL_VALUE_STRING, &u.s);
		tl_map_set_str(run, m, keys, &u.s);
		tl_map_get_str(run, m, keys, &u.s);
		must(u.s.len < STRING && !u.s.b[u.s.len]);
	}
}

static void step(struct tl_run *run, const struct tl_map *m, struct input *in)
{
	uint8_t op = (uint8_t)take_number(in, 1), *at;
	struct tl_str *rooms[3];
	uint8_t room[3][TL_STR_SIZE(STRING)] __attribute__((aligned(8)));
	struct tl_value keys[3];
	uint32_t i;

	for (i = 0; i < m->nkeys; i++) {
		rooms[i] = (struct tl_str *)room[i];
		keys[i] = key_of(in, m->key_types[i], rooms[i]);
	}
	switch (op % 8) {
	case 0: /* a link, near what it may be */
		at = view.globals + m->offset + (take_number(in, 2) % (AREA - m->offset) & ~3u);
		*(uint32_t *)at = (uint32_t)take_number(in, 1) % (m->capacity + 4);
		break;
	case 1:
		at = view.globals + m->offset + take_number(in, 2) % (AREA - m->offset);
		*at = (uint8_t)take_number(in, 1);
		break;
	case 2:
		look_through(run, m, in);
		break;
	case 3:
		tl_map_delete(run, m, keys);
		if (op > 240)
			tl_map_clear(run, m);
		break;
	case 4:
		tl_map_has(run, m, keys);
		break;
	default:
		put(run, m, keys, in);
	}
	if (run->error)
		tl_run_catch(run, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct tl_run run;
	struct tl_map m;
	int i;

	open_session();
	shape(&in, &m);
	must(tl_run_enter(&run, &env, NULL, tl_view_self(&view)));
	for (i = 0; i < STEPS && in.left; i++)
		step(&run, &m, &in);
	return 0;
}
