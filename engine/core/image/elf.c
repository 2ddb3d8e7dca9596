/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "../../os/os.h"
#include "../base/mem.h"
#include "elf.h"

struct ehdr {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uintptr_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum;
};

#if UINTPTR_MAX > 0xffffffffu
struct phdr {
	uint32_t type, flags;
	uintptr_t offset, vaddr, paddr, filesz, memsz, align;
};
#else
struct phdr {
	uint32_t type;
	uintptr_t offset, vaddr, paddr, filesz, memsz;
	uint32_t flags, align;
};
#endif

enum {
	PAGE = 4096,
	HEADER_PAGES =
		4096, /* as far in front of an executable's text as its header is looked for */
	PHDRS_MAX = 64,
};

static bool get(uintptr_t at, void *to, size_t size)
{
	return tl_os_text_read(at, to, size) == size;
}

static bool is_header(uintptr_t at, struct ehdr *h)
{
	static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', sizeof(uintptr_t) == 8 ? 2 : 1};

	return get(at, h, sizeof(*h)) && tl_equal(h->ident, magic, sizeof(magic)) &&
	       h->phentsize == sizeof(struct phdr);
}

/* At the bias, or where a program has an address of its own, some way in front of its text. */
static uintptr_t find_header(const struct tl_image *img, struct ehdr *h)
{
	uintptr_t at = img->lo & ~(uintptr_t)(PAGE - 1);

	if (img->bias && is_header(img->bias, h))
		return img->bias;
	for (unsigned i = 0; i < HEADER_PAGES && at >= PAGE; i++, at -= PAGE) {
		uint8_t byte;

		if (!get(at, &byte, 1))
			return 0;
		if (is_header(at, h))
			return at;
	}
	return 0;
}

bool tl_elf_segments(
	const struct tl_image *img, bool (*fn)(void *arg, const struct tl_segment *s), void *arg)
{
	struct ehdr h;
	struct phdr p;
	uintptr_t at = find_header(img, &h);

	for (unsigned i = 0; at && i < h.phnum && i < PHDRS_MAX; i++) {
		struct tl_segment s;

		if (!get(at + h.phoff + i * sizeof(p), &p, sizeof(p)))
			break;
		s = (struct tl_segment){p.type, img->bias + p.vaddr, p.memsz};
		if (!fn(arg, &s))
			return false;
	}
	return true;
}
