/* SPDX-License-Identifier: MIT */
/* The agent, as linked, inside the runner. */
	.section .rodata
	.balign 16
	.globl tl_agent_elf, tl_agent_elf_end
	.hidden tl_agent_elf, tl_agent_elf_end
tl_agent_elf:
	.incbin AGENT_ELF
tl_agent_elf_end:
	.section .note.GNU-stack, "", @progbits
