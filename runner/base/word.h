/* SPDX-License-Identifier: MIT */
/* Files of the runner's own word size, byte order and machine: those of the programs that it can trace. */
#ifndef TRAPLESS_RUNNER_BASE_WORD_H
#define TRAPLESS_RUNNER_BASE_WORD_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

enum {
	WORD_BITS = 8 * sizeof(void *),
	WORD_CLASS = WORD_BITS == 64 ? ELFCLASS64 : ELFCLASS32,
	WORD_BIG_ENDIAN = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
	WORD_DATA = WORD_BIG_ENDIAN ? ELFDATA2MSB : ELFDATA2LSB,
};

typedef ElfW(Ehdr) Elf_Ehdr;
typedef ElfW(Phdr) Elf_Phdr;
typedef ElfW(Shdr) Elf_Shdr;
typedef ElfW(Nhdr) Elf_Nhdr;
typedef ElfW(Dyn) Elf_Dyn;
typedef ElfW(Rela) Elf_Rela;

#define WORD_R_TYPE(info) (WORD_BITS == 64 ? (unsigned)(info) : (info)&0xff)

static inline bool word_is_elf(const unsigned char *ident)
{
	return !memcmp(ident, ELFMAG, SELFMAG);
}

static inline bool word_is_ours(const unsigned char *ident)
{
	return ident[EI_CLASS] == WORD_CLASS && ident[EI_DATA] == WORD_DATA;
}

#endif
