/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The build-id of a file that is mapped: from its notes in memory, as the program may have changed them. */
#include "internal.h"

enum {
	CLASS_64 = 2,
	TYPE_NOTE = 4,
	NOTE_BUILD_ID = 3,
	SEGMENTS_MAX = 64,
	NOTES_MAX = 64,
	ID_MAX = 32
};

/* ELF-64, as far as it is needed. */
struct header {
	uint8_t magic[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, segments, sections;
	uint32_t flags;
	uint16_t size, segment_size, nsegments, section_size, nsections, names;
};

struct segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, paddr, file_size, size, align;
};

struct note {
	uint32_t name_size, size, type, name;
};

static bool read_id(struct tl_run *run, uint64_t at, uint64_t end, struct tl_str *dst)
{
	static const char digits[] = "0123456789abcdef";
	struct note n;
	uint8_t byte;
	char two[2];
	uint32_t tries, i;

	for (tries = 0; tries < NOTES_MAX && at < end && !tl_read(run, &n, at, sizeof(n));
		tries++) {
		uint64_t desc = at + 12 + (((uint64_t)n.name_size + 3) & ~3ull);

		if (n.type == NOTE_BUILD_ID && n.name_size == 4 && !memcmp(&n.name, "GNU", 4) &&
			n.size <= ID_MAX) {
			for (i = 0; i < n.size && !tl_read(run, &byte, desc + i, 1); i++) {
				two[0] = digits[byte >> 4];
				two[1] = digits[byte & 15];
				tl_str_add(run, dst, two, 2);
			}
			return i == n.size;
		}
		at = desc + (((uint64_t)n.size + 3) & ~3ull);
	}
	return false;
}

static bool find_id(struct tl_run *run, const uint64_t *image, struct tl_str *dst)
{
	union { /* one behind the other: handlers have little stack */
		struct header h;
		struct segment s;
	} at;
	uint64_t segments;
	uint32_t i, n;

	if (tl_read(run, &at.h, image[1], sizeof(at.h)) || memcmp(at.h.magic, "\177ELF", 4) ||
		at.h.magic[4] != CLASS_64 || at.h.segment_size != sizeof(at.s))
		return false;
	segments = image[1] + at.h.segments;
	n = at.h.nsegments;
	for (i = 0; i < n && i < SEGMENTS_MAX; i++, segments += sizeof(at.s)) {
		if (tl_read(run, &at.s, segments, sizeof(at.s)))
			return false;
		if (at.s.type == TYPE_NOTE &&
			read_id(run, image[0] + at.s.vaddr, image[0] + at.s.vaddr + at.s.size, dst))
			return true;
	}
	return false;
}

void tl_umodbuildid(struct tl_run *run, struct tl_str *dst, uint64_t addr)
{
	const struct tl_view *v = run->view;
	const uint64_t *image = v->images;
	uint32_t i;

	tl_str_put(run, dst, "", 0);
	for (i = 0; image && i < v->nimages; i++, image += v->image_words) {
		if (addr >= image[1] && addr < image[2] && find_id(run, image, dst))
			return;
	}
	tl_run_error(run, "umodbuildid %p unknown", addr);
}
