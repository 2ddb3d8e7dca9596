/* SPDX-License-Identifier: MIT */
/* The section headers of an ELF file, as far as they make sense. */
#ifndef TRAPLESS_RUNNER_BASE_SECTIONS_H
#define TRAPLESS_RUNNER_BASE_SECTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "word.h"

/* The i-th section of the file, which lies at `file` as a whole, and its name. NULL: no more, or none that can be told. */
const Elf_Shdr *elf_section(const uint8_t *file, size_t size, unsigned i, const char **name);
/* The first of this name that is loaded with the program, or NULL. */
const Elf_Shdr *elf_loaded_section(const uint8_t *file, size_t size, const char *name);

#endif
