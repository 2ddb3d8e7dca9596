/* SPDX-License-Identifier: MIT */
/* Dynamic symbols of images: those of the C library that this runs with, and damaged ones. */
#define _GNU_SOURCE
#include "../../../engine/core/image/dynsym.h"
#include "machine.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>

static struct tl_image libc;

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t inside = *(uintptr_t *)arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || inside - lo >= ph->p_memsz)
			continue;
		libc.bias = info->dlpi_addr;
		libc.lo = lo;
		libc.hi = lo + ph->p_memsz;
		return 1;
	}
	return 0;
}

static uintptr_t address_of(const char *name)
{
	return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}

/* None that a sanitizer has its own of. */
static void symbols_are_found_by_name(void)
{
	static const char *const names[] = {"_setjmp", "getcontext", "drand48", "lfind"};
	uintptr_t at = address_of("drand48");
	struct tl_dynamic d;
	struct tl_image none;

	fake_reset();
	fake.read_anything = true;
	if (!at || !dl_iterate_phdr(find_libc, &at))
		SKIP("linked without a C library to look at");
	CHECK(tl_dynamic_read(&libc, &d));
	CHECK(d.hash && d.symbols && d.strings);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(tl_dynamic_symbol(&d, names[i]) == address_of(names[i]));
	CHECK(!tl_dynamic_symbol(&d, "no_such_function_anywhere"));
	CHECK(!tl_dynamic_symbol(&d, "environ")); /* not a function */
	fake.read_anything = false;
	none = (struct tl_image){.bias = TEXT(0), .lo = TEXT(0), .hi = TEXT(100)};
	CHECK(!tl_dynamic_read(&none, &d));
}

static void note_chooser(void *arg, uintptr_t at, bool chooses)
{
	*(uintptr_t *)arg = chooses ? at : 0;
}

/* A function in variants: the C library calls it itself, and so has had one chosen. */
static void choices_are_found(void)
{
	uintptr_t at = address_of("drand48"), chooser = 0;
	struct tl_dynamic d;

	fake_reset();
	fake.read_anything = true;
	if (!at || !dl_iterate_phdr(find_libc, &at))
		SKIP("linked without a C library to look at");
	CHECK(tl_dynamic_read(&libc, &d));
	tl_dynamic_each(&d, "rawmemchr", note_chooser, &chooser);
	if (!chooser)
		SKIP("the C library has no variants of rawmemchr");
	CHECK(!tl_dynamic_symbol(&d, "rawmemchr"));
	tl_os_lock();
	CHECK(!tl_image_add(&libc));
	CHECK(tl_dynamic_chosen(&d, chooser) == address_of("rawmemchr"));
	CHECK(!tl_dynamic_chosen(&d, chooser + 1));
	tl_image_remove(libc.lo);
	tl_os_unlock();
}

/* A header that holds, tables in the text, and anything in them. */
static void random_image(void)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', sizeof(uintptr_t) == 8 ? 2 : 1};
	ElfW(Ehdr) h = {.e_phoff = 128, .e_phentsize = sizeof(ElfW(Phdr)), .e_phnum = 2};
	ElfW(Phdr) p = {.p_type = PT_DYNAMIC, .p_vaddr = 512};
	ElfW(Dyn) tags[] = {{.d_tag = DT_SYMTAB}, {.d_tag = DT_STRTAB}, {.d_tag = DT_GNU_HASH},
		{.d_tag = DT_PLTGOT}, {.d_tag = DT_JMPREL}, {.d_tag = DT_PLTRELSZ},
		{.d_tag = DT_NULL}};

	memcpy(h.e_ident, magic, sizeof(magic));
	for (size_t i = 0; i < FAKE_TEXT; i++)
		fake_text[i] = (uint8_t)(rnd() % 4 ? 0 : rnd());
	for (unsigned i = 0; i < 6; i++)
		tags[i].d_un.d_val = rnd() % (2 * FAKE_TEXT) + (rnd() & 1 ? TEXT(0) : 0);
	memcpy(fake_text, &h, sizeof(h));
	memcpy(fake_text + 128, &p, sizeof(p));
	memcpy(fake_text + 512, tags, sizeof(tags));
	for (unsigned n = rnd() % 3; n; n--)
		fake_text[rnd() % 1024] = (uint8_t)rnd();
}

static void damaged_images_are_survived(void)
{
	const struct tl_image img = {.bias = TEXT(0), .lo = TEXT(4096), .hi = TEXT(FAKE_TEXT)};
	struct tl_dynamic d;
	uintptr_t at;
	char name[64];
	unsigned n = 0;

	fake_reset();
	seed = (uint32_t)unit_seed(1);
	for (unsigned i = 0; i < 3000; i++) {
		random_image();
		if (!tl_dynamic_read(&img, &d))
			continue;
		n++;
		tl_dynamic_symbol(&d, "longjmp");
		tl_dynamic_symbol(&d, "");
		tl_dynamic_resolver(&d);
		tl_dynamic_each(&d, "longjmp", note_chooser, &at);
		tl_dynamic_called(&d, i % 3, d.bias + rnd() % 100, name, sizeof(name));
		tl_dynamic_chosen(&d, TEXT(rnd() % 100));
	}
	CHECK(n > 1000);
}

int main(void)
{
	RUN(symbols_are_found_by_name);
	RUN(choices_are_found);
	RUN(damaged_images_are_survived);
	return UNIT_RESULT();
}
