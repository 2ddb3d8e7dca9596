/* SPDX-License-Identifier: MIT */
/*
 * The layout of everything that crosses between machines of one word size and
 * another: build-and-run compares this output of all machines.
 */
#include <stdio.h>
#include <string.h>
#include <trapless/wire.h>
#include "../../runtime/script.h"
#include "../unit.h"
#include "cycles.h"

#define SIZE(type) printf("layout %s %u\n", #type, (unsigned)sizeof(struct type))
#define AT(type, field)                                                                            \
	printf("layout %s.%s %u\n", #type, #field, (unsigned)offsetof(struct type, field))

static void print_module(void)
{
	SIZE(tl_tap_header), AT(tl_tap_header, crc), AT(tl_tap_header, size),
		AT(tl_tap_header, build_hash);
	SIZE(tl_tap_section), AT(tl_tap_section, offset);
	SIZE(tl_tap_image), AT(tl_tap_image, build_id_len), AT(tl_tap_image, file_size);
	SIZE(tl_tap_probe), AT(tl_tap_probe, addr), AT(tl_tap_probe, handler),
		AT(tl_tap_probe, script);
	SIZE(tl_tap_part);
	SIZE(tl_tap_print);
	SIZE(tl_tap_field);
	SIZE(tl_tap_import);
	SIZE(tl_tap_symbol), AT(tl_tap_symbol, image);
	SIZE(tl_tap_global), AT(tl_tap_global, key_types), AT(tl_tap_global, init),
		AT(tl_tap_global, hist_low);
	SIZE(tl_tap_options), AT(tl_tap_options, uses);
}

static void print_session(void)
{
	SIZE(tl_session), AT(tl_session, size), AT(tl_session, globals_off), AT(tl_session, live);
	AT(tl_session, clock_mult), AT(tl_session, tz_name), AT(tl_session, errors),
		AT(tl_session, missed);
	SIZE(tl_block), AT(tl_block, comm), AT(tl_block, head), AT(tl_block, writing),
		AT(tl_block, holding);
	SIZE(tl_lock);
	SIZE(tl_record), AT(tl_record, time);
	SIZE(tl_record_thread);
	SIZE(tl_record_end);
	SIZE(tl_raw_header);
	SIZE(tl_raw_thread);
	SIZE(tl_stat), AT(tl_stat, bucket);
	printf("layout tl_str.b %u\n", (unsigned)offsetof(struct tl_str, b));
}

static void module_layout_is_fixed(void)
{
	print_module();
	CHECK(sizeof(struct tl_tap_header) == 48);
	CHECK(sizeof(struct tl_tap_probe) == 80);
	CHECK(sizeof(struct tl_tap_symbol) == 24);
}

static void session_layout_is_fixed(void)
{
	print_session();
	CHECK(sizeof(struct tl_block) == 128);
	CHECK(sizeof(struct tl_lock) == 64);
	CHECK(sizeof(struct tl_record) == 16);
	CHECK(sizeof(struct tl_stat) == 64);
}

int main(void)
{
	RUN(module_layout_is_fixed);
	RUN(session_layout_is_fixed);
	return UNIT_RESULT();
}
