/* SPDX-License-Identifier: MIT */
/* Static hooks on the toy machine: the table of a file, and places that are switched. */
#include "machine.h"
#include "../../../engine/core/image/hooks.h"
#include "../../../engine/core/image/images.h"
#include "../../../engine/core/places.h"
#include <elf.h>
#include <link.h>
#include <trapless/reserve.h>

/*
 * The file: text, behind it a header with a segment of notes, behind that the hooks' words.
 *
 * 0 addi r0,7 | 6 nop nop | 8 place: on to 13, or to 32 | 13 nop nop nop | 16 place: the same, to 32 | 21 inc r1 | 23 ret
 * 32 inc r2 | 34 ret
 */
enum {
	FIRST = 8,
	SECOND = 16,
	ON = 32,
	END = 35,
	TEXT_END = 4096,
	HEADER = 8192,
	NOTES = HEADER + 512,
	WORDS = 12288,
};

static size_t notes_end;

static void put(const void *bytes, size_t n)
{
	memcpy(fake_text + notes_end, bytes, n);
	notes_end += (n + 3) & ~(size_t)3;
}

static void put_note(uint32_t type, const void *desc, uint32_t n)
{
	const uint32_t head[] = {sizeof("trapless"), n, type};

	put(head, sizeof(head));
	put("trapless", sizeof("trapless"));
	put(desc, n);
}

static uint32_t relative(unsigned i, size_t to)
{
	return (uint32_t)(to - (notes_end + 24 + 4 * i));
}

static void put_site(size_t at, size_t target, size_t word, uint32_t form)
{
	const uint32_t site[] = {relative(0, at), relative(1, target), relative(2, word), form};

	put_note(0x4854, site, sizeof(site));
}

/* Of parameters (long a, const char *path). */
static void put_hook(size_t word, size_t function, size_t mark)
{
	const uint32_t words[] = {relative(0, word), relative(1, function), relative(2, mark), 1};
	const int16_t first[] = {-8, 1}, second[] = {8, 5};
	char row[128];
	size_t n = 0;

#define ADD(what, size) (memcpy(row + n, what, size), n += (size))
	ADD(words, sizeof(words));
	ADD("demo:tick", 10);
	ADD("void", 5);
	ADD(first, sizeof(first));
	ADD("long", 5);
	ADD("a", 2);
	ADD(second, sizeof(second));
	ADD("const char *", 13);
	ADD("path", 5);
	put_note(0x484b, row, (uint32_t)n);
}

static int the_file(void)
{
	struct tl_image img = {
		.bias = TEXT(HEADER), .lo = TEXT(0), .hi = TEXT(TEXT_END), .name = "toy"};

	return tl_image_add(&img);
}

static void end_notes(void)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', sizeof(uintptr_t) == 8 ? 2 : 1};
	ElfW(Ehdr) h = {.e_phoff = 128, .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 1};
	ElfW(Phdr) p = {.p_type = PT_NOTE,
		.p_vaddr = NOTES - HEADER,
		.p_filesz = notes_end - NOTES,
		.p_memsz = notes_end - NOTES};

	memcpy(h.e_ident, magic, sizeof(magic));
	memcpy(fake_text + HEADER, &h, sizeof(h));
	memcpy(fake_text + HEADER + 128, &p, sizeof(p));
	memcpy(before, fake_text, FAKE_TEXT);
}

static void begin_file(void)
{
	world();
	fake.images = the_file;
	E(TOY_ADDI, 0, 7, 0, 0, 0, TOY_NOP, TOY_NOP);
	emit_rel32(TOY_JMP, 13);
	E(TOY_NOP, TOY_NOP, TOY_NOP);
	emit_rel32(TOY_JMP, 21);
	E(TOY_INC, 1, TOY_RET);
	text_end = ON;
	E(TOY_INC, 2, TOY_RET);
	memset(fake_text + HEADER, 0, FAKE_TEXT - HEADER);
	notes_end = NOTES;
	hits = 0;
}

/* One hook with both places, another with none. */
static void file(void)
{
	begin_file();
	put_hook(WORDS, ON, ON);
	put_site(FIRST, ON, WORDS, 1);
	put_site(SECOND, ON, WORDS, 1);
	end_notes();
}

static bool leads_on(size_t entry)
{
	struct cpu c;

	cpu_init(&c, 0, entry);
	return run(&c) && c.r[2] == 1 && !c.r[1];
}

static bool goes_by(size_t entry)
{
	struct cpu c;

	cpu_init(&c, 0, entry);
	return run(&c) && !c.r[2] && c.r[1] == 1;
}

static bool same_text(void)
{
	return !memcmp(before, fake_text, FAKE_TEXT);
}

static void places_are_on_while_somebody_listens(void)
{
	file();
	CHECK(goes_by(0) && goes_by(13));
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0) && leads_on(13));
	CHECK(!tl_places_on(TEXT(WORDS), NULL));
	CHECK(!tl_places_off(TEXT(WORDS)) && leads_on(0) && leads_on(13));
	CHECK(!tl_places_off(TEXT(WORDS)) && goes_by(0) && same_text());
	CHECK(!tl_places_off(TEXT(WORDS)) && same_text()); /* once more than on */
	CHECK(!tl_places_on(TEXT(WORDS + 8), NULL) && same_text()); /* no hook's word */
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0));
	CHECK(left_clean());
}

static void places_that_jump_while_off(void)
{
	begin_file();
	put_site(FIRST, 13, WORDS, 2); /* the toy's no-operation is a jump behind itself */
	end_notes();
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && goes_by(0));
	CHECK(!tl_places_off(TEXT(WORDS)) && same_text());
	CHECK(left_clean());
}

/* One of a hook's places is not what the table says: none is touched, and it is told which. */
static void tables_that_lie_are_refused(void)
{
	static const struct {
		size_t at, target;
	} lies[] = {{14, ON}, {6, ON}, {SECOND, HEADER}, {SECOND + 1, ON}, {24, ON}};

	for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uintptr_t at = 0;

		begin_file();
		put_site(FIRST, ON, WORDS, 1);
		put_site(lies[i].at, lies[i].target, WORDS, 1);
		end_notes();
		CHECK(tl_places_on(TEXT(WORDS), &at) == -TL_E_HOOK_TABLE);
		CHECK(at == TEXT(lies[i].at) && same_text());
		CHECK(left_clean());
	}
}

static void probes_elsewhere_in_the_function(void)
{
	struct tl_probe p;

	file();
	p = probe_at(0, END, count_hit);
	CHECK(!tl_probe_register(&p));
	CHECK(tl_places_on(TEXT(WORDS), NULL) == 0 && leads_on(0) && hits == 1);
	CHECK(!tl_probe_unregister(&p) && leads_on(0));
	CHECK(left_clean());
}

static void probes_and_places(void)
{
	struct tl_probe p;

	file();
	p = probe_at(FIRST, END, count_hit);
	CHECK(!tl_probe_register(&p));
	CHECK(tl_places_on(TEXT(WORDS), NULL) == -TL_E_PROBED && goes_by(0) && hits == 1);
	CHECK(!tl_probe_unregister(&p) && same_text());
	CHECK(!tl_places_on(TEXT(WORDS), NULL));
	CHECK(tl_probe_register(&p) == -TL_E_RESERVED);
	/* Jumps of probes in front that would reach into it. */
	p = probe_at(7, END, count_hit);
	CHECK(!tl_probe_register(&p) && leads_on(0) && hits == 2);
	CHECK(!tl_places_off(TEXT(WORDS)) && goes_by(0) && hits == 3);
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0) && hits == 4);
	CHECK(!tl_probe_unregister(&p));
	CHECK(left_clean());
}

/* What only a place that is on leads to: no jump of a probe lies over it before. */
static void where_places_lead_is_known_while_they_are_off(void)
{
	struct tl_probe p;

	begin_file();
	text_end = ON - 2;
	E(TOY_NOP, TOY_NOP, TOY_INC, 2, TOY_RET);
	put_site(FIRST, ON, WORDS, 1);
	end_notes();
	p = probe_at(ON - 1, END, count_hit);
	CHECK(!tl_probe_register(&p));
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0) && !hits);
	CHECK(leads_on(ON - 1) && hits == 1);
	CHECK(!tl_probe_unregister(&p));
	CHECK(left_clean());
}

static int nothing(void)
{
	tl_images_begin();
	tl_images_end();
	return 0;
}

static void files_come_and_go(void)
{
	file();
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0));
	fake.images = nothing;
	fake.images_stale = true;
	CHECK(!tl_places_off(TEXT(WORDS)) && !same_text()); /* nobody's any more */
	memcpy(fake_text, before, FAKE_TEXT);
	fake.images = the_file;
	fake.images_stale = true;
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0));
	CHECK(!tl_places_off(TEXT(WORDS)) && goes_by(0));
	CHECK(left_clean());
}

/* Unmapped and mapped again where it was, before anybody has looked. */
static void files_that_were_away_unseen(void)
{
	file();
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0));
	memcpy(fake_text, before, FAKE_TEXT);
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0) && leads_on(13));
	CHECK(!tl_places_off(TEXT(WORDS)) && goes_by(0) && same_text());
	CHECK(!tl_places_on(TEXT(WORDS), NULL));
	memcpy(fake_text, before, FAKE_TEXT);
	CHECK(!tl_places_off(TEXT(WORDS)) && same_text());
	CHECK(left_clean());
}

static void without_memory_nothing_changes(void)
{
	unsigned n;

	for (n = 1; n < 100; n++) {
		file();
		fake.fail_alloc = n;
		if (!tl_places_on(TEXT(WORDS), NULL) && fake.nallocs < n)
			break;
		tl_places_off(TEXT(WORDS));
		CHECK(same_text());
		CHECK(left_clean());
	}
	CHECK(n > 3 && n < 100);
	CHECK(left_clean());
}

static void text_that_cannot_be_written(void)
{
	file();
	fake.fail_text = true;
	CHECK(tl_places_on(TEXT(WORDS), NULL) && same_text());
	fake.fail_text = false;
	CHECK(!tl_places_on(TEXT(WORDS), NULL) && leads_on(0));
	CHECK(left_clean());
}

/* --- the table ------------------------------------------------------------------- */

struct seen {
	unsigned hooks, places, parameters;
	bool right;
};

static void see_hook(void *arg, const struct tl_hook_row *row)
{
	struct tl_hook_row r = *row;
	struct tl_hook_parameter p;
	struct seen *s = arg;

	s->hooks++;
	s->right = row->word == TEXT(WORDS) && row->function == TEXT(ON) &&
		   !strcmp(row->name, "demo:tick") && !strcmp(row->result, "void");
	while (tl_hook_parameter(&r, &p)) {
		bool first = !s->parameters++;

		s->right &= p.size == 8 && p.is_signed == first && p.kind == (first ? 1 : 5);
		s->right &= !strcmp(p.type, first ? "long" : "const char *");
		s->right &= !strcmp(p.name, first ? "a" : "path");
	}
}

static void see_place(void *arg, const struct tl_hook_place *place)
{
	struct seen *s = arg;

	s->places++;
	s->right &= place->target == TEXT(ON) && place->word == TEXT(WORDS) && !place->jumps;
}

static void rows_are_read(void)
{
	struct seen s = {0};
	const struct tl_hook_reader reader = {see_hook, see_place, &s};

	file();
	tl_hooks_read(fake_text + NOTES, notes_end - NOTES, TEXT(NOTES), &reader);
	CHECK(s.hooks == 1 && s.places == 2 && s.parameters == 2 && s.right);
}

static void look_at_hook(void *arg, const struct tl_hook_row *row)
{
	struct tl_hook_row r = *row;
	struct tl_hook_parameter p;
	size_t *n = arg;

	*n += strlen(r.name) + strlen(r.result);
	while (tl_hook_parameter(&r, &p))
		*n += strlen(p.type) + strlen(p.name);
}

/* Cut anywhere, with anything in it: nothing is read beyond its end (the sanitizer looks). */
static void damaged_tables_are_survived(void)
{
	size_t n = 0;
	const struct tl_hook_reader reader = {look_at_hook, NULL, &n};

	for (seed = 1; seed < 20000; seed += 7) {
		size_t size;
		uint8_t *copy;

		file();
		size = rnd() % (notes_end - NOTES + 1);
		copy = malloc(size + !size);
		memcpy(copy, fake_text + NOTES, size);
		for (unsigned k = rnd() % 4; k && size; k--)
			copy[rnd() % size] = (uint8_t)(rnd() % 3 ? rnd() : 0xff);
		tl_hooks_read(copy, size, TEXT(NOTES), &reader);
		free(copy);
	}
	CHECK(n);
}

/* In an image: whatever is switched is switched back. */
static void damaged_files_are_survived(void)
{
	unsigned on = 0;

	for (seed = 3; seed < 4000; seed += 7) {
		file();
		for (unsigned k = 1 + rnd() % 3; k; k--)
			fake_text[NOTES + rnd() % (notes_end - NOTES)] ^= (uint8_t)(1 << rnd() % 8);
		memcpy(before, fake_text, FAKE_TEXT);
		on += !tl_places_on(TEXT(WORDS), NULL);
		CHECK(left_clean());
	}
	CHECK(on);
}

int main(void)
{
	RUN(rows_are_read);
	RUN(damaged_tables_are_survived);
	RUN(places_are_on_while_somebody_listens);
	RUN(places_that_jump_while_off);
	RUN(tables_that_lie_are_refused);
	RUN(probes_elsewhere_in_the_function);
	RUN(probes_and_places);
	RUN(where_places_lead_is_known_while_they_are_off);
	RUN(files_come_and_go);
	RUN(files_that_were_away_unseen);
	RUN(without_memory_nothing_changes);
	RUN(text_that_cannot_be_written);
	RUN(damaged_files_are_survived);
	return UNIT_RESULT();
}
