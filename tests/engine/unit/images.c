/* SPDX-License-Identifier: MIT */
/* Images, unwind tables as proof of functions, landing pads, jumps between parts. */
#define _GNU_SOURCE
#include "../../../engine/core/image/ehframe.h"
#include "machine.h"
#include <link.h>

enum { HDR = 8192, FRAME = 9000, LSDA = 10000 };

static size_t at;

static void put8(unsigned v)
{
	fake_text[at++] = (uint8_t)v;
}

static void put32(uint32_t v)
{
	memcpy(fake_text + at, &v, 4); /* tables are in the machine's own order */
	at += 4;
}

static void patch32(size_t where, size_t v)
{
	uint32_t w = (uint32_t)v;

	memcpy(fake_text + where, &w, 4);
}

static struct tl_image image(void)
{
	return (struct tl_image){.bias = TEXT(0),
		.lo = TEXT(0),
		.hi = TEXT(HDR),
		.eh_frame_hdr = TEXT(HDR),
		.eh_frame_hdr_size = 200,
		.name = "toy"};
}

static int with_tables(void)
{
	struct tl_image img = image();

	return tl_image_add(&img);
}

static size_t put_fde(size_t cie, size_t start, size_t size, size_t lsda)
{
	size_t fde = at;

	put32(0);
	put32((uint32_t)(at - cie));
	put32((uint32_t)(start - at));
	put32((uint32_t)size);
	put8(4);
	put32(lsda ? (uint32_t)(lsda - at) : 0);
	while (at & 3)
		put8(0);
	patch32(fde, at - fde - 4);
	return fde;
}

/* Functions at 0..40, 48..60 (with landing pads), `third`..80. */
static void tables_of(const char *augmentation, unsigned third)
{
	size_t cie, fde[3];

	world();
	fake.images = with_tables;
	at = FRAME;
	cie = at;
	put32(0);
	put32(0);
	put8(1);
	for (const char *s = augmentation; *s; s++)
		put8((unsigned char)*s);
	put8(0);
	put8(1);
	put8(0x78);
	put8(16);
	put8(7);
	put8(0x9b), put32(0x1234); /* personality: indirect, skipped */
	put8(0x1b), put8(0x1b);
	while (at & 3)
		put8(0);
	patch32(cie, at - cie - 4);
	fde[0] = put_fde(cie, 0, 40, 0);
	fde[1] = put_fde(cie, 48, 12, LSDA);
	fde[2] = put_fde(cie, third, 80 - third, 0);
	at = HDR;
	put8(1), put8(0x1b), put8(0x03), put8(0x3b);
	put32((uint32_t)(FRAME - at));
	put32(3);
	for (unsigned i = 0; i < 3; i++) {
		const uint32_t start[] = {0, 48, third};

		put32(start[i] - HDR);
		put32((uint32_t)(fde[i] - HDR));
	}
	at = LSDA;
	put8(0xff), put8(0xff), put8(1), put8(8);
	put8(0), put8(2), put8(7), put8(0);
	put8(2), put8(3), put8(0), put8(0);
	put8(0); /* beyond the table */
}

static void tables(void)
{
	tables_of("zPLR", 64);
}

/* As the engine asks, but of a table that is read anew each time. */
static int function(const struct tl_image *img, uintptr_t addr, struct tl_func_part *part,
	uintptr_t *pads, size_t max, size_t *n, uintptr_t *next)
{
	struct tl_eh_table table;
	int ret = tl_eh_load(&table, img);

	if (!ret)
		ret = tl_eh_function(&table, addr, part, pads, max, n, next);
	tl_eh_unload(&table);
	return ret;
}

static void functions_are_found(void)
{
	struct tl_image img;
	struct tl_func_part part;
	uintptr_t pads[4], next;
	size_t n;

	tables();
	img = image();
	CHECK(function(&img, TEXT(0), &part, pads, 4, &n, &next) == 0);
	CHECK(part.start == TEXT(0) && part.size == 40 && n == 0 && next == TEXT(48));
	CHECK(function(&img, TEXT(39), &part, pads, 4, &n, &next) == 0 && part.size == 40);
	CHECK(function(&img, TEXT(40), &part, pads, 4, &n, &next) == -TL_E_NOT_PROVEN);
	CHECK(function(&img, TEXT(50), &part, pads, 4, &n, &next) == 0);
	CHECK(part.start == TEXT(48) && part.size == 12 && n == 1 && pads[0] == TEXT(55));
	CHECK(function(&img, TEXT(50), &part, pads, 0, &n, &next) == -TL_E_LIMIT);
	CHECK(function(&img, TEXT(79), &part, pads, 4, &n, &next) == 0 && next == 0);
	CHECK(function(&img, TEXT(80), &part, pads, 4, &n, &next) == -TL_E_NOT_PROVEN);
}

/* It says that the C library's __restore_rt begins one byte earlier than it does. */
/* In the order in which they stand; an entry of length 0 ends them. */
static void without_a_search_table_the_entries_are_sorted(void)
{
	struct tl_image img = image();
	struct tl_eh_table table;
	struct tl_func_part part;
	uintptr_t pads[4], next;
	size_t n, cie;

	tables();
	img.eh_frame_hdr = TEXT(FRAME);
	img.eh_frame_hdr_size = LSDA - FRAME;
	img.flags = TL_IMAGE_BARE_FRAMES;
	cie = FRAME;
	at = FRAME + 4 + *(uint32_t *)(fake_text + FRAME);
	put_fde(cie, 64, 16, 0);
	put_fde(cie, 0, 40, 0);
	put_fde(cie, 48, 12, LSDA);
	put32(0);
	CHECK(tl_eh_load(&table, &img) == 0 && table.n == 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK(tl_eh_start(&table, i) == TEXT(i ? 32 + 16 * i : 0));
	tl_eh_unload(&table);
	CHECK(function(&img, TEXT(39), &part, pads, 4, &n, &next) == 0 && part.size == 40);
	CHECK(function(&img, TEXT(40), &part, pads, 4, &n, &next) == -TL_E_NOT_PROVEN);
	CHECK(function(&img, TEXT(50), &part, pads, 4, &n, &next) == 0);
	CHECK(part.size == 12 && n == 1 && pads[0] == TEXT(55) && next == TEXT(64));
	img.eh_frame_hdr_size = 12;
	CHECK(function(&img, TEXT(39), &part, pads, 4, &n, &next) == -TL_E_NOT_PROVEN);
}

static void a_signal_trampoline_begins_aligned(void)
{
	static const struct {
		const char *augmentation;
		unsigned says, begins;
	} row[] = {{"zPLR", 63, 63}, {"zPLRS", 63, 64}, {"zPLRS", 64, 64}, {"zPLRS", 62, 62}};
	struct tl_func_part part;
	uintptr_t pads[4], next;
	struct tl_image img;
	size_t n;

	for (unsigned i = 0; i < 4; i++) {
		tables_of(row[i].augmentation, row[i].says);
		img = image();
		CHECK(function(&img, TEXT(70), &part, pads, 4, &n, &next) == 0);
		CHECK(part.start == TEXT(row[i].begins) && part.start + part.size == TEXT(80));
		CHECK(function(&img, TEXT(50), &part, pads, 4, &n, &next) == 0);
		CHECK(part.start == TEXT(48) && next == TEXT(row[i].begins));
	}
}

static void damaged_tables_are_survived(void)
{
	static uint8_t good[FAKE_TEXT];
	tables();
	memcpy(good, fake_text, FAKE_TEXT);
	seed = (uint32_t)unit_seed(7);
	for (unsigned i = 0; i < 20000; i++) {
		static const size_t from[] = {HDR, FRAME, LSDA}, len[] = {36, 130, 13};
		struct tl_image img = image();
		struct tl_func_part part;
		uintptr_t pads[64], next;
		size_t n;

		for (unsigned k = 0; k < 3; k++) {
			uint32_t r = rnd();

			fake_text[from[k] + r % len[k]] = (uint8_t)(r >> 16);
		}
		for (unsigned a = 0; a < 90; a += 7)
			if (!function(&img, TEXT(a), &part, pads, 64, &n, &next))
				CHECK(TEXT(a) - part.start < part.size && n <= 64);
		if (i % 50 == 49)
			memcpy(fake_text, good, FAKE_TEXT);
	}
}

static bool clean(void)
{
	tl_engine_exit();
	return !fake.live && !fake.code_used;
}

static uint32_t rung_of(struct tl_probe *p)
{
	return p->site->patch->plan->rung;
}

/* The window at 52 would cover the landing pad at 55; the one at 64 is where another part jumps into. */
static void windows_keep_clear_of_pads_and_of_other_parts_jumps(void)
{
	struct tl_probe p = {.pre = count_hit}, q = {.pre = count_hit}, r = {.pre = count_hit};

	tables();
	text_end = 30;
	E(TOY_JMP, 30 + 5, 0, 0, 0); /* 30: to 70 = 35 + 35 */
	p.addr = (void *)TEXT(53);
	q.addr = (void *)TEXT(67);
	r.addr = (void *)TEXT(71);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(p.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	CHECK(tl_probe_register(&q) == 0 && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(q.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	CHECK(tl_probe_register(&r) == 0 && rung_of(&r) == TL_RUNG_WINDOW);
	CHECK(clean());
}

/* The same by a jump table: its first two words lead to 71 and 79, the third nowhere. */
static void windows_keep_clear_of_other_parts_tables(void)
{
	struct tl_probe q = {.pre = count_hit}, r = {.pre = count_hit};
	const size_t table = 12400;

	tables();
	text_end = 30;
	emit_rel32(TOY_SWITCH, table);
	at = table;
	put32((uint32_t)(71 - table));
	put32((uint32_t)(79 - table));
	put32(0x7000);
	q.addr = (void *)TEXT(67);
	r.addr = (void *)TEXT(72);
	CHECK(tl_probe_register(&q) == 0 && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(q.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	CHECK(tl_probe_register(&r) == 0 && rung_of(&r) == TL_RUNG_WINDOW);
	CHECK(tl_probe_unregister(&r) == 0);
	r.addr = (void *)TEXT(75);
	CHECK(tl_probe_register(&r) == 0 && rung_of(&r) == TL_RUNG_TRAP);
	CHECK(clean());
}

static int listed(void)
{
	struct tl_image img = image();

	img.flags = TL_IMAGE_LISTED;
	img.eh_frame_hdr = img.lo;
	img.eh_frame_hdr_size = 0;
	return tl_image_add(&img);
}

/* Functions at 0..40 and 40..80, not by tables but by who has mapped them, who also knows that control arrives at 55. */
static void functions_and_entries_may_be_told(void)
{
	struct tl_probe p = {.pre = count_hit}, q = {.pre = count_hit}, r = {.pre = count_hit};

	world();
	fake.images = listed;
	fake.entry = TEXT(55);
	fake.functions[0] = TEXT(0);
	fake.functions[1] = TEXT(40);
	fake.functions[2] = TEXT(80);
	p.addr = (void *)TEXT(53);
	p.func_start = TEXT(50); /* it is known better */
	p.func_size = 20;
	q.addr = (void *)TEXT(37);
	r.addr = (void *)TEXT(60);
	CHECK(tl_probe_register(&p) == 0 && rung_of(&p) == TL_RUNG_TRAP);
	CHECK(p.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_BRANCH_INTO);
	CHECK(tl_probe_register(&q) == 0 && rung_of(&q) == TL_RUNG_TRAP);
	CHECK(q.site->patch->plan->why[TL_RUNG_WINDOW] == -TL_E_TOO_SHORT);
	CHECK(tl_probe_register(&r) == 0 && rung_of(&r) == TL_RUNG_WINDOW);
	CHECK(clean());
}

static int several(void)
{
	struct tl_image img = image();
	int ret = tl_image_add(&img);

	img.lo = TEXT(12000);
	img.hi = TEXT(12100);
	img.flags = TL_IMAGE_SELF;
	ret |= tl_image_add(&img);
	img.lo = TEXT(12100);
	img.hi = TEXT(12200);
	img.flags = TL_IMAGE_VDSO;
	return ret | tl_image_add(&img);
}

static void some_places_are_never_probed(void)
{
	struct tl_probe p = {.pre = count_hit};

	tables();
	fake.images = several;
	p.addr = (void *)TEXT(12000);
	CHECK(tl_probe_register(&p) == -TL_E_SELF);
	p.addr = (void *)TEXT(12100);
	CHECK(tl_probe_register(&p) == -TL_E_VDSO);
	p.addr = (void *)TEXT(12200);
	CHECK(tl_probe_register(&p) == -TL_E_NOT_TEXT);
	p.addr = (void *)TEXT(8);
	CHECK(tl_probe_register(&p) == 0);
	CHECK(clean());
}

static struct tl_image own;

static int find_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum && !own.hi; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X)) {
			own.lo = info->dlpi_addr + ph->p_vaddr;
			own.hi = own.lo + ph->p_memsz;
		}
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
			own.eh_frame_hdr = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			own.eh_frame_hdr_size = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void the_tests_own_tables(void)
{
	struct tl_eh_table table;
	struct tl_eh_entry e;
	struct tl_func_part part;
	uintptr_t pads[8], next, last = 0;
	size_t n;

	fake_reset();
	fake.read_anything = true;
	dl_iterate_phdr(find_own, NULL);
	CHECK(tl_eh_load(&table, &own) == 0);
	if (!table.n)
		SKIP("this linker writes no .eh_frame_hdr table here");
	for (size_t i = 0; i < table.n; i++) {
		CHECK(tl_eh_entry(&table, i, &e) == 0);
		CHECK(e.part.start >= last && e.part.start < own.hi && e.part.start >= own.lo);
		last = e.part.start;
	}
	tl_eh_unload(&table);
	CHECK(function(&own, (uintptr_t)the_tests_own_tables + 3, &part, pads, 8, &n, &next) == 0);
	CHECK(part.start == (uintptr_t)the_tests_own_tables && part.size > 50 && n == 0);
	CHECK(function(&own, own.hi + 4096, &part, pads, 8, &n, &next) == -TL_E_NOT_PROVEN);
}

int main(void)
{
	RUN(functions_are_found);
	RUN(without_a_search_table_the_entries_are_sorted);
	RUN(a_signal_trampoline_begins_aligned);
	RUN(damaged_tables_are_survived);
	RUN(windows_keep_clear_of_pads_and_of_other_parts_jumps);
	RUN(windows_keep_clear_of_other_parts_tables);
	RUN(functions_and_entries_may_be_told);
	RUN(some_places_are_never_probed);
	RUN(the_tests_own_tables);
	return UNIT_RESULT();
}
