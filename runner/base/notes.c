/* SPDX-License-Identifier: MIT */
#include "notes.h"

#include <elf.h>
#include <string.h>

#include "word.h"

void notes_each(const uint8_t *notes, size_t size,
	void (*fn)(void *arg, uint32_t type, const char *name, const uint8_t *desc, size_t n),
	void *arg)
{
	size_t i = 0;

	while (i + sizeof(Elf_Nhdr) <= size) {
		Elf_Nhdr h;
		size_t name = i + sizeof(h), desc;

		memcpy(&h, notes + i, sizeof(h));
		if (h.n_namesz > size || h.n_descsz > size)
			return;
		desc = name + ((h.n_namesz + 3) & ~3u);
		if (h.n_namesz && desc + h.n_descsz <= size && !notes[name + h.n_namesz - 1])
			fn(arg, h.n_type, (const char *)notes + name, notes + desc, h.n_descsz);
		i = desc + ((h.n_descsz + 3) & ~3u);
	}
}

size_t note_build_id(
	uint8_t id[BUILD_ID_MAX], uint32_t type, const char *name, const uint8_t *desc, size_t n)
{
	if (type != NT_GNU_BUILD_ID || strcmp(name, "GNU") || n > BUILD_ID_MAX)
		return 0;
	memcpy(id, desc, n);
	return n;
}
