/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* ELF structures of a loaded image, in the process' own width and byte order. */
#include "../../os/os.h"
#include "../base/mem.h"
#include "dynsym.h"
#include "elf.h"

#if UINTPTR_MAX > 0xffffffffu
struct sym {
	uint32_t name;
	uint8_t info, other;
	uint16_t shndx;
	uintptr_t value, size;
};
#else
struct sym {
	uint32_t name;
	uintptr_t value, size;
	uint8_t info, other;
	uint16_t shndx;
};
#endif

/* All machines of ours with linkage tables have addends in the table, but for 32 bits of x86. */
struct rela {
	uintptr_t offset, info, addend;
};

struct dyn {
	uintptr_t tag, value;
};

enum {
	PT_DYNAMIC = 2,
	DT_NULL = 0,
	DT_PLTRELSZ = 2,
	DT_PLTGOT = 3,
	DT_STRTAB = 5,
	DT_SYMTAB = 6,
	DT_JMPREL = 23,
	STT_FUNC = 2,
	STT_GNU_IFUNC = 10,
	SYM_SHIFT = sizeof(uintptr_t) == 8 ? 32 : 8,
	DYNS_MAX = 128,
	CHAIN_MAX = 4096,
	CHUNK = 32, /* of names that are compared */
};
#define DT_GNU_HASH 0x6ffffef5u

static bool get(uintptr_t at, void *to, size_t size)
{
	return tl_os_text_read(at, to, size) == size;
}

/* Some loaders write addresses here, others leave what the file has. */
static uintptr_t address(const struct tl_dynamic *d, uintptr_t value)
{
	return value < d->bias ? value + d->bias : value;
}

static void read_tags(uintptr_t at, struct tl_dynamic *d)
{
	struct dyn t;

	for (unsigned i = 0; i < DYNS_MAX && get(at, &t, sizeof(t)); i++, at += sizeof(t)) {
		if (t.tag == DT_NULL)
			return;
		if (t.tag == DT_SYMTAB)
			d->symbols = address(d, t.value);
		else if (t.tag == DT_STRTAB)
			d->strings = address(d, t.value);
		else if (t.tag == DT_PLTGOT)
			d->got = address(d, t.value);
		else if (t.tag == DT_JMPREL)
			d->calls = address(d, t.value);
		else if (t.tag == DT_PLTRELSZ)
			d->calls_size = t.value;
		else if (t.tag == DT_GNU_HASH)
			d->hash = address(d, t.value);
	}
}

static bool take_tags(void *arg, const struct tl_segment *s)
{
	struct tl_dynamic *d = arg;

	if (s->type != PT_DYNAMIC)
		return true;
	read_tags(s->at, d);
	return false;
}

bool tl_dynamic_read(const struct tl_image *img, struct tl_dynamic *d)
{
	*d = (struct tl_dynamic){.bias = img->bias};
	return !tl_elf_segments(img, take_tags, d);
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool is_named(const struct tl_dynamic *d, const struct sym *s, const char *name)
{
	uintptr_t at = d->strings + s->name;
	char have[CHUNK];
	size_t n;

	for (;; name += n, at += n) {
		for (n = 0; n < CHUNK && (!n || name[n - 1]); n++)
			;
		if (!get(at, have, n) || !tl_equal(have, name, n))
			return false;
		if (!name[n - 1])
			return true;
	}
}

static bool is_code(const struct sym *s)
{
	return s->shndx && ((s->info & 15) == STT_FUNC || (s->info & 15) == STT_GNU_IFUNC);
}

/* In the chain of its bucket, from symbol i on. */
static void in_chain(const struct tl_dynamic *d, uintptr_t chain, uint32_t i, uint32_t first,
	uint32_t want, const char *name, void (*fn)(void *arg, uintptr_t at, bool chooses),
	void *arg)
{
	struct sym s;
	uint32_t h;

	for (unsigned n = 0; n < CHAIN_MAX; n++, i++) {
		if (!get(chain + (uintptr_t)(i - first) * 4, &h, 4))
			return;
		if ((h | 1) == (want | 1) &&
			get(d->symbols + (uintptr_t)i * sizeof(s), &s, sizeof(s)) && is_code(&s) &&
			is_named(d, &s, name))
			fn(arg, d->bias + s.value, (s.info & 15) == STT_GNU_IFUNC);
		if (h & 1)
			return;
	}
}

void tl_dynamic_each(const struct tl_dynamic *d, const char *name,
	void (*fn)(void *arg, uintptr_t at, bool chooses), void *arg)
{
	struct {
		uint32_t nbuckets, first, nwords, shift;
	} head;
	uint32_t h = hash_of(name), i;
	uintptr_t buckets;

	if (!d->hash || !d->symbols || !d->strings || !get(d->hash, &head, sizeof(head)) ||
		!head.nbuckets)
		return;
	buckets = d->hash + sizeof(head) + (uintptr_t)head.nwords * sizeof(uintptr_t);
	if (!get(buckets + (uintptr_t)(h % head.nbuckets) * 4, &i, 4) || i < head.first)
		return;
	in_chain(d, buckets + (uintptr_t)head.nbuckets * 4, i, head.first, h, name, fn, arg);
}

static void take_first(void *arg, uintptr_t at, bool chooses)
{
	uintptr_t *first = arg;

	if (!*first && !chooses)
		*first = at;
}

uintptr_t tl_dynamic_symbol(const struct tl_dynamic *d, const char *name)
{
	uintptr_t at = 0;

	tl_dynamic_each(d, name, take_first, &at);
	return at;
}

uintptr_t tl_dynamic_resolver(const struct tl_dynamic *d)
{
	uintptr_t word[3];

	return d->got && get(d->got, word, sizeof(word)) ? word[2] : 0;
}

/* --- relocations of the linkage table ------------------------------------------------- */

static bool get_call(const struct tl_dynamic *d, size_t n, struct rela *r)
{
	return d->calls && n < d->calls_size / sizeof(*r) &&
	       get(d->calls + n * sizeof(*r), r, sizeof(*r));
}

void tl_dynamic_called(
	const struct tl_dynamic *d, uint32_t number, uintptr_t slot, char *name, size_t max)
{
	struct rela r;
	struct sym s;

	name[0] = 0;
	if (!d->symbols || !d->strings || !get_call(d, number, &r) || d->bias + r.offset != slot ||
		!get(d->symbols + (r.info >> SYM_SHIFT) * sizeof(s), &s, sizeof(s)))
		return;
	for (size_t n = 0; n < max && get(d->strings + s.name + n, &name[n], 1); n++)
		if (!name[n])
			return;
	name[0] = 0;
}

uintptr_t tl_dynamic_chosen(const struct tl_dynamic *d, uintptr_t chooser)
{
	struct rela r;
	uintptr_t to;

	for (size_t n = 0; get_call(d, n, &r); n++)
		if (!(r.info >> SYM_SHIFT) && d->bias + r.addend == chooser)
			return get(d->bias + r.offset, &to, sizeof(to)) && tl_image_find(to) ? to
											     : 0;
	return 0;
}
