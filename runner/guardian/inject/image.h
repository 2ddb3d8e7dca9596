/* SPDX-License-Identifier: MIT */
/* The agent's image, as it lies in this program. */
#ifndef TRAPLESS_RUNNER_GUARDIAN_INJECT_IMAGE_H
#define TRAPLESS_RUNNER_GUARDIAN_INJECT_IMAGE_H

#include "../../base/word.h"
#include "../guardian.h"

struct agent_layout {
	uint64_t base, image, stack, size;
};

const Elf_Ehdr *agent_ehdr(void);
const Elf_Phdr *agent_phdr(unsigned i);
void agent_plan(struct agent_layout *l); /* all but the base */
/* As it stands at `base`: segments copied, relative relocations done. 0, or -1: it is damaged. */
int agent_image(uint8_t *buf, uint64_t base);

#endif
