/* SPDX-License-Identifier: MIT */
#include "sections.h"
#include "word.h"

#include <stdbool.h>
#include <string.h>

static bool inside(size_t size, uint64_t off, uint64_t len)
{
	return off <= size && len <= size - off;
}

const Elf_Shdr *elf_section(const uint8_t *file, size_t size, unsigned i, const char **name)
{
	const Elf_Ehdr *e = (const void *)file;
	const Elf_Shdr *s, *names;

	if (size < sizeof(*e) || !e->e_shoff || e->e_shoff % _Alignof(Elf_Shdr) ||
		e->e_shentsize != sizeof(*s) || e->e_shstrndx >= e->e_shnum || i >= e->e_shnum ||
		!inside(size, e->e_shoff, e->e_shnum * sizeof(*s)))
		return NULL;
	s = (const void *)(file + e->e_shoff);
	names = &s[e->e_shstrndx];
	if (!inside(size, names->sh_offset, names->sh_size) || !names->sh_size ||
		file[names->sh_offset + names->sh_size - 1])
		return NULL;
	*name = s[i].sh_name < names->sh_size ? (const char *)file + names->sh_offset + s[i].sh_name
					      : "";
	return &s[i];
}

const Elf_Shdr *elf_loaded_section(const uint8_t *file, size_t size, const char *name)
{
	const Elf_Shdr *s;
	const char *its;

	for (unsigned i = 0; (s = elf_section(file, size, i, &its)); i++)
		if (s->sh_type != SHT_NOBITS && (s->sh_flags & SHF_ALLOC) && !strcmp(its, name))
			return s;
	return NULL;
}
