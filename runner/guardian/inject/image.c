/* SPDX-License-Identifier: MIT */
/* The agent's image, as it lies in this program. */
#include "../../base/joining.h"
#include "../../base/word.h"
#include "../guardian.h"
#include "image.h"

extern const uint8_t tl_agent_elf[], tl_agent_elf_end[];

uint64_t agent_checksum(void)
{
	uint64_t sum = 0xcbf29ce484222325ull; /* FNV-1a */
	const uint8_t *p;

	for (p = tl_agent_elf; p < tl_agent_elf_end; p++)
		sum = (sum ^ *p) * 0x100000001b3ull;
	return sum;
}

const Elf_Ehdr *agent_ehdr(void)
{
	return (const void *)tl_agent_elf;
}

const Elf_Phdr *agent_phdr(unsigned i)
{
	return (const Elf_Phdr *)(tl_agent_elf + agent_ehdr()->e_phoff) + i;
}

void agent_plan(struct agent_layout *l)
{
	uint64_t end = 0;
	unsigned i;

	for (i = 0; i < agent_ehdr()->e_phnum; i++) {
		const Elf_Phdr *p = agent_phdr(i);

		if (p->p_type == PT_LOAD && p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	l->image = pages(end);
	l->stack = l->image + PAGE; /* behind a closed page */
	l->size = l->stack + HELPER_STACK;
}

/* The agent as it stands at `base`: segments copied, relative relocations done. */
int agent_image(uint8_t *buf, uint64_t base)
{
	const Elf_Dyn *dyn = NULL;
	uint64_t rela = 0, size = 0, i;
	unsigned n;

	for (n = 0; n < agent_ehdr()->e_phnum; n++) {
		const Elf_Phdr *p = agent_phdr(n);

		if (p->p_type == PT_LOAD)
			memcpy(buf + p->p_vaddr, tl_agent_elf + p->p_offset, p->p_filesz);
		if (p->p_type == PT_DYNAMIC)
			dyn = (const void *)(tl_agent_elf + p->p_offset);
	}
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_RELA)
			rela = dyn->d_un.d_ptr;
		else if (dyn->d_tag == DT_RELASZ)
			size = dyn->d_un.d_val;
	}
	for (i = 0; i < size / sizeof(Elf_Rela); i++) {
		const Elf_Rela *r = (const Elf_Rela *)(buf + rela) + i;
		uint64_t value = base + (uint64_t)r->r_addend;

		if (WORD_R_TYPE(r->r_info) != machine.relative)
			return -1;
		memcpy(buf + r->r_offset, &value, sizeof(value));
	}
	return 0;
}
